package rows

import "github.com/purecuda/cuda/ptx/gpu"

// bundled is a row of a bundle: up to 32 rows that follow each other without gaps. A warp copies a bundle to
// shared memory, each of its lanes computes one row there, and the warp copies the results to the destination.
// Almost all accesses to global memory are then packs, although few rows begin at a multiple of 16 bytes.
//
// A row of a bundle has packs of two words, which begin at multiples of 4 bytes.
type bundled[T Float] struct {
	half     Half
	elements []T      // from the first element on
	words    []uint32 // from the first pack on
	head     uint32   // number of elements before the packs
	packs    uint32
	singles  uint32
}

// BundleSize returns the number of bytes of shared memory for each warp with rows of a number of bytes.
func BundleSize(row uint64) uint64 { return (gpu.WarpSize*row + 31) &^ 15 }

// bundles calls the function do for the rows of the calling thread, one in each bundle. A thread may have no
// row in the last one. Each warp of the launch must have dynamic shared memory for a bundle.
func bundles[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, half Half, do func(r *bundled[T])) {
	size := BundleSize(cols * uint64(Size[T]()))
	lane, warp, warps := uint32(t.Lane()), uint64(t.Warp()), uint64(t.BlockDimY())/gpu.WarpSize
	if warps*size > uint64(len(gpu.DynamicShared[uint32](t)))*4 {
		panic("the rows are longer than those that the launch was prepared for")
	}
	// The first 32 rows are a multiple of 16 bytes, so all bundles begin at the same place after a multiple of 16.
	start := uint32(warp*size + src%16)
	packs, elements := gpu.DynamicShared[pack](t)[warp*size/16:], gpu.DynamicShared[T](t)[start/uint32(Size[T]()):]
	length := uint32(cols)
	place := start + lane*length*uint32(Size[T]())
	r := bundled[T]{half: half, elements: elements[lane*length:], words: gpu.DynamicShared[uint32](t)[(place+3)/4:], head: place % 4 / 2}
	count := (length - r.head) / uint32(r.each())
	for first := (uint64(t.BlockX())*warps + warp) * gpu.WarpSize; first < rows; first += uint64(t.GridDimX()) * warps * gpu.WarpSize {
		asIs()
		b := bundle[T]{src + first*srcPitch*uint64(Size[T]()), srcPitch, uint32(min(rows-first, gpu.WarpSize)), length}
		b.each(lane, srcPitch == cols, func(k uint32, at uint64) {
			gpu.CopyAsync(t, &packs[k], words(at))
		}, func(i uint32, at uint64) {
			elements[i] = *value[T](at)
		})
		t.CommitGroup()
		t.WaitGroup(0)
		t.SyncWarp()
		r.packs, r.singles = count, length-count*uint32(r.each())
		if lane >= b.rows {
			r.packs, r.singles = 0, 0
		}
		do(&r)
		t.SyncWarp()
		b.at, b.pitch = dst+first*dstPitch*uint64(Size[T]()), dstPitch
		b.each(lane, dstPitch == cols && (dst^src)%16 == 0, func(k uint32, at uint64) {
			*words(at) = packs[k]
		}, func(i uint32, at uint64) {
			*value[T](at) = elements[i]
		})
		t.SyncWarp() // the next copies overwrite what other lanes read
	}
}

// bundle is the memory of a bundle.
type bundle[T Float] struct {
	at         uint64 // address of the first row
	pitch      uint64
	rows, cols uint32
}

// each calls a function for each of a lane's packs of 16 bytes and single elements, with its place in shared memory
// and its address. The places of packs count from the multiple of 16 before the bundle. If whole is false, the rows
// have gaps, or packs do not have the same place as in shared memory. All elements are then single.
func (b *bundle[T]) each(lane uint32, whole bool, do, one func(place uint32, at uint64)) {
	size, per := uint32(Size[T]()), uint32(perPack[T]())
	// The single elements of a row, or before the packs, are those from begin to end. "after" is where the next begin.
	n := b.rows * b.cols
	begin, end, after, length, gap := uint32(0), min(b.cols, n), b.cols, b.cols, (b.pitch-uint64(b.cols))*uint64(size)
	if whole {
		before := uint32(b.at) % 16 / size
		end = min(-before%per, n)
		after = (n-end)/per*per + end
		length, gap = n-after, 0
		for k := (before+end)/per + lane; k < (before+after)/per; k += gpu.WarpSize {
			asIs()
			do(k, b.at&^15+uint64(k)*16)
		}
	}
	for at := b.at; ; at += gap {
		asIs()
		for i := begin + lane; i < end; i += gpu.WarpSize {
			asIs()
			one(i, at+uint64(i)*uint64(size))
		}
		if begin, end = after, after+length; end > n || length == 0 {
			break
		}
		after = end
	}
}

// exchange does nothing, because a thread has its row for itself.
func (r *bundled[T]) exchange(v, _ pair, _ func(p pair, width uint32) pair) pair { return v }

func (r *bundled[T]) pairs() bool { return true }

func (r *bundled[T]) each() int { return 8 / Size[T]() }

// single returns the index of single element i.
func (r *bundled[T]) single(i uint32) uint32 {
	if i >= r.head {
		i += r.packs * uint32(r.each())
	}
	return i
}

// word returns a word of the packs. The compiler must not join words to a vector where that would be aligned: rows
// of a warp have different alignments.
func (r *bundled[T]) word(i uint32) uint32 {
	asIs()
	return r.words[i]
}

func (r *bundled[T]) before() uint64 { return uint64(r.head) * uint64(Size[T]()) }

// sample returns four words from the middle of the row. In a short row, it repeats the first element.
func (r *bundled[T]) sample() pack {
	if i := r.packs &^ 1; r.packs >= 2 {
		return pack{r.word(i - 2), r.word(i - 1), r.word(i), r.word(i + 1)}
	}
	return repeated(r.elements[0])
}

func (r *bundled[T]) forth(begin func(), one func(x float32), do func(w *pack)) {
	begin()
	for i := uint32(0); i < r.singles; i++ {
		asIs()
		one(floatFrom(r.half, r.elements[r.single(i)]))
	}
	for k := uint32(0); k < r.packs; k++ {
		asIs()
		do(&pack{r.word(2 * k), r.word(2*k + 1)})
	}
}

// load returns elements that may begin anywhere.
func (r *bundled[T]) load(column uint64) (w pack) {
	if Size[T]() == 4 {
		return pack{*value[uint32](column), *value[uint32](column + 4)}
	}
	for i := range 2 {
		w[i] = uint32(*value[uint16](column + uint64(4*i))) | uint32(*value[uint16](column + uint64(4*i+2)))<<16
	}
	return w
}

func (r *bundled[T]) back(_ [2]uint64, one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack) {
	for k := uint32(0); k < r.packs; k++ {
		asIs()
		w := do(&pack{r.word(2 * k), r.word(2*k + 1)}, uint64(k)*8)
		r.words[2*k] = w[0]
		asIs()
		r.words[2*k+1] = w[1]
	}
	for i := uint32(0); i < r.singles; i++ {
		asIs()
		s := r.single(i)
		r.elements[s] = roundTo[T](r.half, one(floatFrom(r.half, r.elements[s]), uint64(s)*uint64(Size[T]())))
	}
}
