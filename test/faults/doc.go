// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults runs whole bots in this process, with the real kernel and plugins over loopback, and lets go wrong what
// can: each fault of the fake model server, bad input from people and models, and stores that are away, full or broken.
// Each time somebody asks, is told what came of it, and asks again; then the bot stops and must leave nothing behind.
//
// It holds no code that anything else may import.
package faults
