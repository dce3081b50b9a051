package rows

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// A line is a row whose elements are visited in order, and then replaced.
type line interface {
	*twice[*Block] | *twice[*Cluster]
	// forth calls begin once. It then calls one for each of the thread's single elements, and do for each of its
	// packs.
	forth(begin func(), one func(x float32), do func(w *pack))
	// back replaces each pack and each single element by what the functions return. one gets the number of bytes
	// before the element in the row, and do the number of bytes before the pack in the line's packs.
	back(one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack)
	before() uint64                                                      // number of bytes before the line's packs in the row
	exchange(v, none pair, combine func(p pair, width uint32) pair) pair // see Team
	pairs() bool
	sample() float32 // is likely to be near the mean of the row
}

// twice is a row that a team reads twice. A thread copies its packs to shared memory, as many as there is room
// for. If that is all of them, it reads the row from memory once. Each thread reads only packs that it has copied
// itself, so there is no barrier. The single elements are few, and are read from the cache.
//
// The copies are asynchronous: registers have room for few loads, and a multiprocessor must have many more in flight.
// On devices that cannot copy like that, threads read packs from memory: see direct.
type twice[M Team] struct {
	team     M
	half     Half
	src, dst uint64 // addresses of the row
	head     uint32 // number of elements before all packs
	tail     uint64 // number of bytes of all packs
	begin    uint64 // number of bytes before the packs of the team
	packs    int32  // number of packs of the team
	singles  int32  // number of single elements of the team
	plain    bool   // whether packs of dst and of all operands begin at multiples of 16 bytes
	slots    int32  // number of packs of a thread that there is room for
	from     int32  // number of the team's first pack in shared memory
}

// eachTwice calls the function do for the rows of the calling thread's team. The teams of a warp stay together,
// because they exchange values with shuffles. After the last row, some of them therefore get a row without
// columns. columns are the addresses of operands with an element for each column, or 0.
func eachTwice[M Team](t gpu.Thread, team M, columns [2]uint64, dst, src, rows, cols, dstPitch, srcPitch uint64, half Half, do func(r *twice[M])) {
	slots := int32(0)
	if team.pairs() {
		slots = int32(uint32(len(gpu.DynamicShared[pack](t))) / max(uint32(t.BlockDimX()*t.BlockDimY()), 1))
		if slots == 0 {
			panic("the launch has no shared memory for the packs of each thread")
		}
	}
	teams := uint64(t.BlockDimY())
	row, step := team.number()*teams+uint64(t.ThreadY()), team.count()*teams
	before := uint64(uint32(t.Lane()) >> (uint32(bits.Len32(uint32(t.BlockDimX()))) - 1)) // teams of this warp before this one
	dstPitch, srcPitch = dstPitch<<half.log(), srcPitch<<half.log()                       // in bytes
	r := &twice[M]{team: team, half: half, src: src + row*srcPitch, dst: dst + row*dstPitch, slots: slots}
	for alike := false; row-before < rows; {
		asIs()
		if !alike {
			r.divide(cols, columns)
			alike = (srcPitch|dstPitch)%16 == 0
		}
		if row >= rows {
			r.packs, r.singles, r.tail = 0, 0, 0
		}
		do(r)
		row += step
		r.src += step * srcPitch
		r.dst += step * dstPitch
	}
}

// divide divides a row of n elements, according to the place of src.
func (r *twice[M]) divide(n uint64, columns [2]uint64) {
	r.head = uint32(-r.src&15) >> r.half.log()
	if uint64(r.head) > n {
		r.head = uint32(n)
	}
	r.packs = int32((n - uint64(r.head)) >> (4 - r.half.log()))
	r.begin, r.tail = uint64(r.head)<<r.half.log(), uint64(r.packs)*16
	r.singles = int32(n) - r.packs<<(4-r.half.log())
	if rank, blocks := r.team.block(); blocks > 1 {
		// The first block has the single elements.
		each := int32((uint32(r.packs) + blocks - 1) / blocks)
		before := min(int32(rank)*each, r.packs)
		r.packs = min(each, r.packs-before)
		r.begin += uint64(before) * 16
		if rank > 0 {
			r.singles = 0
		}
	}
	places := r.dst + r.begin
	for _, c := range columns {
		if c != 0 {
			places |= c + r.begin
		}
	}
	r.plain = places%16 == 0
}

