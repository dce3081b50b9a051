package arena

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Report describes the contents of an arena. Package view draws it.
type Report struct {
	Bytes  uint64       // size of all chunks in device memory
	Chunks []Range      // in the order of their creation
	Plans  []PlanReport // in the order of their creation
}

// Range is a range of device memory.
type Range struct{ Ptr, Bytes uint64 }

// PlanReport describes a plan of an arena.
type PlanReport struct {
	Name   string
	Bytes  uint64         // memory that the plan's open buffers and its graphs use; plans overlap
	Graphs int            // open executable graphs
	Shared bool           // created by SharedPlan
	Ranges []Range        // the ranges that Bytes counts, sorted by address
	Open   []BufferReport // the plan's open buffers; empty for a shared plan
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
		if k.reserved == 0 {
			r.Chunks = append(r.Chunks, Range{k.at, k.size})
			continue
		}
		at := k.at
		for _, size := range k.mapped {
			r.Chunks = append(r.Chunks, Range{at, size})
			at += size
		}
	}
	for _, p := range c.plans {
		r.Plans = append(r.Plans, p.report(c))
	}
	return r
}

func (p *plan) report(c *core) PlanReport {
	r := PlanReport{Name: p.Name, Graphs: c.turn.Graphs(&p.Plan), Shared: p.shared, Ranges: covered(p.pieces)}
	for _, c := range r.Ranges {
		r.Bytes += c.Bytes
	}
	for _, m := range p.pieces {
		if m.reserved() {
			r.Open = append(r.Open, BufferReport{Kind: m.kind, Ptr: m.memory.At, Bytes: m.memory.Size})
		}
	}
	return r
}

// covered returns the union of the pieces' ranges, sorted by address. Adjacent ranges are merged.
func covered(pieces []*piece) (union []Range) {
	sorted := slices.SortedFunc(slices.Values(pieces), func(a, b *piece) int { return cmp.Compare(a.memory.At, b.memory.At) })
	for _, p := range sorted {
		at, end := p.memory.At, p.end()
		if n := len(union); n > 0 && at <= union[n-1].Ptr+union[n-1].Bytes {
			last := &union[n-1]
			last.Bytes = max(last.Bytes, end-last.Ptr)
		} else if end > at {
			union = append(union, Range{at, end - at})
		}
	}
	return union
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
