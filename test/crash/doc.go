// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash kills the bot at random moments while people talk to it, and looks each time at what it remembers. The bot
// is the program cmd/aalis as it is released, its model a fake on loopback, its memory a SQLite file or a real Redis.
//
// Each memory sees 20 kills under load, and 200 with AALIS_FULL=1, and some more while the bot starts. The moments and the
// questions come from a seed that the log shows; AALIS_SEED=N takes them again, as far as the machine's own timing lets
// it. With -short nothing is killed.
// It holds no code that anything else may import.
package crash
