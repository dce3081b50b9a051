package rows

import "github.com/purecuda/cuda/ptx/gpu"

// bundled is a row of a bundle: up to 32 rows that follow each other without gaps. A warp copies a bundle to shared
// memory. One or two of its lanes compute each row there. Then the warp copies the results to the destination. Almost all
// accesses to global memory are packs, although few rows begin at a multiple of 16 bytes.
//
// A row of a bundle has packs of 8 bytes, which begin at multiples of 4 bytes. Rows of whole packs of 16 bytes have
// those. They are exchanged within each 128 bytes, so that packs of a column are in different banks.
type bundled struct {
	t       gpu.Thread
	half    Half
	aligned bool   // whether packs have 16 bytes, not for F32
	place   uint32 // of the first element
	word    uint32 // number of the first word of the packs, or of the first pack if they are aligned
	head    uint32 // number of elements before the packs
	packs   uint32
	singles uint32
}

// BundleSize returns the number of bytes of shared memory for each warp if "lanes" lanes have a row of a number of
// bytes.
func BundleSize(row, lanes uint64) uint64 { return (gpu.WarpSize/lanes*row + 31) &^ 15 }

// bundles calls the function do for the rows of the calling thread, one in each bundle. A thread may have no
// row in the last one. BlockDimX is the number of lanes for a row, 1 or 2. Each warp of the launch must have dynamic
// shared memory for a bundle. With whole, rows of whole packs of 16 bytes are faster.
func bundles(t gpu.Thread, whole bool, dst, src, rows, cols, dstPitch, srcPitch uint64, half Half, do func(r *bundled)) {
	log := half.log()
	halved := uint32(t.BlockDimX()) - 1 // the logarithm of the number of lanes for a row
	lane, warp, warps, each := uint32(t.Lane()), uint64(t.Warp()), uint64(t.BlockDimY())<<halved/gpu.WarpSize, uint64(gpu.WarpSize)>>halved
	size := (each*cols<<log + 31) &^ 15 // see BundleSize
	if warps*size > uint64(len(gpu.DynamicShared[uint32](t)))*4 {
		panic("the rows are longer than those that the launch was prepared for")
	}
	// The rows of a bundle are a multiple of 16 bytes, so all bundles begin at the same place after a multiple of 16.
	start := uint32(warp*size + src%16)
	first, length := start>>log, uint32(cols)
	number := lane >> halved // of the row in the bundle
	at := start + number*length<<log
	r := bundled{t: t, half: half, aligned: whole && half != F32 && (src|cols<<log)%16 == 0, place: at >> log, word: (at + 3) / 4, head: at % 4 / 2}
	per := 3 - log // logarithm of the number of elements of a pack
	if r.aligned {
		r.word = at / 16
		per++
	}
	count := (length - r.head) >> per
	for row := (uint64(t.BlockX())*warps + warp) * each; row < rows; row += uint64(t.GridDimX()) * warps * each {
		asIs()
		b := bundle{src + row*srcPitch<<log, srcPitch, uint32(min(rows-row, each)), length, log}
		b.each(lane, srcPitch == cols, func(k uint32, at uint64) {
			gpu.CopyAsync(t, r.pack(start/16+k), words(at))
		}, func(i uint32, at uint64) {
			if i = r.element(first + i); half == F32 {
				gpu.DynamicShared[uint32](t)[i] = *value[uint32](at)
			} else {
				gpu.DynamicShared[uint16](t)[i] = *value[uint16](at)
			}
		})
		t.CommitGroup()
		t.WaitGroup(0)
		t.SyncWarp()
		r.packs, r.singles = count, length-count<<per
		if number >= b.rows {
			r.packs, r.singles = 0, 0
		}
		do(&r)
		t.SyncWarp()
		b.at, b.pitch = dst+row*dstPitch<<log, dstPitch
		b.each(lane, dstPitch == cols && (dst^src)%16 == 0, func(k uint32, at uint64) {
			*words(at) = *r.pack(start/16 + k)
		}, func(i uint32, at uint64) {
			if i = r.element(first + i); half == F32 {
				*value[uint32](at) = gpu.DynamicShared[uint32](t)[i]
			} else {
				*value[uint16](at) = gpu.DynamicShared[uint16](t)[i]
			}
		})
		t.SyncWarp() // the next copies overwrite what other lanes read
	}
}

// moved returns the place of a pack. Aligned packs are exchanged.
func (r *bundled) moved(k uint32) uint32 {
	if r.aligned {
		k ^= k / 8 % 8
	}
	return k
}

func (r *bundled) pack(k uint32) *pack { return &gpu.DynamicShared[pack](r.t)[r.moved(k)] }

// element returns the place of an element.
func (r *bundled) element(i uint32) uint32 {
	per := 4 - r.half.log()
	return r.moved(i>>per)<<per + i&(1<<per-1)
}

// bundle is the memory of a bundle.
type bundle struct {
	at         uint64 // address of the first row
	pitch      uint64
	rows, cols uint32
	log        uint32 // of the size of an element
}

