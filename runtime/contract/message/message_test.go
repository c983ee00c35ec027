// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

func TestSender(t *testing.T) {
	tests := []struct{ nickname, userID, label, prefixed string }{
		{"", "", "", "hi"},
		{"夜猫", "", "夜猫", "[夜猫]: hi"},
		{"", "42", "42", "[42]: hi"},
		{" Owl ", "42", "Owl(42)", "[Owl(42)]: hi"},
		{"  ", "42", "42", "[42]: hi"},
	}
	for _, tc := range tests {
		if got := message.SenderLabel(tc.nickname, tc.userID); got != tc.label {
			t.Errorf("label of %q, %q: want %q, got %q", tc.nickname, tc.userID, tc.label, got)
		}
		if got := message.PrefixSender(tc.nickname, tc.userID, "hi"); got != tc.prefixed {
			t.Errorf("prefix of %q, %q: want %q, got %q", tc.nickname, tc.userID, tc.prefixed, got)
		}
	}
}

func TestMessageKinds(t *testing.T) {
	if !(message.Message{Kind: message.KindEventMarker}).IsControl() || (message.Message{}).IsControl() {
		t.Error("only event markers are control messages")
	}
	m := message.Message{Metadata: map[string]any{message.MetaInjector: "persona"}}
	if m.Injector() != "persona" || (message.Message{Metadata: map[string]any{message.MetaInjector: 1}}).Injector() != "" {
		t.Error("the injector is a text in the metadata")
	}
}
