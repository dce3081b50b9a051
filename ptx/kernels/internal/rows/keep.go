package rows

import "github.com/purecuda/cuda/ptx/gpu"

// A line is a row whose elements are visited in order, and then replaced.
type line[T Float] interface {
	*twice[T, *Block] | *twice[T, *Cluster] | *bundled[T]
	forth(one func(x float32), do func(w *pack))
	back(one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack)
	exchange(v, none pair, combine func(pair) pair) pair // see Team
	pairs() bool
}

// twice is a row that a team reads twice. If the dynamic shared memory has room, the packs are kept
// there in between. Each thread reads only packs that it has kept itself, so there is no barrier. The
// single elements are few, and are read from the cache.
type twice[T Float, M Team] struct {
	parts
	dst  uint64
	team M
	half Half
	room []uint32
	keep bool
	// ready is set if the packs were copied. They are complete after a wait.
	ready bool
	end   int // number of the pack after those that the thread has read in the first pass
}

// twiceOf returns a row of n elements, which dst replaces. cols is the length of the longest row of the kernel.
// If the device can, twiceOf starts copies of all packs of the thread: registers have room for few loads, and
// a multiprocessor must have many more in flight.
func twiceOf[T Float, M Team](t gpu.Thread, team M, half Half, dst, row uint64, n, cols int) *twice[T, M] {
	r := &twice[T, M]{parts: partsOf[T](row, n), dst: dst, team: team, half: half}
	team.share(&r.parts)
	size := shareOf(cols/perPack[T](), team.blocks()) * 4
	room := gpu.DynamicShared[uint32](t)
	r.keep = size*t.BlockDimY() <= len(room)
	r.room = room[t.ThreadY()*size:]
	r.ready = r.keep && team.copies(func(t gpu.Thread) {
		packs := gpu.ViewAt[uint32](r.first, r.packs*4).Slice()
		for k := team.rank(); k < r.packs; k += team.size() {
			asIs()
			gpu.CopyAsync(t, (*pack)(r.room[k*4:]), (*pack)(packs[k*4:]))
		}
	})
	return r
}

// forth calls one for each single element of the calling thread, while packs are copied, and then do for
// each pack.
func (r *twice[T, M]) forth(one func(x float32), do func(w *pack)) {
	rank, size := r.team.rank(), r.team.size()
	for i := rank; i < r.singles; i += size {
		asIs()
		one(floatOf[T](r.half, r.row+uint64(r.single(i)*Size[T]())))
	}
	packs := gpu.ViewAt[uint32](r.first, r.packs*4).Slice()
	if r.ready {
		r.team.wait()
	}
	load := func(k int) pack {
		if r.ready {
			return *(*pack)(r.room[k*4:])
		}
		return *(*pack)(packs[k*4:])
	}
	// The next pack is loaded before the current one is used.
	var w, next pack
	k := rank
	if k < r.packs {
		w = load(k)
	}
	for k < r.packs {
		asIs()
		after := k + size
		if after < r.packs {
			next = load(after)
		}
		if r.keep && !r.ready {
			*(*pack)(r.room[k*4:]) = w
		}
		do(&w)
		w = next
		k = after
	}
	r.end = k
}

func (r *twice[T, M]) exchange(v, none pair, combine func(pair) pair) pair {
	return r.team.exchange(v, none, combine)
}

func (r *twice[T, M]) pairs() bool { return r.team.pairs() }

// back calls the function do for each pack, from the last to the first, and then the function one
// for each single element: if the row was not kept, the caches hold what was read last. It stores what they
// return. at is the number of bytes before the pack or the element in the row.
func (r *twice[T, M]) back(one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack) {
	rank, size := r.team.rank(), r.team.size()
	packs := gpu.ViewAt[uint32](r.first, r.packs*4).Slice()
	begin := uint64(r.begin * Size[T]())
	for k := r.end - size; k >= 0; k -= size {
		asIs()
		var w pack
		if r.keep {
			w = *(*pack)(r.room[k*4:])
		} else {
			w = *(*pack)(packs[k*4:])
		}
		at := begin + uint64(k*16)
		storeAny[T](r.dst+at, do(&w, at))
	}
	for i := rank; i < r.singles; i += size {
		asIs()
		at := uint64(r.single(i) * Size[T]())
		setFloat[T](r.half, r.dst+at, one(floatOf[T](r.half, r.row+at), at))
	}
}
