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
	none     V                                   // changes no other value
	find     func(row uint64, n int, s stride) V // returns the value of the elements of a thread
	with     func(a, b V) V                      // combines two values
	over     func(v V) V                         // combines the values of a warp or of a smaller team
	leave    func(at uint64, v V)                // stores a value for other blocks
	fetch    func(at uint64) V                   // loads such a value
	conclude func(row int, v V)                  // stores the result
}

// stride is the first pack of a thread, and the distance to the next.
type stride struct{ first, step int }

func reduce[T Element, V any](t gpu.Thread, r Reduction, o operator[V]) {
	parts := int(r.Parts)
	eachRow(t, int(r.Rows)*parts, int(r.Cols), func(job, n int) {
		row, part := job, 0
		if p := int32(r.Parts); p > 1 { // there are fewer than 2^31 jobs
			row = int(int32(job) / p)
			part = job - row*parts
		}
		team := t.BlockDimX()
		v := o.find(r.Src+offset[T](row, r.Pitch), n, stride{part*team + t.ThreadX(), parts * team})
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

// visit calls the function one for each single element of a thread, with its address, and the
// function do for each pack. at is the index of the (first) element.
func visit[T Element](row uint64, n int, s stride, one func(address uint64, at int), do func(w *pack, at int)) {
	p := partsOf[T](row, n)
	for i := s.first; i < p.singles; i += s.step {
		asIs()
		at := p.single(i)
		one(row+uint64(at*Size[T]()), at)
	}
	// Two packs are loaded before the current one is used.
	packs := gpu.ViewAt[uint32](p.first, p.packs*4).Slice()
	var w, next, last pack
	k := s.first
	if k < p.packs {
		w = *(*pack)(packs[k*4:])
	}
	if k+s.step < p.packs {
		next = *(*pack)(packs[(k+s.step)*4:])
	}
	for k < p.packs {
		asIs()
		if i := k + 2*s.step; i < p.packs {
			last = *(*pack)(packs[i*4:])
		}
		do(&w, p.begin+k*perPack[T]())
		w, next = next, last
		k += s.step
	}
}
