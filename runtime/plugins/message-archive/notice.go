// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package messagearchive

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/archive"
	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
)

// ArchiveNotice implements archive.Archive.
func (s *store) ArchiveNotice(ctx context.Context, n archive.Notice) (message.Message, bool, error) {
	if strings.TrimSpace(n.Text) == "" {
		return message.Message{}, false, nil
	}
	meta := noticeMetadata(n)
	var stored message.Message
	err := s.save(ctx, n.SessionID, func() []message.Message {
		stored = message.Message{
			Role: message.RoleNotice, Kind: n.Type, Content: n.Text, Timestamp: s.k.Now().UnixMilli(), Metadata: meta,
		}
		return []message.Message{stored}
	})
	if err != nil {
		return message.Message{}, false, fmt.Errorf("archiving a notice of session %q: %w", n.SessionID, err)
	}
	return stored, true, nil
}

// noticeMetadata merges the data flat under what the fields say.
func noticeMetadata(n archive.Notice) map[string]any {
	out := make(map[string]any, len(n.Data)+8)
	maps.Copy(out, n.Data)
	for _, f := range [...]struct{ key, value string }{
		{"subType", n.SubType}, {"platform", n.Platform}, {"userId", n.UserID}, {"nickname", n.Nickname},
		{"groupId", n.GroupID}, {"groupName", n.GroupName}, {"messageId", n.MessageID},
	} {
		if f.value != "" {
			out[f.key] = f.value
		}
	}
	return out
}

// FindByMessageID implements archive.Archive.
func (s *store) FindByMessageID(ctx context.Context, sessionID, messageID string, limit int) (message.Message, bool, error) {
	if messageID == "" {
		return message.Message{}, false, nil
	}
	backend, ok := memory.Service.Get(s.k)
	if !ok {
		return message.Message{}, false, errNoMemory
	}
	if limit <= 0 {
		limit = archive.DefaultFindLimit
	}
	list, err := backend.History(ctx, sessionID, min(limit, archive.MaxFindLimit))
	if err != nil {
		return message.Message{}, false, fmt.Errorf("looking for a message of session %q: %w", sessionID, err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Metadata["messageId"] == messageID {
			return list[i], true, nil
		}
	}
	return message.Message{}, false, nil
}
