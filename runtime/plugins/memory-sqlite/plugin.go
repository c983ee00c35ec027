// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memorysqlite is the memory backend that keeps everything in one SQLite file, <data dir>/aalis.db, which
// outlives the process. What it acknowledged is on the disk: it survives the death of the process and of the node.
//
// The agent, the archive and other plugins reach it by the service memory. A file that is corrupt or written by a newer
// version puts this plugin in error with the way out in the message; one that is locked, or a disk that is full, is
// tried again at each use. The bot stays up in any case. It never deletes or repairs a file, and never touches another one.
package memorysqlite

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/aalis-dev/aalis-operator/runtime/contract/memory"
	"github.com/aalis-dev/aalis-operator/runtime/kernel"
)

// priority in the service memory: above every other backend.
const priority = 10

// fileName is the database in the data directory.
const fileName = "aalis.db"

// Config of the plugin: it has none. The host says where the data directory is.
type Config struct{}

// Plugin is the module.
var Plugin = kernel.Define(kernel.Module{
	Name:        "@aalis/plugin-memory-sqlite",
	DisplayName: "SQLite memory",
	Summary:     "Keeps conversations in a SQLite file on the bot's volume.",
	Stability:   kernel.Beta,
	Provides:    []string{memory.Service.Name()},
	Permissions: []kernel.Permission{kernel.Filesystem},
}, Config{}, apply)

func apply(k *kernel.Context, _ Config) error {
	f := &file{path: filepath.Join(k.DataDir(), fileName), busy: busyTimeout}
	k.OnDispose("database", func(context.Context) error { return f.close() })
	_, err := f.get(k.Lifetime())
	switch {
	case errors.Is(err, errTransient):
		k.Logger().Error("Cannot open the memory file yet; trying again when it is needed", "path", f.path, "error", err)
	case err != nil:
		return err
	}
	memory.Service.Provide(k, &backend{now: k.Now, file: f}, kernel.WithPriority(priority))
	return nil
}
