package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	units "github.com/purecuda/cuda/ptx/kernels/internal/pack"
)

// columns are the addresses of operands with an element for each column, or 0.
type columns struct{ weight, bias uint64 }

func (c columns) present() bool { return c.weight|c.bias != 0 }

// bundled is a row of a bundle: up to 64 rows that follow each other without gaps. A warp copies a bundle to shared
// memory. One or four of its lanes compute each row there. If the rows are short, each lane has two, one after the other.
// Then the warp copies the results. Almost all accesses to global memory are packs, although few rows begin where a pack does.
//
// A lane visits 8 elements at a time, from the word with the first element on. The first and the last 8 may
// contain elements of other rows. Aligned rows of a multiple of 8 elements are accessed in packs of 16 bytes. These are
// exchanged within each 128 bytes. If the number of packs of a row is a power of two, those of a column are then in
// different banks.
type bundled struct {
	t        gpu.Thread
	half     Half
	columns  columns
	operands uint32 // number of the word of the operands of the first column
	distance uint32 // from the word of the weight to that of the bias of a column
	aligned  bool   // whether each 8 elements from the first on are whole packs
	word     uint32 // number of the first word
	odd      int32  // number of elements of the first word before the row
	length   int32  // number of elements of the row and before it
	complete uint32 // 8 elements are in the row if fewer than complete remain after them
}

// BundleSize returns the number of bytes of shared memory for a bundle of some rows of a number of bytes. The lane with
// the last row reads up to 28 bytes after it. The rows begin at any byte of a pack. The size is a multiple of 128, so that
// packs are exchanged within a bundle.
func BundleSize(row, rows uint64) uint64 { return (rows*row + (16 + 28) + 127) &^ 127 }

// columnsBefore is the number of columns before the first for which shared memory has operands, which are not used.
const columnsBefore = 4

// OperandsSize returns the number of bytes of shared memory for a block whose rows have a number of columns.
func OperandsSize(cols uint64) uint64 { return 2 * 4 * operandsOf(cols) }

// operandsOf returns the number of words for an operand, a multiple of 4. There are up to 7 columns after the last.
func operandsOf(cols uint64) uint64 { return (columnsBefore + cols + 7 + 3) &^ 3 }

// bundles calls the function do for the rows of the calling thread: two of each bundle if the launch has shared memory for
// that, and otherwise one. A thread may have fewer rows of the last bundle. BlockDimX is the number of lanes for a row, 1 or 4.
// Each warp of the launch must have dynamic shared memory for a bundle, and the block for the operands.
func bundles(t gpu.Thread, c columns, dst, src, rows, cols, dstPitch, srcPitch uint64, of Half, do func(r *bundled)) {
	half := of & 3
	log := half.log()
	halved := uint32(t.BlockDimX()) / 2 // the logarithm of the number of lanes for a row
	lane, warp, warps := uint32(t.Lane()), uint64(t.Warp()), uint64(t.BlockDimY())<<halved/gpu.WarpSize
	together := uint32(gpu.WarpSize) >> halved // number of rows at a time
	room := uint64(len(gpu.DynamicShared[uint32](t))) * 4
	if c.present() {
		room -= min(OperandsSize(cols), room)
	}
	each := uint64(2 * together)
	size := BundleSize(cols<<log, each)
	if warps*size > room {
		each = uint64(together)
		size = BundleSize(cols<<log, each)
	}
	if warps*size > room {
		panic("the rows are longer than those that the launch was prepared for")
	}
	// The rows of a bundle are a multiple of 16 bytes, so all bundles begin at the same place after a multiple of 16.
	start := uint32(warp*size + src%16)
	number := lane >> halved // of the row in the bundle
	at := start + number*uint32(cols)<<log
	r := bundled{
		t: t, half: half, columns: c, operands: uint32(warps*size)/4 + columnsBefore, distance: uint32(operandsOf(cols)),
		aligned: of&Odd == 0 && src%16 == 0 && cols%8 == 0, word: at / 4, odd: int32(at % 4 / 2), complete: uint32(max(int32(cols)-7, 0)),
	}
	r.copyColumns(uint32(cols))
	for row := (uint64(t.BlockX())*warps + warp) * each; row < rows; row += uint64(t.GridDimX()) * warps * each {
		asIs()
		count := uint32(min(rows-row, each))
		b := bundle{src + row*srcPitch<<log, srcPitch, count, uint32(cols), srcPitch == cols}
		r.copy(&b, start, false)
		t.CommitGroup()
		t.WaitGroup(0)
		t.SyncWarp()
		first := r.word
		for n := number; n < uint32(each); n += together {
			asIs()
			r.length = 0
			if n < count && cols != 0 {
				r.length = int32(cols) + r.odd
			}
			do(&r)
			r.word += together * uint32(cols) << log / 4
		}
		r.word = first
		t.SyncWarp()
		b.at, b.pitch, b.whole = dst+row*dstPitch<<log, dstPitch, dstPitch == cols && (dst^src)%16 == 0
		r.copy(&b, start, true)
		t.SyncWarp() // the next copies may overwrite what other lanes have read
	}
}

