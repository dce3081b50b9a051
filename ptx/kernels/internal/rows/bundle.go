package rows

import "github.com/purecuda/cuda/ptx/gpu"

// bundled is a row of a bundle: up to 32 rows that follow each other without gaps. A warp copies a bundle to
// shared memory, each of its lanes computes one row there, and the warp copies the results to the destination.
// Almost all accesses to global memory are then packs, although few rows begin at a multiple of 16 bytes.
//
// A row of a bundle has packs, too. They begin at multiples of 4 bytes.
type bundled[T Float] struct {
	half     Half
	elements []T      // from the first element on
	words    []uint32 // from the first pack on
	head     int      // number of elements before the packs
	packs    int
	singles  int
}

// BundleSize returns the number of bytes of shared memory for each warp with rows of a number of bytes.
func BundleSize(row uint64) uint64 { return (gpu.WarpSize*row + 31) &^ 15 }

// bundles calls the function do for the rows of the calling thread, one in each bundle. A thread may have no
// row in the last one. Each warp of the launch must have dynamic shared memory for a bundle.
func bundles[T Float](t gpu.Thread, dst, src, rows, cols, dstPitch, srcPitch uint64, half Half, do func(r *bundled[T])) {
	row, size := cols*uint64(Size[T]()), BundleSize(cols*uint64(Size[T]()))
	room := gpu.DynamicShared[uint32](t)
	lane, warp, warps := t.Lane(), uint64(t.Warp()), uint64(t.BlockDimY())/gpu.WarpSize
	if warps*size > uint64(len(room))*4 {
		panic("the rows are longer than those that the launch was prepared for")
	}
	// The first 32 rows are a multiple of 16 bytes, so all bundles begin at the same place after a multiple of 16.
	start := warp*size + src%16
	packs, elements := gpu.DynamicShared[pack](t)[warp*size/16:], gpu.DynamicShared[T](t)[start/uint64(Size[T]()):]
	place := start + uint64(lane)*row
	r := bundled[T]{half: half, elements: elements[lane*int(cols):], words: room[(place+3)/4:], head: int(place % 4 / 2)}
	count := (int(cols) - r.head) / perPack[T]()
	for first := (uint64(t.BlockX())*warps + warp) * gpu.WarpSize; first < rows; first += uint64(t.GridDimX()) * warps * gpu.WarpSize {
		asIs()
		b := bundle[T]{src + first*srcPitch*uint64(Size[T]()), srcPitch, int(min(rows-first, gpu.WarpSize)), int(cols)}
		b.each(lane, srcPitch == cols, func(k int, at uint64) {
			gpu.CopyAsync(t, &packs[k], words(at))
		}, func(i int, at uint64) {
			elements[i] = *value[T](at)
		})
		t.CommitGroup()
		t.WaitGroup(0)
		t.SyncWarp()
		r.packs, r.singles = count, int(cols)-count*perPack[T]()
		if lane >= b.rows {
			r.packs, r.singles = 0, 0
		}
		do(&r)
		t.SyncWarp()
		b.at, b.pitch = dst+first*dstPitch*uint64(Size[T]()), dstPitch
		b.each(lane, dstPitch == cols && (dst^src)%16 == 0, func(k int, at uint64) {
			*words(at) = packs[k]
		}, func(i int, at uint64) {
			*value[T](at) = elements[i]
		})
		t.SyncWarp() // the next copies overwrite what other lanes read
	}
}

// bundle is the memory of a bundle.
type bundle[T Float] struct {
	at         uint64 // address of the first row
	pitch      uint64
	rows, cols int
}

// each calls a function for each of a lane's packs and single elements, with its place in shared memory and
// its address. The places of packs count from the multiple of 16 before the bundle. If whole is false, the rows
// have gaps, or packs do not have the same place as in shared memory. All elements are then single.
func (b *bundle[T]) each(lane int, whole bool, do, one func(place int, at uint64)) {
	size := uint64(Size[T]())
	if !whole {
		for r := range b.rows {
			asIs()
			for i := lane; i < b.cols; i += gpu.WarpSize {
				asIs()
				one(r*b.cols+i, b.at+(uint64(r)*b.pitch+uint64(i))*size)
			}
		}
		return
	}
	n := b.rows * b.cols
	before := int(b.at%16) / Size[T]()
	packs := (before + n) / perPack[T]() // the end of the packs
	for k := lane + (before+perPack[T]()-1)/perPack[T](); k < packs; k += gpu.WarpSize {
		asIs()
		do(k, b.at&^15+uint64(k)*16)
	}
	// There are at most 7 single elements on each side. The first 8 lanes have those before the packs.
	i, end := lane, min(-before&(perPack[T]()-1), n)
	if lane >= 8 {
		i, end = max(packs*perPack[T]()-before, end)+lane-8, n
	}
	if i < end {
		one(i, b.at+uint64(i)*size)
	}
}

// exchange does nothing, because a thread has its row for itself.
func (r *bundled[T]) exchange(v, _ pair, _ func(p pair, width uint32) pair) pair { return v }

func (r *bundled[T]) pairs() bool { return true }

// single returns the index of single element i.
func (r *bundled[T]) single(i int) int {
	if i >= r.head {
		i += r.packs * perPack[T]()
	}
	return i
}

// fetch returns a pack. The compiler must not join its words to a vector where that would be aligned: rows of a
// warp have different alignments.
func (r *bundled[T]) fetch(k int) (w pack) {
	w[0] = r.words[4*k]
	apart()
	w[1] = r.words[4*k+1]
	apart()
	w[2] = r.words[4*k+2]
	apart()
	w[3] = r.words[4*k+3]
	return w
}

func (r *bundled[T]) store(k int, w pack) {
	r.words[4*k] = w[0]
	apart()
	r.words[4*k+1] = w[1]
	apart()
	r.words[4*k+2] = w[2]
	apart()
	r.words[4*k+3] = w[3]
}

// apart keeps the compiler from joining accesses before and after it.
func apart() { asIs() }

func (r *bundled[T]) before() uint64 { return uint64(r.head * Size[T]()) }

// sample returns a pack from the middle of the row. In a short row, it repeats the first element.
func (r *bundled[T]) sample() pack {
	if r.packs > 0 {
		return r.fetch(r.packs / 2)
	}
	return repeated(r.elements[0])
}

func (r *bundled[T]) forth(begin func(), one func(x float32), do func(w *pack)) {
	begin()
	for i := range r.singles {
		asIs()
		one(floatFrom(r.half, r.elements[r.single(i)]))
	}
	for k := range r.packs {
		asIs()
		w := r.fetch(k)
		do(&w)
	}
}

// load may return a pack that begins at any element.
func (r *bundled[T]) load(column uint64) pack { return loadAny[T](column) }

func (r *bundled[T]) back(_ [2]uint64, one func(x float32, at uint64) float32, do func(w *pack, at uint64) pack) {
	for k := range r.packs {
		asIs()
		w := r.fetch(k)
		r.store(k, do(&w, uint64(k*16)))
	}
	for i := range r.singles {
		asIs()
		s := r.single(i)
		r.elements[s] = roundTo[T](r.half, one(floatFrom(r.half, r.elements[s]), uint64(s*Size[T]())))
	}
}
