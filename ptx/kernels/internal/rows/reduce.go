package rows

import (
	"github.com/purecuda/cuda/ptx/gpu"
)

// Reduction is the launch of a reduction: rows to one value each. A whole array is one row.
//
// If a row has one part, it has a team. Otherwise, teams are blocks. Each takes one part of a row,
// leaves what it found in the workspace, and draws a number from the row's counter. The block that
// draws the last number combines the parts, in their order, and the counter is 0 again, so that the
// launch can be repeated. No order depends on which block is first, so a result is always the same.
type Reduction struct {
	Dst, Src, Rows, Cols, Pitch uint64
	Parts                       uint32
	Work                        uint64
}

// mostRows is the number of counters at the beginning of the workspace. 16 bytes for each part follow.
const mostRows = 1024

// operator is what a reduction does with values of type V.
type operator[V any] struct {
	none     V                                               // changes no other value
	find     func(row uint64, n int, end uint64, s stride) V // returns the value of the elements of a thread
	with     func(a, b V) V                                  // combines two values
	over     func(v V) V                                     // combines the values of a warp or of a smaller team
	leave    func(at uint64, v V)                            // stores a value for other blocks
	fetch    func(at uint64) V                               // loads such a value
	conclude func(row int, v V)                              // stores the result
}

// stride is the first pack of a thread, and the distance to the next.
type stride struct{ first, step int }

func reduce[T Element, V any](t gpu.Thread, r Reduction, o operator[V]) {
	parts := int(r.Parts)
	end := endOf[T](r.Src, r.Rows, r.Cols, r.Pitch)
	eachRow(t, int(r.Rows)*parts, int(r.Cols), func(job, n int) {
		row, part := job, 0
		if p := int32(r.Parts); p > 1 { // there are fewer than 2^31 jobs
			row = int(int32(job) / p)
			part = job - row*parts
		}
		team := t.BlockDimX()
		v := o.find(r.Src+offset[T](row, r.Pitch), n, end, stride{part*team + t.ThreadX(), parts * team})
		for whole := r.Parts <= 1; ; whole = true {
			v = overTeam(t, o, v)
			if whole {
				break
			}
			found := r.Work + mostRows*4 + uint64(row*parts*16)
			if t.ThreadX() == 0 {
				o.leave(found+uint64(part*16), v)
			}
			if !isLast(t, r.Work+uint64(row*4), r.Parts) {
				return
			}
			v = o.none
			for i := t.ThreadX(); i < parts; i += team {
				asIs()
				v = o.with(v, o.fetch(found+uint64(i*16)))
			}
		}
		if t.ThreadX() == 0 && row < int(r.Rows) {
			o.conclude(row, v)
		}
	})
}

// overTeam combines the values of a team.
func overTeam[V any](t gpu.Thread, o operator[V], v V) V {
	shared := gpu.Shared[[mostWarps]V](t)
	warps := t.BlockDimX() / gpu.WarpSize
	for {
		v = o.over(v)
		if warps <= 1 {
			return v
		}
		if t.Lane() == 0 {
			shared[t.ThreadX()/gpu.WarpSize] = v
		}
		t.Sync()
		v = o.none
		if t.Lane() < warps {
			v = shared[t.Lane()]
		}
		t.Sync() // shared is free for the next values
		warps = 0
	}
}

// isLast reports whether this block is the last of its row.
func isLast(t gpu.Thread, counter uint64, parts uint32) bool {
	number := gpu.Shared[uint32](t)
	if t.ThreadX() == 0 {
		t.FenceDevice()
		*number = gpu.AtomicInc(value[uint32](counter), parts-1)
		t.FenceDevice()
	}
	t.Sync()
	return *number == parts-1
}

// visit calls the function do for each pack of a thread that has elements of the row. at is the index of
// the pack's first element, and "own" are the elements of the row in it. The matrix ends at address end.
func visit[T Element](row uint64, n int, end uint64, s stride, do func(w *pack, at int, own only)) {
	p := spanOf[T](row, n)
	step, after := uint64(s.step)*16, p.first+uint64(p.packs)*16
	safe := after // the end of the packs that are loaded as a whole
	if after > end {
		safe -= 16
	}
	for from := p.first + uint64(s.first)*16; from < after; {
		asIs()
		// A copy of what a load returns waits for that load. If the next pack were loaded while one is
		// used, and then copied, a thread would have one load in flight. Here it has four.
		// A thread loads the last pack instead of those after it, which it does not use.
		var w, second, third, fourth pack
		if from < safe {
			w = *words(from)
			second = *words(min(from+step, safe-16))
			third = *words(min(from+2*step, safe-16))
			fourth = *words(min(from+3*step, safe-16))
		} else {
			w = loadBefore[T](from, end)
		}
		for i := int32(0); ; {
			asIs()
			do(&w, int(from-row)>>shift[T](), p.own(from, all[T]()))
			w, second, third = second, third, fourth
			from += step
			if i++; i == 4 || from >= safe {
				break
			}
		}
	}
}
