// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package kernel

import "sync/atomic"

// symbol is the name of a key with its hash, so that a lookup costs no hashing.
type symbol struct {
	name string
	hash uint64
}

// newSymbol hashes by FNV-1a and mixes the high bits down, because tables use the low ones.
func newSymbol(name string) symbol {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return symbol{name: name, hash: h ^ h>>32}
}

// cell is one named slot of a directory. It is never copied.
type cell[S any] struct {
	symbol
	slot S
}

type table[S any] struct {
	mask  uint64
	cells []atomic.Pointer[cell[S]]
}

// directory maps names to slots: reads take no lock and allocate nothing, writes are serialised by the owner's lock.
// Slots that hold nothing any more are dropped when the table is rebuilt, so it is bounded by twice what is in use.
type directory[S any] struct {
	current atomic.Pointer[table[S]]
	used    int
	// idle reports whether a slot holds nothing. Called with the owner's lock held.
	idle func(*S) bool
	// dropped is told of each slot that is dropped; may be nil. Called with the owner's lock held.
	dropped func(*S)
}

// find returns the slot of a name, or nil.
func (d *directory[S]) find(sym symbol) *S {
	t := d.current.Load()
	if t == nil {
		return nil
	}
	for i := sym.hash & t.mask; ; i = (i + 1) & t.mask {
		c := t.cells[i].Load()
		if c == nil {
			return nil
		}
		if c.hash == sym.hash && c.name == sym.name {
			return &c.slot
		}
	}
}

// obtain returns the slot of a name, making it if need be. The owner's lock is held.
func (d *directory[S]) obtain(sym symbol) *S {
	if s := d.find(sym); s != nil {
		return s
	}
	t := d.current.Load()
	if t == nil || 2*(d.used+1) > len(t.cells) {
		t = d.rebuild(t)
	}
	c := &cell[S]{symbol: sym}
	t.put(c)
	d.used++
	return &c.slot
}

// rebuild makes a table with room for at least one more name than the slots in use.
func (d *directory[S]) rebuild(old *table[S]) *table[S] {
	var keep []*cell[S]
	if old != nil {
		for i := range old.cells {
			switch c := old.cells[i].Load(); {
			case c == nil:
			case !d.idle(&c.slot):
				keep = append(keep, c)
			case d.dropped != nil:
				d.dropped(&c.slot)
			}
		}
	}
	size := 16
	for size < 4*(len(keep)+1) {
		size *= 2
	}
	t := &table[S]{mask: uint64(size - 1), cells: make([]atomic.Pointer[cell[S]], size)}
	for _, c := range keep {
		t.put(c)
	}
	d.used = len(keep)
	d.current.Store(t)
	return t
}

func (t *table[S]) put(c *cell[S]) {
	i := c.hash & t.mask
	for t.cells[i].Load() != nil {
		i = (i + 1) & t.mask
	}
	t.cells[i].Store(c)
}

// each calls fn for every slot. The order is unspecified. The owner's lock is held or a stale view is acceptable.
func (d *directory[S]) each(fn func(name string, slot *S)) {
	t := d.current.Load()
	if t == nil {
		return
	}
	for i := range t.cells {
		if c := t.cells[i].Load(); c != nil {
			fn(c.name, &c.slot)
		}
	}
}
