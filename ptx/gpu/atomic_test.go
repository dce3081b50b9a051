package gpu_test

import (
	"math"
	"testing"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/num"
)

// counts runs f in 512 threads and returns the final value of *p.
func counts[T any](t *testing.T, start T, f func(k gpu.Thread, p *T)) T {
	t.Helper()
	p := new(T)
	*p = start
	mustRun(t, gpu.D1(4), gpu.D1(128), func(k gpu.Thread) { f(k, p) })
	return *p
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v (%T), want %v", what, got, got, want)
	}
}

func added[T gpu.AtomicNumber](t *testing.T, start, one, want T) {
	t.Helper()
	equal(t, "AtomicAdd", counts(t, start, func(_ gpu.Thread, p *T) { gpu.AtomicAdd(p, one) }), want)
	equal(t, "AtomicSub", counts(t, want, func(_ gpu.Thread, p *T) { gpu.AtomicSub(p, one, gpu.ScopeSystem, gpu.AcqRel) }), start)
}

func TestAtomicSums(t *testing.T) {
	added[int32](t, -100, -3, -1636)
	added[uint32](t, 1<<32-1, 1, 511)
	added[int64](t, -1, 1<<40, 512<<40-1)
	added[uint64](t, 0, 1<<62, 0)
	added(t, -5, 2, 1019)
	added[uint](t, 5, 1, 517)
	added[float32](t, 0.5, 0.25, 128.5)
	added[float64](t, 0.5, 0.125, 64.5)
	added[celsius](t, 0, 0.5, 256)
	added(t, num.ToF16(0), num.ToF16(0.5), num.ToF16(256))
	equal(t, "AtomicAdd", counts(t, num.ToBF16(1), func(k gpu.Thread, p *num.BF16) {
		if k.BlockX() == 0 {
			gpu.AtomicAdd(p, num.ToBF16(0.5))
		}
	}), num.ToBF16(65))
}

func extremes[T gpu.Integer](t *testing.T, low, high T) {
	t.Helper()
	equal(t, "AtomicMin", counts(t, high, func(k gpu.Thread, p *T) { gpu.AtomicMin(p, low+T(k.GlobalX())) }), low)
	equal(t, "AtomicMax", counts(t, low, func(k gpu.Thread, p *T) { gpu.AtomicMax(p, high-T(k.GlobalX())) }), high)
	equal(t, "AtomicAnd", counts(t, ^T(0), func(k gpu.Thread, p *T) { gpu.AtomicAnd(p, ^(1 << (k.GlobalX() % 8))) }), ^T(0xff))
	equal(t, "AtomicOr", counts(t, 1<<9, func(k gpu.Thread, p *T) { gpu.AtomicOr(p, 1<<(k.GlobalX()%8)) }), 0x2ff)
	equal(t, "AtomicXor", counts(t, 5, func(k gpu.Thread, p *T) { gpu.AtomicXor(p, T(k.GlobalX()&255)) }), 5)
	equal(t, "AtomicExchange", counts(t, 7, func(k gpu.Thread, p *T) {
		if k.GlobalX() == 9 {
			equal(t, "the previous value", gpu.AtomicExchange(p, high), 7)
		}
	}), high)
}

func TestAtomicIntegers(t *testing.T) {
	extremes[int32](t, -1<<31, 1<<31-1)
	extremes[uint32](t, 0, 1<<32-1)
	extremes[int64](t, -1<<63, 1<<63-1)
	extremes[uint64](t, 0, 1<<64-1)
	extremes(t, math.MinInt, math.MaxInt)
	extremes[uint](t, 0, math.MaxUint)
}

func TestAtomicWrapping(t *testing.T) {
	equal(t, "AtomicInc", counts(t, uint32(0), func(_ gpu.Thread, p *uint32) { gpu.AtomicInc(p, 99) }), 12)
	equal(t, "AtomicInc above the limit", counts(t, uint32(500), func(_ gpu.Thread, p *uint32) { gpu.AtomicInc(p, 510) }), 501)
	equal(t, "AtomicDec", counts(t, uint32(0), func(_ gpu.Thread, p *uint32) { gpu.AtomicDec(p, 99) }), 88)
	equal(t, "AtomicDec above the limit", counts(t, uint32(2000), func(_ gpu.Thread, p *uint32) { gpu.AtomicDec(p, 1000) }), 489)
}

// swapped increments a value with compare-and-swap loops in many threads.
func swapped[T gpu.AtomicValue](t *testing.T, start, want T, next func(T) T) {
	t.Helper()
	equal(t, "AtomicCompareAndSwap", counts(t, start, func(_ gpu.Thread, p *T) {
		for old := gpu.AtomicLoad(p, gpu.Acquire); ; {
			previous, ok := gpu.AtomicCompareAndSwap(p, old, next(old), gpu.ScopeBlock)
			if ok {
				return
			}
			old = previous
		}
	}), want)
	equal(t, "AtomicExchange and AtomicStore", counts(t, start, func(k gpu.Thread, p *T) {
		if k.GlobalX() != 0 {
			return
		}
		equal(t, "AtomicExchange", gpu.AtomicExchange(p, want), start)
		equal(t, "AtomicLoad", gpu.AtomicLoad(p), want)
		gpu.AtomicStore(p, start, gpu.Release)
		equal(t, "LoadVolatile", gpu.LoadVolatile(p), start)
		gpu.StoreVolatile(p, want)
		if previous, ok := gpu.AtomicCompareAndSwap(p, start, start); ok || previous != want {
			t.Errorf("AtomicCompareAndSwap of another value: %v, %v", previous, ok)
		}
	}), want)
}

func TestAtomicValues(t *testing.T) {
	swapped(t, int16(-5), 507, func(x int16) int16 { return x + 1 })
	swapped(t, uint16(0xff00), 0x100, func(x uint16) uint16 { return x + 1 })
	swapped(t, uint32(0), 512, func(x uint32) uint32 { return x + 1 })
	swapped(t, uintptr(1), 513, func(x uintptr) uintptr { return x + 1 })
	swapped(t, float32(0), 256, func(x float32) float32 { return x + 0.5 })
	swapped(t, 0.0, 512, func(x float64) float64 { return x + 1 })
	swapped(t, num.ToF16(0), num.ToF16(512), func(x num.F16) num.F16 { return x.Add(num.ToF16(1)) })
}

// AtomicCompareAndSwap compares bits, so a NaN equals itself, and 0 and -0 differ.
func TestCompareAndSwapComparesBits(t *testing.T) {
	x := num.NaN[float32]()
	if _, ok := gpu.AtomicCompareAndSwap(&x, x, 1); !ok || x != 1 {
		t.Errorf("a NaN is not replaced: %v", x)
	}
	minus := num.Neg(float32(0))
	if _, ok := gpu.AtomicCompareAndSwap(&minus, 0, 1); ok {
		t.Error("-0 equals 0")
	}
}

// One block waits for all other blocks, as in a kernel that combines partial results.
func TestBlocksSynchronizeByAtomics(t *testing.T) {
	part := make([]int, 16)
	var done uint32
	total := -1
	mustRun(t, gpu.D1(16), gpu.D1(32), func(k gpu.Thread) {
		last := gpu.Shared[bool](k)
		if k.Rank() == 0 {
			part[k.BlockX()] = k.BlockX()
			k.FenceDevice()
			*last = gpu.AtomicAdd(&done, 1, gpu.AcqRel) == 15
		}
		k.Sync()
		if *last && k.Rank() == 5 {
			total = 0
			for _, x := range part {
				total += x
			}
		}
	})
	if total != 120 {
		t.Errorf("total %d", total)
	}
}
