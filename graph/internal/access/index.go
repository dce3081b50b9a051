package access

import (
	"slices"
	"sort"

	"github.com/purecuda/cuda/driver"
)

// Index keeps the memory accesses of steps, ordered by address. It finds the steps after which a new
// step must run.
type Index struct {
	segments []segment // accesses without Rows, in ascending order, without overlaps
	boxes    []StepAccess
	all      []StepAccess // every access, to compare with boxes
}

// segment is a range of bytes that the same steps access. It omits the steps before the last
// writer, because the writer already runs after them.
type segment struct {
	lo, hi  uint64
	writer  int // the last writer, or none
	readers []int
}

const none = -1

type StepAccess struct {
	Step int
	driver.Access
}

// Conflicts appends the steps that a step with access a must run after. It may omit steps that are
// already ordered before an appended step.
func (x *Index) Conflicts(a driver.Access, steps *[]int) {
	if a.Bytes == 0 || a.Mode == 0 {
		return
	}
	others := x.boxes
	if a.Rows != nil {
		others = x.all
	} else {
		x.conflictsInSegments(a, steps)
	}
	for i := range others {
		if o := &others[i]; o.Overlaps(a) {
			*steps = append(*steps, o.Step)
		}
	}
}

func (x *Index) conflictsInSegments(a driver.Access, steps *[]int) {
	end := a.Addr + a.Bytes
	for i := x.find(a.Addr); i < len(x.segments) && x.segments[i].lo < end; i++ {
		s := &x.segments[i]
		if s.writer != none {
			*steps = append(*steps, s.writer)
		}
		if a.Mode&driver.Writes != 0 {
			*steps = append(*steps, s.readers...)
		}
	}
}

func (x *Index) find(addr uint64) int {
	return sort.Search(len(x.segments), func(i int) bool { return x.segments[i].hi > addr })
}

// Add records an access of a step.
func (x *Index) Add(step int, a driver.Access) {
	if a.Bytes == 0 || a.Mode == 0 {
		return
	}
	x.all = append(x.all, StepAccess{step, a})
	if a.Rows != nil {
		x.boxes = append(x.boxes, StepAccess{step, a})
		return
	}
	lo, hi := a.Addr, a.Addr+a.Bytes
	from := x.find(lo)
	to := from
	for to < len(x.segments) && x.segments[to].lo < hi {
		to++
	}
	x.segments = slices.Replace(x.segments, from, to, cover(x.segments[from:to], lo, hi, step, a.Mode)...)
}

// cover returns the segments that replace the old ones when a step accesses all bytes from lo to
// hi. The old segments may extend beyond lo and hi.
func cover(old []segment, lo, hi uint64, step int, mode driver.AccessMode) []segment {
	var next []segment
	if len(old) > 0 && old[0].lo < lo {
		next = append(next, old[0].cut(old[0].lo, lo))
	}
	if mode&driver.Writes != 0 {
		next = append(next, segment{lo: lo, hi: hi, writer: step})
	} else {
		next = readBy(next, old, lo, hi, step)
	}
	if n := len(old); n > 0 && old[n-1].hi > hi {
		next = append(next, old[n-1].cut(hi, old[n-1].hi))
	}
	return next
}

// readBy appends the segments of old between lo and hi to the list next, each with step as an
// additional reader. Gaps become segments without a writer.
func readBy(next, old []segment, lo, hi uint64, step int) []segment {
	at := lo
	for _, s := range old {
		if s.lo > at {
			next = append(next, segment{at, s.lo, none, []int{step}})
		}
		s = s.cut(max(s.lo, lo), min(s.hi, hi))
		s.readers = append(s.readers, step)
		next, at = append(next, s), s.hi
	}
	if at < hi {
		next = append(next, segment{at, hi, none, []int{step}})
	}
	return next
}

// cut returns the part of a segment from lo to hi. Appending readers to the part does not change s.
func (s segment) cut(lo, hi uint64) segment {
	if s.lo == lo && s.hi == hi {
		return s
	}
	s.lo, s.hi, s.readers = lo, hi, slices.Clip(s.readers)
	return s
}
