// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// attachmentFolders are where platforms keep what came with messages, below the data directory, a folder for each session.
var attachmentFolders = [...]struct{ kind, folder string }{
	{"image", "images"}, {"video", "videos"}, {"audio", "audios"}, {"file", "files"},
}

// attachments clears those folders. It never touches anything else: names cannot lead out of them.
type attachments struct{ dir string }

// clear is the handler of memory:clear.
func (a *attachments) clear(ctx context.Context, d *memory.ClearData, next kernel.Next) error {
	for _, f := range attachmentFolders {
		if a.dir == "" || !d.Wants(f.kind) {
			continue
		}
		removed, err := a.remove(f.folder, d)
		if err != nil {
			d.Add(f.kind, false, err.Error())
		} else if removed {
			d.Add(f.kind, true, "")
		}
	}
	return next(ctx)
}

// remove removes the folder of a session, or those of all, and reports whether there was any.
func (a *attachments) remove(folder string, d *memory.ClearData) (bool, error) {
	root, err := os.OpenRoot(a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("opening the data directory: %w", err)
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	path := folder
	if d.Scope != memory.ClearAllScope {
		name := sessionFolder(d.SessionID)
		if name == "" {
			return false, nil
		}
		path += "/" + name
	}
	if _, err := root.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := root.RemoveAll(path); err != nil {
		return false, fmt.Errorf("removing %s: %w", folder, err)
	}
	return true, nil
}

// sessionFolder is the name of a session's folder, or nothing if there can be none.
func sessionFolder(session string) string {
	name := strings.NewReplacer(":", "_", "/", "_", `\`, "_").Replace(session)
	if name == "." || name == ".." {
		return ""
	}
	return name
}
