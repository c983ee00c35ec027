// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tokenizer

import "container/heap"

// shortPiece is the length up to which merging looks at all pairs again and again, in bytes. Longer pieces use a heap, so
// that a text without blanks does not take quadratic time.
const shortPiece = 64

// count is the number of tokens of a text.
func (t *table) count(text string) int {
	n := 0
	for at := 0; at < len(text); {
		end := t.split(t.classes, text, at)
		if piece := text[at:end]; t.rank(piece) != noRank {
			n++
		} else {
			n += t.merge(piece)
		}
		at = end
	}
	return n
}

// merge is the number of tokens of a piece: beginning with its bytes, the neighbours that make the token of the lowest
// rank become one, the first of them if there are several, until there is no such pair.
func (t *table) merge(piece string) int {
	if len(piece) > shortPiece {
		return t.mergeLong(piece)
	}
	var starts [shortPiece + 1]int
	var ranks [shortPiece + 1]uint32 // of the pair that begins there
	parts := len(piece)
	for i := range parts + 1 {
		starts[i], ranks[i] = i, noRank
	}
	pair := func(i int) uint32 {
		if i < 0 || i+2 > parts {
			return noRank
		}
		return t.rank(piece[starts[i]:starts[i+2]])
	}
	for i := range parts - 1 {
		ranks[i] = pair(i)
	}
	for parts > 1 {
		best := 0
		for i := 1; i < parts-1; i++ {
			if ranks[i] < ranks[best] {
				best = i
			}
		}
		if ranks[best] == noRank {
			break
		}
		copy(starts[best+1:parts], starts[best+2:parts+1])
		copy(ranks[best+1:parts], ranks[best+2:parts+1])
		parts--
		ranks[best] = pair(best)
		if best > 0 {
			ranks[best-1] = pair(best - 1)
		}
	}
	return parts
}

// candidate is a pair of neighbours that would make a token: the places where the first begins and the second ends.
type candidate struct {
	rank       uint32
	start, end int32
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].start < c[j].start
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) } //nolint:forcetypeassert // only candidates are pushed
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// mergeLong is merge with a heap of candidates over a list of parts that is linked by their starts.
func (t *table) mergeLong(piece string) int {
	n := int32(len(piece)) //nolint:gosec // a message is far smaller than 2 GiB
	next, prev := make([]int32, n+1), make([]int32, n+1)
	queue := make(candidates, 0, n)
	for i := range n + 1 {
		next[i], prev[i] = i+1, i-1
	}
	for i := range n - 1 {
		if r := t.rank(piece[i : i+2]); r != noRank {
			queue = append(queue, candidate{r, i, i + 2})
		}
	}
	heap.Init(&queue)
	parts := int(n)
	offer := func(start int32) {
		if start < 0 || next[start] >= n {
			return
		}
		end := next[next[start]]
		if r := t.rank(piece[start:end]); r != noRank {
			heap.Push(&queue, candidate{r, start, end})
		}
	}
	for queue.Len() > 0 {
		c := heap.Pop(&queue).(candidate) //nolint:forcetypeassert // only candidates are pushed
		// A candidate is void once one of its parts has become part of another.
		if mid := next[c.start]; mid == gone || mid >= n || next[mid] != c.end {
			continue
		}
		mid := next[c.start]
		next[c.start], next[mid] = c.end, gone
		prev[c.end] = c.start
		parts--
		offer(c.start)
		offer(prev[c.start])
	}
	return parts
}

// gone marks a part that has become the end of another.
const gone = -1