// start starts copies of the thread's packs, from the team's pack number "from" on. It returns the number of the
// team's pack after them.
func (r *twice[M]) start(from int32) int32 {
	t := r.team.thread()
	rank, size := int32(t.ThreadX()), int32(t.BlockDimX())
	room, threads := gpu.DynamicShared[pack](t), size*int32(t.BlockDimY())
	end := min(r.packs, from+r.slots*size)
	i := int32(t.ThreadY())*size + rank
	packs := r.src + r.begin
	for k := from + rank; k < end; k += size {
		r.team.copy(&room[i], words(packs+uint64(uint32(k))*16))
		i += threads
	}
	r.team.commit()
	r.from = from
	return end
}

func (r *twice[M]) forth(begin func(), one func(x float32), do func(w *pack)) {
	t := r.team.thread()
	rank, size := int32(t.ThreadX()), int32(t.BlockDimX())
	room, threads := gpu.DynamicShared[pack](t), size*int32(t.BlockDimY())
	if !r.pairs() {
		begin()
		for i := rank; i < r.singles; i += size {
			asIs()
			one(r.half.at(r.src + r.single(int(i))))
		}
		r.direct(func(w *pack, _ uint64) { do(w) })
		return
	}
	for from := int32(0); ; {
		end := r.start(from)
		if from == 0 {
			begin()
			for i := rank; i < r.singles; i += size {
				asIs()
				one(r.half.at(r.src + r.single(int(i))))
			}
		}
		r.team.wait()
		i := int32(t.ThreadY())*size + rank
		for k := from + rank; k < end; k += size {
			asIs()
			do(&room[i])
			i += threads
		}
		if end == r.packs {
			break
		}
		from = end
	}
}

// direct calls a function for each of the thread's packs, with the number of bytes before it. It is for old devices:
// packs are read from memory or from a cache.
func (r *twice[M]) direct(do func(w *pack, at uint64)) {
	t := r.team.thread()
	for k := int32(t.ThreadX()); k < r.packs; k += int32(t.BlockDimX()) {
		asIs()
		at := uint64(uint32(k)) * 16
		do(words(r.src+r.begin+at), at)
	}
}

// single returns the number of bytes before single element i in the row. The elements of packs follow the others.
func (r *twice[M]) single(i int) uint64 {
	at := uint64(i) << r.half.log()
	switch {
	case i >= int(r.singles):
		at += r.begin - uint64(r.singles)<<r.half.log()
	case i >= int(r.head):
		at += r.tail
	}
	return at
}

// back begins with the packs that are in shared memory. If packs cannot be stored, all elements are single.
func (r *twice[M]) back(one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack) {
	t := r.team.thread()
	rank, size := int32(t.ThreadX()), int32(t.BlockDimX())
	room, threads := gpu.DynamicShared[pack](t), size*int32(t.BlockDimY())
	first := r.dst + r.begin
	singles := int(r.singles)
	switch {
	case !r.plain:
		singles += int(r.packs) << (4 - r.half.log())
	case !r.pairs():
		r.direct(func(w *pack, at uint64) { *words(first + at) = do(w, at) })
	default:
		for from := r.from; ; {
			end := min(r.packs, from+r.slots*size)
			i := int32(t.ThreadY())*size + rank
			for k := from + rank; k < end; k += size {
				asIs()
				at := uint64(uint32(k)) * 16
				*words(first + at) = do(&room[i], at)
				i += threads
			}
			if from == 0 {
				break
			}
			from -= r.slots * size
			r.start(from)
			r.team.wait()
		}
	}
	for i := int(rank); i < singles; i += int(size) {
		asIs()
		at := r.single(i)
		r.half.set(r.dst+at, one(r.half.at(r.src+at), at))
	}
}

func (r *twice[M]) exchange(v, none pair, combine func(p pair, width uint32) pair) pair {
	return r.team.exchange(v, none, combine)
}

func (r *twice[M]) pairs() bool { return r.team.pairs() }

// sample returns the mean of elements in the middle of the row. In a short row, it returns the first element.
func (r *twice[M]) sample() float32 {
	switch {
	case r.tail > 0:
		w := *words(r.src + uint64(r.head)<<r.half.log() + r.tail/2&^15)
		v := r.half.elements(&w)
		return (v[0] + v[1] + v[2] + v[3]) / 4
	case r.singles > 0:
		return r.half.at(r.src)
	}
	return 0
}

func (r *twice[M]) before() uint64 { return r.begin }
