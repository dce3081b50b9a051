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
	none     V                                  // changes no other value
	find     func(p *span, s stride) V          // returns the value of the elements of a thread
	with     func(a, b V) V                     // combines two values
	over     func(v V) V                        // combines the values of a warp or of a smaller team
	leave    func(at uint64, v V)               // stores a value for other blocks
	fetch    func(at uint64) V                  // loads such a value
	conclude func(row int, at, end uint64, v V) // stores the result of the row at an address
}

// stride is the first pack of a thread, and the distance to the next.
type stride struct{ first, step uint32 }

// reduce reduces rows of elements of 1 << log bytes.
func reduce[V any](t gpu.Thread, r Reduction, log uint32, o operator[V]) {
	parts := int(r.Parts)
	end := r.Src + ((r.Rows-1)*r.Pitch+r.Cols)<<log
	eachRow(t, int(r.Rows)*parts, int(r.Cols), func(job, n int) {
		row, part := job, 0
		if p := int32(r.Parts); p > 1 { // there are fewer than 2^31 jobs
			row = int(int32(job) / p)
			part = job - row*parts
		}
		team := t.BlockDimX()
		at := r.Src + uint64(row)*(r.Pitch<<log)
		s := stride{uint32(part*team + t.ThreadX()), uint32(parts * team)}
		p := spanOf(at, n, end, s, log)
		v := o.find(&p, s)
		for turn := 0; ; turn++ {
			v = overTeam(t, o, v)
			if r.Parts <= 1 || turn > 0 {
				break
			}
			row := row + turn // turn is 0. This keeps ptxas from computing what follows for rows that have one part.
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
			o.conclude(row, at, end, v)
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

// span is what a thread has of a row: packs of which all elements are in the row, and an edge, which is a pack at the
// beginning or at the end of the row that has other elements too. The first thread of a row has the first edge, and the
// second thread has the other one, so a row has at least two threads.
type span struct {
	at, after   uint64 // addresses of the thread's first pack, and after the last pack of the row
	edge        uint64 // address of the edge, or 0 if there is none
	w           pack   // the edge. Using it waits for its load, so the loads of the packs must start before.
	begin, stop uint32 // the bytes of the edge from begin to stop are of the row
}

// spanOf returns what a thread has of a row of n elements of 1 << log bytes in a matrix that ends at an address. It starts
// the load of the edge.
func spanOf(row uint64, n int, end uint64, s stride, log uint32) (p span) {
	rowEnd := row + uint64(n)<<log
	p.at, p.after = (row+15)&^15+uint64(s.first)*16, rowEnd&^15
	if (row|rowEnd)&15 != 0 && s.first < 2 {
		edge, begin, stop := row&^15, uint32(row)&15, uint32(16)
		one := edge == p.after // both edges are the same pack, which the first thread has
		if s.first != 0 {
			edge, begin = p.after, 0
		}
		if edge == p.after {
			stop = uint32(rowEnd) & 15
		}
		if one && s.first != 0 {
			stop = 0
		}
		if size := stop - begin; size-1 < 15 { // neither empty nor complete
			p.edge, p.w, p.begin, p.stop = edge, loadUpTo(edge, end), begin, stop
		}
	}
	return p
}

// own returns the edge. Elements of other rows become those of empty, which are 8 bytes.
func (p *span) own(empty uint64) (w pack) {
	low := ^uint64(0) << (8 * p.begin) &^ (^uint64(0) << (8 * p.stop))
	high := ^uint64(0) << (8*max(p.begin, 8) - 64) &^ (^uint64(0) << (8*max(p.stop, 8) - 64))
	for i, own := range [4]uint32{uint32(low), uint32(low >> 32), uint32(high), uint32(high >> 32)} {
		const choose = 0xca // the truth table of a&b | ^a&c
		w[i] = gpu.Lop3(own, p.w[i], uint32(empty>>(i%2*32)), choose)
	}
	return w
}

// loadUpTo returns the pack at an address, or what of it is before the address end.
func loadUpTo(at, end uint64) pack {
	if at+16 <= end {
		return *words(at)
	}
	return loadBefore(at, end)
}

// visit calls the function do for the packs of a thread, four at a time, with the address of the first and the distances to
// it in bytes. A thread loads the last pack of the row instead of those that it does not have. The row has "left" bytes from
// the first pack on.
func (p *span) visit(s stride, do func(w *[4]pack, at uint64, distances *[4]uint32, left uint32)) {
	step := s.step * 16
	for at := p.at; at < p.after; at += uint64(step) * 4 {
		asIs()
		left := uint32(min(p.after-at, 1<<31)) // more than three steps
		var w [4]pack
		var distances [4]uint32
		for k := range w {
			if k > 0 {
				distances[k] = min(uint32(k)*step, left-16)
			}
			w[k] = *words(at + uint64(distances[k]))
		}
		do(&w, at, &distances, left)
	}
}
