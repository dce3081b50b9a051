package rows

import "github.com/purecuda/cuda/ptx/gpu"

// twice is a row that a team reads twice. If the dynamic shared memory has room, the packs are kept
// there in between. Each thread reads only packs that it has kept itself, so there is no barrier. The
// packs of each turn are side by side in the order of the block's threads, so that no two threads of a
// warp access the same bank at a time.
type twice[T Float, M Team] struct {
	span
	team   M
	half   Half
	row    uint64
	limit  uint64 // address of the end of the matrix
	safe   int    // number of the team's packs that are loaded as a whole
	room   []uint32
	slot   int  // index in room of the thread's first pack
	turn   int  // number of words of room for a turn
	keep   bool // whether room is large enough
	copied bool // whether the packs that are loaded as a whole are in room
	kept   bool // whether all packs are in room
	end    int  // number of the pack after those that the thread has read in the first pass
	after  int  // index in room of that pack
}

// twiceOf returns a row of n elements. The matrix ends at address limit. If the device can, twiceOf copies
// all packs of the thread: registers have room for few loads, and a multiprocessor must have many more in
// flight.
func twiceOf[T Float, M Team](t gpu.Thread, team M, half Half, row uint64, n int, limit uint64) *twice[T, M] {
	r := &twice[T, M]{span: spanOf[T](row, n), team: team, half: half, row: row, limit: limit}
	team.share(&r.span)
	r.safe = r.packs
	if r.first+uint64(r.packs)*16 > limit {
		r.safe--
	}
	r.room = gpu.DynamicShared[uint32](t)
	r.turn = t.BlockDimX() * t.BlockDimY() * 4
	r.slot = (t.ThreadY()*t.BlockDimX() + t.ThreadX()) * 4
	r.keep = r.packs*t.BlockDimY()*4 <= len(r.room)
	r.copied = r.keep && team.copies(func(t gpu.Thread) {
		slot := r.slot
		for k := team.rank(); k < r.safe; k += team.size() {
			asIs()
			gpu.CopyAsync(t, (*pack)(r.room[slot:]), words(r.at(k)))
			slot += r.turn
		}
	})
	return r
}

// at returns the address of a pack.
func (r *twice[T, M]) at(k int) uint64 { return r.first + uint64(k)*16 }

// forth calls the function do for each pack of the calling thread. What was not copied is loaded in several
// loads before the first is used. A copy between variables would wait for each load.
func (r *twice[T, M]) forth(do func(w *pack, own only)) {
	rank, size := r.team.rank(), r.team.size()
	slot, k := r.slot, rank
	for k < r.packs {
		asIs()
		var w, second, third, fourth pack
		copied := r.kept || r.copied && k < r.safe
		switch {
		case copied:
			w = *(*pack)(r.room[slot:])
		case k < r.safe:
			// A thread loads the last pack instead of those after it, which it does not use.
			w = *words(r.at(k))
			second = *words(r.at(min(k+size, r.safe-1)))
			if r.team.ahead() > 2 {
				third = *words(r.at(min(k+2*size, r.safe-1)))
				fourth = *words(r.at(min(k+3*size, r.safe-1)))
			}
		default:
			w = loadBefore[T](r.at(k), r.limit)
		}
		for i := int32(0); ; {
			asIs()
			if r.keep && !copied {
				*(*pack)(r.room[slot:]) = w
			}
			do(&w, r.own(r.at(k), all[T]()))
			k += size
			slot += r.turn
			if i++; copied || i == r.team.ahead() || k >= r.safe {
				break
			}
			w, second, third = second, third, fourth
		}
	}
	r.end, r.after, r.kept = k, slot, r.keep
}

// back calls the function do for each pack, from the last to the first: if the row was not kept, the
// caches hold what was read last. at is the number of bytes before the pack in the row, modulo 1<<64.
func (r *twice[T, M]) back(do func(w *pack, at uint64, own only)) {
	size, slot := r.team.size(), r.after
	for k := r.end - size; k >= 0; k -= size {
		asIs()
		slot -= r.turn
		var w pack
		switch {
		case r.keep:
			w = *(*pack)(r.room[slot:])
		case k < r.safe:
			w = *words(r.at(k))
		default:
			w = loadBefore[T](r.at(k), r.limit)
		}
		do(&w, r.at(k)-r.row, r.own(r.at(k), all[T]()))
	}
}
