// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aalis-dev/aalis-operator/runtime/contract/message"
	"github.com/aalis-dev/aalis-operator/runtime/tokenizer"
)

// BenchmarkCountHistory tells what counting a conversation of 1 MiB exactly costs a turn: the first one, which has to
// count it, and each that follows, for which it was counted.
func BenchmarkCountHistory(b *testing.B) {
	pool := tokenizer.NewPool(func(_ string, load func(context.Context)) { load(b.Context()) }, func(err error) { b.Fatal(err) })
	counter, ok := pool.Counter("gpt-4o")
	if !ok {
		b.Fatal("there is no counter")
	}
	counter.Count("the table is read now")
	list := make([]message.Message, 256)
	size := 0
	for i := range list {
		list[i].Content = fmt.Sprint(i, strings.Repeat(" and then he said that 今天天气很好 because nobody stopped it.", 68))
		size += len(list[i].Content)
	}
	turn := func(shared *textCounts) {
		c := newCounts(counter, shared)
		for range 2 { // before the call and for the report
			for i := range list {
				c.message(&list[i])
			}
		}
	}
	b.Run("first turn", func(b *testing.B) {
		b.SetBytes(int64(size))
		for b.Loop() {
			turn(newTextCounts())
		}
	})
	b.Run("later turns", func(b *testing.B) {
		b.SetBytes(int64(size))
		shared := newTextCounts()
		turn(shared)
		for b.Loop() {
			turn(shared)
		}
	})
}
