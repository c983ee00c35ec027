// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// TestDescriptionsAreReferences is case 8.8.9 for what is archived: descriptions of attachments stand behind the text,
// each on a line, and those with a reference are found in it again; a bare tag is none.
func TestDescriptionsAreReferences(t *testing.T) {
	placeholders := []message.Placeholder{
		{Kind: message.AttachmentImage, Description: "猫 (a.b*c)", Ref: "data/images/s/1.png"},
		{Kind: message.AttachmentFile, Ref: "x+y?"},
	}
	in := message.Incoming{
		Content: "看 [图片]", Platform: "onebot", UserID: "1",
		Attachments:  []message.Attachment{{Kind: "image"}, {Kind: "audio"}, {Kind: "file"}, {Kind: "video"}},
		Descriptions: []string{placeholders[0].String(), "[音频] 喵", placeholders[1].String()},
	}
	got := archived(in, 7).Content
	want := "[1]: 看 [图片]\n[图片: 猫 (a.b*c) | ref:data/images/s/1.png]\n[音频] 喵\n[文件 | ref:x+y?]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(placeholders, message.Placeholders(got)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	if in.Content != "看 [图片]" || len(in.Descriptions) != 3 {
		t.Errorf("the message was changed: %+v", in)
	}
}