// each calls a function for each of a lane's packs of 16 bytes and single elements, with its place in shared memory
// and its address. The places of packs count from the multiple of 16 before the bundle. If whole is false, the rows
// have gaps, or packs do not have the same place as in shared memory. All elements are then single.
func (b *bundle) each(lane uint32, whole bool, do, one func(place uint32, at uint64)) {
	// The single elements of a row, or before the packs, are those from begin to end. "after" is where the next begin.
	n := b.rows * b.cols
	begin, end, after, length, gap := uint32(0), min(b.cols, n), b.cols, b.cols, (b.pitch-uint64(b.cols))<<b.log
	if whole {
		before, per := uint32(b.at)%16>>b.log, 4-b.log // per is the logarithm of the number of elements of a pack
		end = min(-before&(1<<per-1), n)
		after = (n-end)>>per<<per + end
		length, gap = n-after, 0
		for k := (before+end)>>per + lane; k < (before+after)>>per; k += gpu.WarpSize {
			asIs()
			do(k, b.at&^15+uint64(k)*16)
		}
	}
	for at := b.at; ; at += gap {
		asIs()
		for i := begin + lane; i < end; i += gpu.WarpSize {
			asIs()
			one(i, at+uint64(i)<<b.log)
		}
		if begin, end = after, after+length; end > n || length == 0 {
			break
		}
		after = end
	}
}

func (r *bundled) exchange(v, _ pair, combine func(p pair, width uint32) pair) pair {
	return combine(v, uint32(r.t.BlockDimX()))
}

func (r *bundled) pairs() bool { return true }

// single returns the number of elements before single element i.
func (r *bundled) single(i uint32) uint32 {
	if i >= r.head {
		i += r.packs << (3 - r.half.log()) // only packs of 8 bytes have singles
	}
	return i
}

// sized calls a function for the size of the type and of the packs.
func (r *bundled) sized(do func(sized)) {
	switch {
	case r.half == F32:
		do(sized{wide: true, short: true})
	case r.aligned:
		do(sized{half: r.half})
	default:
		do(sized{half: r.half, short: true})
	}
}

// fetch returns a pack. The compiler must not join the words to a vector where that would be aligned: rows of a warp
// have different alignments.
func (r *bundled) fetch(s sized, k uint32) (w pack) {
	if !s.short {
		return *r.pack(r.word + k)
	}
	words := gpu.DynamicShared[uint32](r.t)[r.word+2*k:]
	w[0] = words[0]
	apart()
	w[1] = words[1]
	return w
}

func (r *bundled) put(s sized, k uint32, w pack) {
	if !s.short {
		*r.pack(r.word + k) = w
		return
	}
	words := gpu.DynamicShared[uint32](r.t)[r.word+2*k:]
	words[0] = w[0]
	apart()
	words[1] = w[1]
}

// apart keeps the compiler from joining accesses before and after it.
func apart() { asIs() }

func (r *bundled) before() uint64 { return uint64(r.head) * 2 }

// sample returns elements from the middle of the row. In a short row, it repeats the first element.
func (r *bundled) sample() (w pack) {
	if r.packs < 2 {
		first := r.element(r.place)
		if r.half == F32 {
			return repeatedWord(gpu.DynamicShared[uint32](r.t)[first])
		}
		return repeatedWord(uint32(gpu.DynamicShared[uint16](r.t)[first]) * 0x10001)
	}
	r.sized(func(s sized) {
		w = r.fetch(s, r.packs/2)
		if s.wide {
			v := r.fetch(s, r.packs/2-1)
			w[2], w[3] = v[0], v[1]
		}
	})
	return w
}

func (r *bundled) forth(begin func(), one func(x float32), do func(s sized, w *pack)) {
	begin()
	for i := uint32(r.t.ThreadX()); i < r.singles; i += uint32(r.t.BlockDimX()) {
		asIs()
		one(r.half.shared(r.t, r.place+r.single(i)))
	}
	r.sized(func(s sized) {
		for k := uint32(r.t.ThreadX()); k < r.packs; k += uint32(r.t.BlockDimX()) {
			asIs()
			w := r.fetch(s, k)
			do(s, &w)
		}
	})
}

// load returns elements that may begin anywhere.
func (r *bundled) load(s sized, column uint64) (w pack) {
	switch {
	case s.wide:
		return pack{*value[uint32](column), *value[uint32](column + 4)}
	case s.short:
		for i := range 2 {
			w[i] = uint32(*value[uint16](column + uint64(4*i))) | uint32(*value[uint16](column + uint64(4*i+2)))<<16
		}
		return w
	}
	return loadAny[uint16](column)
}

// shift returns the logarithm of the size of a pack.
func (r *bundled) shift(s sized) uint32 {
	if s.short {
		return 3
	}
	return 4
}

func (r *bundled) back(_ bool, one func(x float32, at uint64) float32, do func(s sized, w *pack, at uint64) pack) {
	r.sized(func(s sized) {
		for k := uint32(r.t.ThreadX()); k < r.packs; k += uint32(r.t.BlockDimX()) {
			asIs()
			w := r.fetch(s, k)
			r.put(s, k, do(s, &w, uint64(k<<r.shift(s))))
		}
	})
	for i := uint32(r.t.ThreadX()); i < r.singles; i += uint32(r.t.BlockDimX()) {
		asIs()
		s := r.single(i)
		r.half.setShared(r.t, r.place+s, one(r.half.shared(r.t, r.place+s), uint64(s)<<r.half.log()))
	}
}