// copyColumns copies the operands to shared memory, as float32.
func (r *bundled) copyColumns(cols uint32) {
	if !r.columns.present() {
		return
	}
	t, log := r.t, r.half.log()
	size := uint32(t.BlockDimX())
	shared := gpu.DynamicShared[float32](t)[r.operands-columnsBefore:]
	for i := uint32(t.ThreadY())*size + uint32(t.ThreadX()); i < r.distance; i += size * uint32(t.BlockDimY()) {
		asIs()
		w, b := float32(1), math.Float32frombits(1<<31) // so that -0 stays -0
		if column := i - columnsBefore; column < cols {
			if r.columns.weight != 0 {
				w = r.half.at(r.columns.weight + uint64(column)<<log)
			}
			if r.columns.bias != 0 {
				b = r.half.at(r.columns.bias + uint64(column)<<log)
			}
		}
		shared[i], shared[r.distance+i] = w, b
	}
	t.Sync()
}

// bundle is the memory of a bundle.
type bundle struct {
	at         uint64 // address of the first row
	pitch      uint64
	rows, cols uint32
	whole      bool // whether the rows have no gaps, and the same place as in shared memory
}

// copy copies the rows of a bundle to shared memory, or back. start is the place of the first row there. If the
// rows are whole, only elements before the first pack and after the last are copied one by one, and otherwise all.
func (r *bundled) copy(b *bundle, start uint32, back bool) {
	lane, log := uint32(r.t.Lane()), r.half.log()
	n := b.rows * b.cols
	// Of "single" elements, those from head on are after the packs, which have "packed" elements.
	single, head, packed := min(b.cols, n), b.cols, uint32(0)
	if b.whole {
		before, per := uint32(b.at)%16>>log, 4-log // per is the logarithm of the number of elements of a pack
		head = min(-before&(1<<per-1), n)
		packed = (n - head) >> per << per
		single = n - packed
		k, end := (before+head)>>per, (before+head+packed)>>per
		k += lane
		for at := b.at&^15 + uint64(k)*16; k < end; k += gpu.WarpSize {
			asIs()
			from, room := words(at), r.pack(start/16+k)
			if back {
				*from = *room
			} else {
				gpu.CopyAsync(r.t, room, from)
			}
			at += gpu.WarpSize * 16
		}
	}
	first := uint32(0)
	for at := b.at; ; at += b.pitch << log {
		asIs()
		for i := lane; i < single; i += gpu.WarpSize {
			asIs()
			k := i
			if k >= head {
				k += packed
			}
			r.copyOne(at+uint64(k)<<log, start>>log+first+k, back)
		}
		if first += b.cols; first >= n || b.whole {
			break
		}
	}
}

// copyOne copies an element to its place in shared memory, or back.
func (r *bundled) copyOne(at uint64, place uint32, back bool) {
	if place = r.placeOf(place); r.half == F32 {
		copyEither(value[uint32](at), &gpu.DynamicShared[uint32](r.t)[place], back)
		return
	}
	copyEither(value[uint16](at), &gpu.DynamicShared[uint16](r.t)[place], back)
}

func copyEither[T uint16 | uint32](at, place *T, back bool) {
	if back {
		*at = *place
	} else {
		*place = *at
	}
}

// moved returns the place of a pack. Aligned packs are exchanged.
func (r *bundled) moved(k uint32) uint32 {
	if r.aligned {
		k ^= (k/8 + k/64) % 8
	}
	return k
}

// placeOf is moved for an element.
func (r *bundled) placeOf(place uint32) uint32 {
	per := 4 - r.half.log() // the logarithm of the number of elements of a pack
	return r.moved(place>>per)<<per + place&(1<<per-1)
}

func (r *bundled) pack(k uint32) *pack { return &gpu.DynamicShared[pack](r.t)[r.moved(k)] }

func (r *bundled) exchange(v, _ pair, combine func(p pair, width uint32) pair) pair {
	return combine(v, uint32(r.t.BlockDimX()))
}

// visit calls a function for each 8 elements of the thread, with the number of their first word, and of the elements of
// the row and before it that remain.
func (r *bundled) visit(do func(word uint32, left int32, v *eight)) {
	rank, lanes, log := int32(r.t.ThreadX()), int32(r.t.BlockDimX()), r.half.log()
	word := r.word + uint32(rank)<<(log+1)
	for left := r.length - 8*rank; left > 0; left -= 8 * lanes {
		asIs()
		v := r.fetch(word)
		do(word, left, &v)
		word += uint32(lanes) << (log + 1)
	}
}

