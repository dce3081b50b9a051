package arena

import (
	"fmt"
	"slices"
	"strings"
)

// Report describes the contents of an arena.
type Report struct {
	Bytes  uint64 // device memory of all chunks
	Chunks []uint64
	Plans  []PlanReport // in the order of their creation
}

// PlanReport describes a plan of an arena.
type PlanReport struct {
	Name   string
	Bytes  uint64 // memory that the plan's open buffers and its graphs use; plans overlap
	Graphs int    // open executable graphs
	Open   []BufferReport
}

// BufferReport describes an open buffer, whose range other plans cannot use.
type BufferReport struct {
	Kind  string // for example "buffer of float32"
	Ptr   uint64
	Bytes uint64
}

// Report returns a description of the current contents.
func (a *Arena) Report() Report {
	if !a.exists() {
		return Report{}
	}
	c := a.core
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Report{Bytes: c.size()}
	for _, k := range c.chunks {
		if k.reserved > 0 {
			r.Chunks = append(r.Chunks, k.mapped...)
			continue
		}
		r.Chunks = append(r.Chunks, k.size)
	}
	for _, p := range c.plans {
		r.Plans = append(r.Plans, p.report(c))
	}
	return r
}

func (p *plan) report(c *core) PlanReport {
	r := PlanReport{Name: p.Name, Graphs: c.turn.Graphs(&p.Plan), Bytes: covered(p.pieces)}
	for _, m := range p.pieces {
		if m.reserved() {
			r.Open = append(r.Open, BufferReport{Kind: m.kind, Ptr: m.memory.At, Bytes: m.memory.Size})
		}
	}
	return r
}

// covered returns the number of bytes in the union of the ranges.
func covered(pieces []*piece) (bytes uint64) {
	sorted := slices.SortedFunc(slices.Values(pieces), func(a, b *piece) int {
		return int(int64(a.memory.At) - int64(b.memory.At))
	})
	var end uint64
	for _, p := range sorted {
		from := max(end, p.memory.At)
		if p.end() > from {
			bytes += p.end() - from
			end = p.end()
		}
	}
	return bytes
}

// String returns a line for the arena, a line for each plan and a line for each open buffer.
func (r Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "arena of %d bytes in %d chunks\n", r.Bytes, len(r.Chunks))
	for _, p := range r.Plans {
		fmt.Fprintf(&s, "  plan %q: %d bytes, %d graphs\n", p.Name, p.Bytes, p.Graphs)
		for _, b := range p.Open {
			fmt.Fprintf(&s, "    open: %s at %#x, %d bytes\n", b.Kind, b.Ptr, b.Bytes)
		}
	}
	return s.String()
}
