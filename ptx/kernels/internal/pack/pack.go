// Package pack is for elementwise kernels. It divides arrays into packs, which a thread loads and
// stores with accesses of up to 16 bytes.
//
// The packs follow the alignment of the destination, which can begin at any element. The first and
// the last pack may be incomplete. A source with another alignment is loaded element by element.
//
// Elements are moved as unsigned integers of their size. Kernels receive memory as addresses, because
// the same memory is accessed as elements and as vectors. Package kernels has checked the lengths
// before a launch. The kernels are therefore compiled without checks of indices and of alignment. In
// tests, the emulator finds accesses outside of buffers.
package pack

//lint:file-ignore SA4006,SA4008 staticcheck takes Rolled for a function that never returns, as on the host

import (
	"math/bits"

	"github.com/purecuda/cuda/ptx/gpu"
)

// Bits lists the types as which elements are moved.
type Bits interface {
	uint8 | uint16 | uint32 | uint64
}

// Size returns the size of B in bytes.
func Size[B Bits]() int {
	var b B
	switch any(b).(type) {
	case uint8:
		return 1
	case uint16:
		return 2
	case uint32:
		return 4
	}
	return 8
}

// Full returns the number of elements in 16 bytes.
func Full[B Bits]() int { return 16 / Size[B]() }

// Part is a pack: elements of an array, from First on. First is negative in a pack that begins before the
// array.
type Part struct {
	First    int
	Complete bool // the array has all elements of the pack
	n        int  // number of elements of the array
	each     int32
}

// Range returns the part of the pack that is in the array: its elements from low to high-1. Low is high only if the
// array is empty.
func (p *Part) Range() (low, high int32) {
	return int32(max(-p.First, 0)), int32(min(p.n-p.First, int(p.each)))
}

// Elements holds the elements of a pack.
type Elements[B Bits] [16]B

// Each calls the function do for the packs of the calling thread. dst is the address of an array of
// n elements of type B, and each is the number of elements of a pack, a power of two.
func Each[B Bits](t gpu.Thread, dst, n uint64, each int, do func(Part)) {
	EachOf(t, dst, n, each, uint32(bits.TrailingZeros32(uint32(Size[B]()))), do)
}

// EachOf is Each for elements whose size is not a constant. It is 1 << log bytes.
func EachOf(t gpu.Thread, dst, n uint64, each int, log uint32, do func(Part)) {
	eachPack(t, dst, n, uint32(bits.TrailingZeros32(uint32(each))), log, do)
}

// LoadAny returns the 16 bytes at an address, which is a multiple of 1 << log.
func LoadAny(at uint64, log uint32) (w Words) {
	switch {
	case at&15 == 0:
		return *words(at)
	case log == 0:
		var x Elements[uint8]
		loadEach(at, 16, &x)
		for k := range 16 {
			w[k/4] |= uint32(x[k]) << (k % 4 * 8)
		}
	case log == 1:
		var x Elements[uint16]
		loadEach(at, 8, &x)
		for k := range 8 {
			w[k/2] |= uint32(x[k]) << (k % 2 * 16)
		}
	default:
		var x Elements[uint32]
		loadEach(at, 4, &x)
		for k := range w {
			w[k] = x[k]
		}
	}
	return w
}

func loadEach[B Bits](at uint64, each int, x *Elements[B]) {
	v := gpu.ViewAt[B](at, each)
	for k := range each {
		x[k] = v.At(k)
	}
}

// threads is the number of threads of a block.
const threads = 256

// eachPack is EachOf for packs of 1 << count elements. A thread usually has one pack. Its code before the loads
// is short: the code for a few elements does not take longer.
func eachPack(t gpu.Thread, dst, n uint64, count, log uint32, do func(Part)) {
	length, each := int(n), int32(1)<<count
	// The elements between an aligned address and dst.
	before := int32(uint32(dst) & (uint32(min(16, each<<log)) - 1) >> log)
	step := threads << count
	for i := t.BlockX()*step + int(int32(t.ThreadX())<<count-before); i < length; i += t.GridDimX() * step {
		Rolled()
		do(Part{i, i >= 0 && i <= length-int(each), length, each})
	}
}

// Rolled prevents the compiler from unrolling the loop in which it is called. It is for loops whose
// code would become longer but not faster.
func Rolled() { gpu.PTX("{ }") }

// Fresh returns x. What depends on it is computed where it is needed. The compiler would compute it before the
// loop over packs, which usually has one iteration, and keep too many values.
func Fresh(x uint32) uint32 {
	if gpu.Device() {
		gpu.PTX("mov.b32 %0, %1;", gpu.Out(&x), gpu.In(x))
	}
	return x
}