// fetch returns 8 elements. The compiler must not join the words to a vector where that would be aligned: rows of a warp
// have different alignments.
func (r *bundled) fetch(word uint32) (v eight) {
	shared := gpu.DynamicShared[uint32](r.t)[word:]
	if r.half == F32 {
		if r.aligned {
			return F32.floats(r.pack(word/4), r.pack(word/4+1))
		}
		for i := range v {
			v[i] = math.Float32frombits(shared[i])
			apart()
		}
		return v
	}
	var w pack
	if r.aligned {
		w = *r.pack(word / 4)
	} else {
		for i := range w {
			w[i] = shared[i]
			apart()
		}
	}
	if r.half == BF16 {
		return BF16.floats(&w, nil)
	}
	return F16.floats(&w, nil)
}

// partial reports whether some of 8 elements are not in the row, if "left" remain.
func (r *bundled) partial(left int32) bool { return uint32(left-8) >= r.complete }

// only returns which of 8 elements are in the row, if "left" remain.
func (r *bundled) only(left int32) only {
	left = int32(units.Fresh(uint32(left))) // as this is rare
	o := every >> uint32(max(8-left, 0))
	if left == r.length {
		o &^= only(r.odd)
	}
	return o
}

// apart keeps the compiler from joining accesses before and after it.
func apart() { asIs() }

// run calls do for each 8 elements of the thread, and then turn. If turn returns true, it repeats that. Then run calls
// last for each 8 elements, and stores what it has made of them.
func (r *bundled) run(begin func(), do func(v *eight, m mask), turn func() (again bool), last func(v *eight)) {
	begin()
	for again := true; again; again = turn() {
		asIs()
		r.visit(func(_ uint32, left int32, v *eight) {
			do(v, func(v *eight, none float32) {
				if r.partial(left) {
					r.only(left).of(v, none)
				}
			})
		})
	}
	r.visit(func(word uint32, left int32, v *eight) {
		last(v)
		if r.columns.present() {
			r.multiply(v, uint32(r.length-left-r.odd))
		}
		r.put(word, left, v)
	})
}

// multiply multiplies with the weights and adds the biases from a column on.
func (r *bundled) multiply(v *eight, column uint32) {
	if r.aligned {
		packs := gpu.DynamicShared[pack](r.t)[(r.operands+column)/4:]
		w, b := F32.floats(&packs[0], &packs[1]), F32.floats(&packs[r.distance/4], &packs[r.distance/4+1])
		for i := range v {
			v[i] = gpu.FMA(v[i], w[i], b[i])
		}
		return
	}
	w := gpu.DynamicShared[float32](r.t)[r.operands+column:]
	b := w[r.distance:]
	for i := range v {
		v[i] = gpu.FMA(v[i], w[i], b[i])
	}
}

// put stores those of 8 elements that are in the row.
func (r *bundled) put(word uint32, left int32, v *eight) {
	if r.half == F32 {
		if r.aligned {
			first, second := r.pack(word/4), r.pack(word/4+1)
			for i := range first {
				first[i], second[i] = math.Float32bits(v[i]), math.Float32bits(v[i+4])
			}
			return
		}
		o := r.only(left)
		shared := gpu.DynamicShared[float32](r.t)[word:]
		for i, x := range v {
			if o.has(i) {
				shared[i] = x
			}
		}
		return
	}
	w := r.half.halves(v)
	switch {
	case r.aligned:
		*r.pack(word / 4) = w
	case !r.partial(left):
		shared := gpu.DynamicShared[uint32](r.t)[word:]
		for i := range w {
			shared[i] = w[i]
			apart()
		}
	default:
		o := r.only(left)
		shared := gpu.DynamicShared[uint16](r.t)[2*word:]
		for i := range v {
			if o.has(i) {
				shared[i] = uint16(w[i/2] >> (i % 2 * 16))
			}
		}
	}
}

// sample returns the mean of 8 elements in the middle of the row. In a short row, it returns the first element.
func (r *bundled) sample() float32 {
	n := r.length - r.odd
	switch {
	case n <= 0:
		return 0
	case n < 16:
		return r.shared(r.word<<(2-r.half.log()) + uint32(r.odd))
	}
	v := r.fetch(r.word + uint32(n)/16*4*r.half.log()) // a whole number of packs
	return (v[0] + v[4] + (v[2] + v[6]) + (v[1] + v[5] + (v[3] + v[7]))) / 8
}

// shared returns the element at a place in shared memory, which counts elements.
func (r *bundled) shared(place uint32) float32 {
	if place = r.placeOf(place); r.half == F32 {
		return gpu.DynamicShared[float32](r.t)[place]
	}
	return halfOf(r.half, gpu.DynamicShared[uint16](r.t)[place])
}
