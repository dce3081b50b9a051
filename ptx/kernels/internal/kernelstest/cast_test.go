package kernelstest

import (
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

// edges returns numbers close to the limits and rounding boundaries of the types.
func edges() []float64 {
	v := []float64{0, math.Copysign(0, -1), 0.4, 0.5, 0.6, 1, 1.5, 2.5, 127, 127.9, 128, 255, 255.5, 256,
		2048, 2049, 2051, 32767, 32768, 65503, 65519, 65520, 65535, 65536, 1 << 24, 1<<24 + 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32,
		1<<53 + 2, 1 << 62, 1<<63 - 1024, 1 << 63, 1<<64 - 2048, 1 << 64, 1e30, 3.4e38, 3.5e38, 1e300, math.Inf(1), math.NaN(),
		1.0009765625 / 2, 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-30, 1 + 0x1p-11 + 0x1p-50, 1 + 3*0x1p-11, 1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-24, 1 + 0x1p-24 + 0x1p-50,
		0x1p-14, 0x1p-24, 0x1p-25, 0x1p-25 + 0x1p-50, 3 * 0x1p-26, 0x1p-126, 0x1p-133, 0x1p-134, 0x1p-134 + 0x1p-160, 0x1p-149, 0x1p-150, 1e-310}
	for _, f := range v {
		v = append(v, -f)
	}
	return append(v, random(300, 1)...)
}

func TestCastConvertsEveryTypeToEveryOther(t *testing.T) {
	each(t, func(k *kit) {
		castsOf[uint8](k)
		castsOf[int8](k)
		castsOf[uint16](k)
		castsOf[int16](k)
		castsOf[uint32](k)
		castsOf[int32](k)
		castsOf[uint64](k)
		castsOf[int64](k)
		castsOf[kernels.F16](k)
		castsOf[kernels.BF16](k)
		castsOf[float32](k)
		castsOf[float64](k)
	})
}

func castsOf[S kernels.Element](k *kit) {
	k.Helper()
	casts[uint8, S](k)
	casts[int8, S](k)
	casts[uint16, S](k)
	casts[int16, S](k)
	casts[uint32, S](k)
	casts[int32, S](k)
	casts[uint64, S](k)
	casts[int64, S](k)
	casts[kernels.F16, S](k)
	casts[kernels.BF16, S](k)
	casts[float32, S](k)
	casts[float64, S](k)
}

func casts[D, S kernels.Element](k *kit) {
	k.Helper()
	from := elements[S](edges())
	from = append(from, integers[S]()...)
	for _, skip := range []int{0, 1} {
		src := device(k, skip, from)
		b := alloc[D](k, 1+len(from))
		dst := b.View(1-skip, 1-skip+len(from))
		k.run(kernels.Cast(dst, src))
		for i, got := range host(k, dst) {
			if want := converted[D](from[i]); !same(got, want) {
				k.Errorf("%T %v became %T %v, want %v", from[i], number(from[i]), got, number(got), number(want))
			}
		}
		k.ok(b.Close())
	}
}

// integers returns test values near each power of two. They include 64-bit integers that the
// float64 values of edges cannot represent.
func integers[S kernels.Element]() (v []S) {
	for shift := range 64 {
		for _, off := range []int64{-1, 0, 1} {
			n := int64(1)<<shift + off
			switch any(*new(S)).(type) {
			case float32, float64, kernels.F16, kernels.BF16:
				v = append(v, element[S](float64(n)))
			default:
				v = append(v, fromWord[S](uint64(n)), fromWord[S](uint64(-n)), fromWord[S](uint64(n*0x5555+3)))
			}
		}
	}
	return v
}

// converted returns the expected result of Cast.
func converted[D, S kernels.Element](v S) D {
	f := number(v)
	switch any(v).(type) {
	case float32, float64, kernels.F16, kernels.BF16:
		switch any(*new(D)).(type) {
		case float32, float64, kernels.F16, kernels.BF16:
			return nearest[D](f)
		}
		return clamped[D](f)
	}
	switch any(*new(D)).(type) {
	case float32, float64, kernels.F16, kernels.BF16:
		exact := new(big.Float).SetUint64(integer(v))
		if signed[S]() {
			exact.SetInt64(int64(integer(v)))
		}
		return nearestBig[D](exact)
	}
	return fromWord[D](integer(v))
}

func clamped[D kernels.Element](f float64) D {
	bits := 8 * sizeOf[D]()
	lo, hi := 0.0, math.Ldexp(1, bits)
	if signed[D]() {
		lo, hi = -hi/2, hi/2
	}
	switch f = math.Trunc(f); {
	case f != f:
		return fromWord[D](0)
	case f <= lo:
		return fromWord[D](uint64(int64(lo)))
	case f >= hi && lo < 0:
		return fromWord[D](1<<(bits-1) - 1)
	case f >= hi:
		return fromWord[D](math.MaxUint64)
	case f < 0:
		return fromWord[D](uint64(int64(f)))
	}
	return fromWord[D](uint64(f))
}

// integer returns the value of an integer in 64 bits, with the sign extended.
func integer[T kernels.Element](v T) uint64 {
	if signed[T]() {
		return uint64(num.To[int64](v))
	}
	return num.To[uint64](v)
}

// signed reports whether T is a signed integer type.
func signed[T kernels.Element]() bool {
	return !isFloat[T]() && number(fromWord[T](math.MaxUint64)) < 0
}

// fromWord returns the value of type D in the lower bits of a word.
func fromWord[D kernels.Element](w uint64) (v D) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), sizeOf[D]()), unsafe.Slice((*byte)(unsafe.Pointer(&w)), 8))
	return v
}