// Load loads the elements of a pack from the array at src. Elements of x outside of the pack get
// values of other elements, with which functions may compute.
func Load[B Bits](p Part, src uint64, each int, x *Elements[B]) {
	size := Size[B]()
	at := src + uint64(p.First*size)
	if p.Complete && at&uint64(min(16, each*size)-1) == 0 {
		LoadVector(at, each, x)
		return
	}
	low, high := p.Range()
	if low == high {
		return
	}
	v := gpu.ViewAt[B](at, each)
	for k := range each {
		x[k] = v.At(int(min(max(int32(k), low), high-1)))
	}
}

// Store stores the elements of a pack in the array at dst, whose packs Each has made. It may change x.
func Store[B Bits](p Part, dst uint64, each int, x *Elements[B]) {
	size := Size[B]()
	at := dst + uint64(p.First*size)
	if p.Complete {
		StoreVector(at, each, x)
		return
	}
	low, high := p.Range()
	if each <= 4 {
		v := gpu.ViewAt[B](at, each)
		for k := range each {
			if uint32(int32(k)-low) < uint32(high-low) {
				v.Set(k, x[k])
			}
		}
		return
	}
	// The elements move through the first one, because registers cannot be indexed. Only the first
	// and the last pack of an array come here, so the speed of this loop does not matter.
	for k := int32(0); k < high; k++ {
		Rolled()
		if k >= low {
			*Element[B](at) = x[0]
		}
		at += uint64(size)
		for i := range each - 1 {
			x[i] = x[i+1]
		}
	}
}

// Element returns the element at an address.
func Element[B Bits](at uint64) *B { return gpu.ViewAt[B](at, 1).Ptr(0) }

// The vectors at an address.
func longs(at uint64) *[2]uint64  { return (*[2]uint64)(gpu.ViewAt[uint64](at, 2).Slice()) }
func words(at uint64) *[4]uint32  { return (*[4]uint32)(gpu.ViewAt[uint32](at, 4).Slice()) }
func words2(at uint64) *[2]uint32 { return (*[2]uint32)(gpu.ViewAt[uint32](at, 2).Slice()) }

// LoadVector loads elements from an address that is a multiple of their size, or of 16 bytes if they have more.
func LoadVector[B Bits](at uint64, each int, x *Elements[B]) {
	if x, ok := any(x).(*Elements[uint64]); ok {
		for k := 0; k < each; k += 2 {
			v := *longs(at + uint64(8*k))
			x[k], x[k+1] = v[0], v[1]
		}
		return
	}
	var w [4]uint32
	switch each * Size[B]() {
	case 16:
		w = *words(at)
	case 8:
		v := *words2(at)
		w[0], w[1] = v[0], v[1]
	case 4:
		w[0] = *Element[uint32](at)
	case 2:
		w[0] = uint32(*Element[uint16](at))
	}
	perWord := 4 / Size[B]()
	for k := range each {
		x[k] = B(w[k/perWord] >> (k % perWord * 8 * Size[B]()))
	}
}

// StoreVector is like LoadVector.
func StoreVector[B Bits](at uint64, each int, x *Elements[B]) {
	if x, ok := any(x).(*Elements[uint64]); ok {
		for k := 0; k < each; k += 2 {
			*longs(at + uint64(8*k)) = [2]uint64{x[k], x[k+1]}
		}
		return
	}
	var w [4]uint32
	perWord := 4 / Size[B]()
	for k := range each {
		w[k/perWord] |= uint32(x[k]) << (k % perWord * 8 * Size[B]())
	}
	switch each * Size[B]() {
	case 16:
		*words(at) = w
	case 8:
		*words2(at) = [2]uint32{w[0], w[1]}
	case 4:
		*Element[uint32](at) = w[0]
	case 2:
		*Element[uint16](at) = uint16(w[0])
	}
}

// repeated returns the index of the first element of a pack in an array of m elements that is repeated
// for a destination of n elements.
func repeated(p Part, n, m uint64) uint64 {
	i := uint64(max(p.First, 0))
	if n != m {
		if short := uint32(m); n < 1<<32 && short != 0 { // a 32-bit division is much faster
			i = uint64(uint32(i) % short)
		} else if m != 0 {
			i %= m
		}
	}
	return i
}

// LoadRepeated is Load for an array of m elements that is repeated. n is the number of elements of
// the destination.
func LoadRepeated[B Bits](p Part, src, n, m uint64, each int, x *Elements[B]) {
	i := repeated(p, n, m)
	size := Size[B]()
	at := src + i*uint64(size)
	if p.Complete && i+uint64(each) <= m && at&uint64(min(16, each*size)-1) == 0 {
		LoadVector(at, each, x)
		return
	}
	low, high := p.Range()
	if low == high {
		return
	}
	v := gpu.ViewAt[B](src, int(m))
	for k := range each {
		x[k] = v.At(int(i))
		if int32(k) >= low {
			i++
		}
		if i == m {
			i = 0
		}
	}
}
