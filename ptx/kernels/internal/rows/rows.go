// Package rows is for kernels that process the rows of a matrix.
//
// A team of threads shares a row. A row is divided into packs, which begin at multiples of 16 bytes,
// and single elements before the first and after the last pack. Rows can therefore begin at any
// element, and rows of odd lengths, each of which has another alignment, are read in the same way as
// others.
//
// Kernels receive memory as addresses, because the same memory is accessed as elements and as packs.
// Package kernels has checked the extents before a launch. The kernels are therefore compiled without
// checks of indices and of alignment. In tests, the emulator finds accesses outside of buffers.
package rows

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// Element lists the element types of rows. The bits of uint16 are those of a Half.
type Element interface {
	int32 | int64 | uint16 | float32
}

// Float lists the element types of rows that are computed in float32.
type Float interface{ uint16 | float32 }

// Half is a type of floats that are computed in float32. Kernels get it as an argument, which is a constant when the driver
// compiles them: see package variant. Branches on it therefore take no time.
type Half uint32

// The types of 16 bits. F32 follows.
const (
	F16 Half = iota
	BF16
)

// Size returns the size of T in bytes.
func Size[T Element]() int {
	var v T
	switch any(v).(type) {
	case uint16:
		return 2
	case int32, float32:
		return 4
	}
	return 8
}

// pack holds the 16 bytes of a pack.
type pack [4]uint32

// loadBefore returns the pack at an address, of which elements from the address end on are 0: the
// allocation may end there. This is for one pack of a matrix, and short rather than fast.
func loadBefore(at, end uint64) (w pack) {
	for after := at + 16; at < after; at += 4 {
		asIs()
		w = pack{w[1], w[2], w[3], 0}
		switch {
		case at+4 <= end:
			w[3] = *value[uint32](at)
		case at < end:
			w[3] = uint32(*value[uint16](at))
		}
	}
	return w
}

// asIs keeps the compiler from unrolling the loop around it. Loops over single elements seldom have more
// than one iteration, and loops over packs load ahead themselves.
func asIs() {
	if gpu.Device() {
		gpu.PTX("")
	}
}

// words returns the pack at an address.
func words(at uint64) *pack { return (*pack)(gpu.ViewAt[uint32](at, 4).Slice()) }

// value returns the element at an address.
func value[T any](at uint64) *T { return gpu.ViewAt[T](at, 1).Ptr(0) }

func halfOf(h Half, bits uint16) float32 {
	if h == BF16 {
		return math.Float32frombits(uint32(bits) << 16)
	}
	return num.F16FromBits(bits).Float32()
}

// round rounds v to an element of 16 bits.
func (h Half) round(v float32) uint16 {
	if h == BF16 {
		return num.ToBF16(v).Bits()
	}
	return num.ToF16(v).Bits()
}

// floats returns the elements of a pack, of which there are 16/Size[T]().
func floats[T Float](h Half, w *pack) (v [8]float32) {
	switch {
	case Size[T]() == 4:
		for i := range w {
			v[i] = math.Float32frombits(w[i])
		}
	case h == BF16:
		for i := range w {
			v[2*i] = math.Float32frombits(w[i] << 16)
			v[2*i+1] = math.Float32frombits(w[i] &^ 0xffff)
		}
	default:
		for i := range w {
			v[2*i] = num.F16FromBits(uint16(w[i])).Float32()
			v[2*i+1] = num.F16FromBits(uint16(w[i] >> 16)).Float32()
		}
	}
	return v
}