// nearest rounds to a floating-point type, ties to even.
func nearest[D kernels.Element](f float64) D {
	switch {
	case f != f || math.IsInf(f, 0):
		return element[D](f)
	}
	return nearestBig[D](new(big.Float).SetFloat64(f))
}

func nearestBig[D kernels.Element](x *big.Float) D {
	var v D
	switch p := any(&v).(type) {
	case *float64:
		*p, _ = x.Float64()
	case *float32:
		*p, _ = x.Float32()
	case *kernels.F16:
		*p = num.ToF16(float32(short[kernels.F16](x)))
	case *kernels.BF16:
		*p = num.ToBF16(float32(short[kernels.BF16](x)))
	}
	return v
}

// short rounds x to the precision that a 16-bit type has at the magnitude of x.
func short[D kernels.Float](x *big.Float) float64 {
	bits, smallest := precision[D]()
	bits -= max(0, smallest-(x.MantExp(nil)-1))
	if x.Sign() == 0 || bits < 0 {
		return 0
	}
	if bits == 0 { // the number is below the smallest positive one
		least := new(big.Float).SetFloat64(ulp[D](0))
		if new(big.Float).Abs(x).Cmp(least.Quo(least, big.NewFloat(2))) <= 0 {
			return 0
		}
		return math.Copysign(ulp[D](0), float64(x.Sign()))
	}
	f, _ := new(big.Float).SetPrec(uint(bits)).SetMode(big.ToNearestEven).Set(x).Float64()
	return f
}

func TestCastOfAllLengths(t *testing.T) {
	each(t, func(k *kit) {
		for _, n := range k.lengths() {
			from := elements[float32](random(n, uint64(n)))
			for _, skip := range []int{0, 2, 3} {
				src := device(k, skip, from)
				b := alloc[kernels.F16](k, skip+n+1)
				k.run(kernels.Cast(b.View(skip, skip+n), src))
				got := host(k, b)
				for i, f := range from {
					if got[skip+i] != num.ToF16(f) {
						k.Fatalf("%d elements from %d on: element %d is %v", n, skip, i, got[skip+i].Float32())
					}
				}
				if got[skip+n].Bits() != 0 {
					k.Errorf("%d elements from %d on: wrote behind them", n, skip)
				}
				k.ok(b.Close())
			}
		}
	})
}

func TestCastInPlaceAndWhatOverlaps(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 16)
		k.ok(b.Fill(-2.75))
		as, err := driver.ViewAs[int32](b)
		k.ok(err)
		k.run(kernels.Cast[int32](as, b))
		if got := host(k, as); got[0] != -2 || got[15] != -2 {
			t.Errorf("in place: %v", got)
		}
		_, err = kernels.Cast[int32](as.View(0, 8), b.View(1, 9))
		k.refused(err, "cast", "overlap")
		_, err = kernels.Cast[int32](as.View(0, 8), b.View(8, 15))
		k.refused(err, "8", "7", "View")
	})
}
