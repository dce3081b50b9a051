package difftest

import (
	"math"
	"strings"
	"sync"
)

var edgeCache sync.Map

func edges(kind string) []uint64 {
	if e, ok := edgeCache.Load(kind); ok {
		return e.([]uint64)
	}
	e := makeEdges(kind)
	edgeCache.Store(kind, e)
	return e
}

func makeEdges(kind string) []uint64 {
	if p, ok := pairs[kind]; ok {
		var e []uint64
		one := edges(p.elem)
		for i, v := range one {
			e = append(e, v|one[(i*7+3)%len(one)]<<p.bits)
		}
		return e
	}
	if f, ok := floats[kind]; ok {
		return f.edges()
	}
	if n, ok := small[kind]; ok {
		return smallEdges(n)
	}
	switch kind {
	case "f16nan", "bf16nan":
		return nans(floats[strings.TrimSuffix(kind, "nan")])
	case "f32int":
		return append(floats["f32"].edges(), integralEdges(func(x float64) uint64 { return uint64(math.Float32bits(float32(x))) })...)
	case "f64int":
		return append(floats["f64"].edges(), integralEdges(math.Float64bits)...)
	case "angle":
		return floats["f32"].edges()
	}
	return intEdges(bitsOf(kind))
}

// edges returns zeros, the ends of the subnormal and normal ranges, infinities, NaNs,
// and numbers near 1.
func (f float) edges() []uint64 {
	one := (uint64(1)<<(f.exp-1) - 1) << f.mant
	inf := (uint64(1)<<f.exp - 1) << f.mant
	step := uint64(1) << f.mant
	half := step >> 1
	positive := []uint64{
		0, 1, 2, half, step - 1, step, step + 1, 2 * step, // subnormal numbers and the smallest normal ones
		one, one + 1, one - 1, one + half, one - step, one + step, one + step + half, one + 3*step + half>>1,
		inf - 1, inf - 2, inf - step, inf - step - 1, inf, inf | half, inf + 1, inf + step - 1,
	}
	var e []uint64
	for _, p := range positive {
		e = append(e, p, p|1<<(f.exp+f.mant))
	}
	return e
}

func intEdges(bits int) []uint64 {
	mask := uint64(1)<<(bits-1)<<1 - 1
	seen := map[uint64]bool{}
	var e []uint64
	put := func(x uint64) {
		if x &= mask; !seen[x] {
			seen[x] = true
			e = append(e, x)
		}
	}
	for _, x := range []uint64{0, 1, 2, 3, 5, 7, 10} {
		put(x)
		put(-x)
	}
	for _, b := range []int{7, 8, 15, 16, 23, 24, 31, 32, 33, 63} {
		put(1 << b)
		put(1<<b - 1)
		put(-(1 << b))
	}
	put(1 << (bits - 1))
	put(1<<(bits-1) - 1)
	put(0x5555555555555555)
	put(0xaaaaaaaaaaaaaaaa)
	put(0x0123456789abcdef)
	return e
}

func smallEdges(n int) []uint64 {
	var e []uint64
	if n <= 70 {
		for i := range n {
			e = append(e, uint64(i))
		}
		return e
	}
	for _, x := range []uint64{0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x3210, 0x7654, 0xba98, 0xfedc} {
		if x < uint64(n) {
			e = append(e, x)
		}
	}
	return e
}

// integralEdges returns numbers near the limits of the integer types, and numbers halfway between
// integers.
func integralEdges(pattern func(float64) uint64) []uint64 {
	var e []uint64
	for _, b := range []int{0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64} {
		x := math.Exp2(float64(b))
		for _, d := range []float64{-1, -0.5, 0, 0.5, 1} {
			e = append(e, pattern(x+d), pattern(-x-d))
		}
	}
	return e
}

// nans returns all NaNs of a format. The format must be short.
func nans(f float) []uint64 {
	var e []uint64
	for m := uint64(1); m < 1<<f.mant; m++ {
		x := (1<<f.exp-1)<<f.mant | m
		e = append(e, x, x|1<<(f.exp+f.mant))
	}
	return e
}
