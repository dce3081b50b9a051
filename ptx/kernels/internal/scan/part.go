package scan

import "github.com/purecuda/cuda/ptx/gpu"

// part is the shared memory of a warp, which holds warpTile elements. It moves packs of 16 bytes.
// The packs of a lane follow each other, but their places are exchanged so that neither lanes that
// access neighbouring packs nor lanes that access their own ones use the same banks.
type part[T Number] struct{ x []T }

// perPack returns the number of elements of a pack.
func perPack[T Number]() uint32 { return 16 / uint32(size[T]()) }

// units returns the number of packs of a lane.
func units[T Number]() uint32 { return Each / perPack[T]() }

// place returns the index of the first element of a pack.
func place[T Number](pack uint32) uint32 {
	return (pack ^ pack/8%units[T]()) * perPack[T]()
}

// own returns the index of the first element of pack u of the lane. The upper bits of the pack's number do not
// depend on u, so only u differs between the packs of a lane.
func own[T Number](t gpu.Thread, u uint32) uint32 {
	first := uint32(t.Lane()) * units[T]()
	return (first ^ first/8%units[T]() ^ u) * perPack[T]()
}

// neighbor returns the index of the first element of pack j*32+lane. The packs with the same number j modulo
// units/4 have the same exchanges.
func neighbor[T Number](t gpu.Thread, j uint32) uint32 {
	kinds := units[T]() / 4
	return place[T](j%kinds*gpu.WarpSize+uint32(t.Lane())) + j/kinds*kinds*gpu.WarpSize*perPack[T]()
}

// element returns the address of element i.
func (p part[T]) element(i uint32) *T {
	return &p.x[place[T](i/perPack[T]())+i%perPack[T]()]
}

// packAt returns the elements of the pack that begins at index i.
func packAt[T Number](x []T, i uint32) (v [4]T) {
	if perPack[T]() == 4 {
		return *(*[4]T)(x[i:])
	}
	w := *(*[2]T)(x[i:])
	v[0], v[1] = w[0], w[1]
	return v
}

func setPackAt[T Number](x []T, i uint32, v [4]T) {
	if perPack[T]() == 4 {
		*(*[4]T)(x[i:]) = v
	} else {
		*(*[2]T)(x[i:]) = [2]T(v[:2])
	}
}

// load loads the elements of x from first on. Elements after the last one are 0. full says that
// there are enough elements, and that packs begin at multiples of 16 bytes.
func (p part[T]) load(t gpu.Thread, x []T, first int, full bool) {
	lane := uint32(t.Lane())
	if full {
		var v [8][4]T // all loads begin before the first store
		for j := range units[T]() {
			v[j] = packAt(x[first:], (j*gpu.WarpSize+lane)*perPack[T]())
		}
		for j := range units[T]() {
			setPackAt(p.x, neighbor[T](t, j), v[j])
		}
		return
	}
	//gpu:unroll 1
	for j := range uint32(Each) {
		var v T
		i := j*gpu.WarpSize + lane
		if at := first + int(i); at < len(x) {
			v = x[at]
		}
		*p.element(i) = v
	}
}

// store is the opposite of load.
func (p part[T]) store(t gpu.Thread, x []T, first int, full bool) {
	lane := uint32(t.Lane())
	if full {
		for j := range units[T]() {
			pack := j*gpu.WarpSize + lane
			setPackAt(x[first:], pack*perPack[T](), packAt(p.x, neighbor[T](t, j)))
		}
		return
	}
	//gpu:unroll 1
	for j := range uint32(Each) {
		i := j*gpu.WarpSize + lane
		if at := first + int(i); at < len(x) {
			x[at] = *p.element(i)
		}
	}
}
