package num_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/ptx/num"
)

func TestTypesHaveTheDevicesLayoutAndNoOperators(t *testing.T) {
	for _, c := range []struct {
		typ  reflect.Type
		size uintptr
	}{
		{reflect.TypeFor[num.F16](), 2}, {reflect.TypeFor[num.BF16](), 2},
		{reflect.TypeFor[num.E4M3](), 1}, {reflect.TypeFor[num.E5M2](), 1},
	} {
		if c.typ.Size() != c.size || uintptr(c.typ.Align()) != c.size || c.typ.Kind() != reflect.Struct || !c.typ.Comparable() {
			t.Errorf("%v: size %d, alignment %d, kind %v", c.typ, c.typ.Size(), c.typ.Align(), c.typ.Kind())
		}
	}
	h := num.ToF16(1.5)
	if *(*uint16)(unsafe.Pointer(&h)) != 0x3e00 {
		t.Error("the bits of an F16 are not those of the device")
	}
}

func TestConstantsAreTheLimits(t *testing.T) {
	for i, k := range kinds() {
		limits := [][3]float64{
			{num.MaxF16, num.SmallestNormalF16, num.SmallestNonzeroF16}, {num.MaxBF16, num.SmallestNormalBF16, num.SmallestNonzeroBF16},
			{num.MaxE4M3, num.SmallestNormalE4M3, num.SmallestNonzeroE4M3}, {num.MaxE5M2, num.SmallestNormalE5M2, num.SmallestNonzeroE5M2},
		}[i]
		for j, bits := range []uint16{k.largest(), 1 << k.mant, 1} {
			if want := k.value(bits); limits[j] != want {
				t.Errorf("%s: %v, want %v", k.name, limits[j], want)
			}
		}
	}
}

// sameOf reports whether two values are equal. All NaNs of float32 and float64 are equal.
func sameOf[T comparable](a, b T) bool { return a == b || a != a && b != b }

// The generic functions must return what the methods return.
func generic[T half[T]](t *testing.T, of func(uint16) T) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		a, b, c := of(uint16(r.Uint32())), of(uint16(r.Uint32())), of(uint16(r.Uint32()))
		got := []T{num.Add(a, b), num.Sub(a, b), num.Mul(a, b), num.Div(a, b), num.FMA(a, b, c), num.Sqrt(a), num.Neg(a), num.Abs(a), num.Min(a, b), num.Max(a, b)}
		want := []T{a.Add(b), a.Sub(b), a.Mul(b), a.Div(b), a.FMA(b, c), a.Sqrt(), a.Neg(), a.Abs(), a.Min(b), a.Max(b)}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("function %d of %v, %v and %v is %v, want %v", i, a, b, c, got[i], want[i])
			}
		}
		if num.Less(a, b) != a.Less(b) || num.LessEqual(a, b) != a.LessEqual(b) || num.Equal(a, b) != a.Equal(b) || num.IsNaN(a) != a.IsNaN() {
			t.Fatalf("comparisons of %v and %v differ", a, b)
		}
	}
	for sign := -1; sign <= 1; sign += 2 {
		if !num.Inf[T](sign).IsInf(sign) {
			t.Errorf("infinity %d is %v", sign, num.Inf[T](sign))
		}
	}
	if !num.NaN[T]().IsNaN() {
		t.Errorf("NaN is %v", num.NaN[T]())
	}
}

func wide[T float32 | float64](t *testing.T, random func() T, fma func(a, b, c T) T) {
	t.Helper()
	list := []T{0, T(math.Copysign(0, -1)), 1, -1, T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN())}
	for range 1000 {
		list = append(list, random())
	}
	for i, a := range list {
		for _, b := range append(list[:7:7], list[len(list)-1-i]) {
			c := list[(i*7+3)%len(list)]
			got := []T{num.Add(a, b), num.Sub(a, b), num.Mul(a, b), num.Div(a, b), num.FMA(a, b, c), num.Sqrt(a), num.Neg(a), num.Abs(a)}
			want := []T{a + b, a - b, T(a * b), a / b, fma(a, b, c), T(math.Sqrt(float64(a))), -a, T(math.Abs(float64(a)))}
			for i := range got {
				if !sameOf(got[i], want[i]) {
					t.Fatalf("function %d of %v, %v and %v is %v, want %v", i, a, b, c, got[i], want[i])
				}
			}
			low, high := min(a, b), max(a, b)
			switch {
			case a != a:
				low, high = b, b
			case b != b:
				low, high = a, a
			}
			if l, h := num.Min(a, b), num.Max(a, b); !sameOf(l, low) || !sameOf(h, high) || math.Signbit(float64(l)) != math.Signbit(float64(low)) {
				t.Fatalf("min and max of %v and %v are %v and %v", a, b, l, h)
			}
			if num.Less(a, b) != (a < b) || num.LessEqual(a, b) != (a <= b) || num.Equal(a, b) != (a == b) || num.IsNaN(a) != (a != a) || num.IsInf(a, 1) != (a > math.MaxFloat32) {
				t.Fatalf("comparisons of %v and %v differ", a, b)
			}
		}
	}
}

func TestGenericFunctionsServeEveryType(t *testing.T) {
	generic(t, num.F16FromBits)
	generic(t, num.BF16FromBits)
	r := rand.New(rand.NewPCG(7, 8))
	wide(t, func() float32 { return float32(r.NormFloat64()) }, func(a, b, c float32) float32 {
		if !isFinite(float64(a), float64(b), float64(c)) || a*b+c == 0 {
			return a*b + c
		}
		p := exactly(float64(a))
		p.Mul(p, exactly(float64(b)))
		f, _ := p.Add(p, exactly(float64(c))).Float32()
		return f
	})
	wide(t, r.NormFloat64, math.FMA)
}

// FMA must round only once. In float64, this sum rounds to the midpoint between two float32
// numbers, and rounding that again gives the wrong number.
func TestFMAOfFloat32IsRoundedOnce(t *testing.T) {
	a, b, c := float32(1+0x1p-12), float32(1+0x1p-12), float32(-0x1p-60)
	if got := num.FMA(a, b, c); got != 1+0x1p-11 {
		t.Errorf("%x", got)
	}
	if got := num.FMA(a, b, -c); got != 1+0x1p-11+0x1p-23 {
		t.Errorf("%x", got)
	}
}

// integers returns integers near each power of two.
func integers() (list []*big.Int) {
	for shift := range uint(65) {
		for _, off := range []int64{-3, -2, -1, 0, 1, 2, 3} {
			n := new(big.Int).Lsh(big.NewInt(1), shift)
			list = append(list, n.Add(n, big.NewInt(off)), new(big.Int).Neg(n))
			// The higher bits of these numbers are a midpoint between two numbers of a narrower
			// type.
			for _, mant := range []uint{7, 10, 23, 52} {
				if shift > mant {
					m := new(big.Int).Lsh(big.NewInt(1), shift-mant-1)
					list = append(list, m.Add(m, n), new(big.Int).Neg(m))
				}
			}
		}
	}
	return list
}

func fromInteger[F num.Number](t *testing.T, value func(*big.Int) (F, bool)) {
	t.Helper()
	for _, n := range integers() {
		x, ok := value(n)
		if !ok {
			continue
		}
		exact := new(big.Float).SetInt(n)
		f32, _ := exact.Float32()
		f64, _ := exact.Float64()
		if got := num.To[float32](x); got != f32 {
			t.Fatalf("%T %v became float32 %v, want %v", x, n, got, f32)
		}
		if got := num.To[float64](x); got != f64 {
			t.Fatalf("%T %v became float64 %v, want %v", x, n, got, f64)
		}
		for i, got := range []uint16{num.To[num.F16](x).Bits(), num.To[num.BF16](x).Bits(), uint16(num.To[num.E4M3](x).Bits()), uint16(num.To[num.E5M2](x).Bits())} {
			k := kinds()[i]
			abs := new(big.Float).Abs(exact)
			if (got&k.sign() != 0) != (n.Sign() < 0) || !k.nearest(got&^k.sign(), func(m float64) int { return abs.Cmp(exactly(m)) }) {
				t.Fatalf("%T %v became %s %#x", x, n, k.name, got)
			}
		}
		toInteger(t, x, n)
	}
}

// toInteger checks the conversions of the number x to integer types. n is x without its fraction.
func toInteger[F num.Number](t *testing.T, x F, n *big.Int) {
	t.Helper()
	signed := func(got int64, bits int) {
		t.Helper()
		high := int64(1)<<(bits-1) - 1
		want := n.Int64()
		switch {
		case n.Cmp(big.NewInt(high)) > 0:
			want = high
		case n.Cmp(big.NewInt(-high-1)) < 0:
			want = -high - 1
		}
		if got != want {
			t.Fatalf("%T %v became the %d-bit integer %d, want %d", x, x, bits, got, want)
		}
	}
	unsigned := func(got uint64, bits int) {
		t.Helper()
		high := uint64(math.MaxUint64) >> (64 - bits)
		want := n.Uint64()
		switch {
		case n.Sign() < 0:
			want = 0
		case n.Cmp(new(big.Int).SetUint64(high)) > 0:
			want = high
		}
		if got != want {
			t.Fatalf("%T %v became the unsigned %d-bit integer %d, want %d", x, x, bits, got, want)
		}
	}
	signed(int64(num.To[int8](x)), 8)
	signed(int64(num.To[int16](x)), 16)
	signed(int64(num.To[int32](x)), 32)
	signed(num.To[int64](x), 64)
	signed(int64(num.To[int](x)), 8*int(unsafe.Sizeof(int(0))))
	unsigned(uint64(num.To[uint8](x)), 8)
	unsigned(uint64(num.To[uint16](x)), 16)
	unsigned(uint64(num.To[uint32](x)), 32)
	unsigned(num.To[uint64](x), 64)
	unsigned(uint64(num.To[uint](x)), 8*int(unsafe.Sizeof(int(0))))
}

func signedOf[F int8 | int16 | int32 | int64 | int](n *big.Int) (F, bool) {
	return F(n.Int64()), n.IsInt64() && int64(F(n.Int64())) == n.Int64()
}

func unsignedOf[F uint8 | uint16 | uint32 | uint64 | uint](n *big.Int) (F, bool) {
	return F(n.Uint64()), n.IsUint64() && uint64(F(n.Uint64())) == n.Uint64()
}

func TestIntegersAreRoundedOnceAndLimited(t *testing.T) {
	fromInteger(t, signedOf[int8])
	fromInteger(t, signedOf[int16])
	fromInteger(t, signedOf[int32])
	fromInteger(t, signedOf[int64])
	fromInteger(t, signedOf[int])
	fromInteger(t, unsignedOf[uint8])
	fromInteger(t, unsignedOf[uint16])
	fromInteger(t, unsignedOf[uint32])
	fromInteger(t, unsignedOf[uint64])
	fromInteger(t, unsignedOf[uint])
}

// floatToInteger checks conversions of a floating-point number to integers.
func floatToInteger[F num.Number](t *testing.T, x F, f float64) {
	t.Helper()
	n := new(big.Int)
	switch {
	case f != f:
	case math.IsInf(f, 0):
		n.Lsh(big.NewInt(int64(math.Copysign(1, f))), 100)
	default:
		new(big.Float).SetFloat64(f).Int(n)
	}
	toInteger(t, x, n)
}

func TestFloatsBecomeTheNearestIntegersTowardZero(t *testing.T) {
	for i := range 1 << 16 {
		h, b := num.F16FromBits(uint16(i)), num.BF16FromBits(uint16(i))
		floatToInteger(t, h, f16Layout.value(uint16(i)))
		floatToInteger(t, b, bf16Layout.value(uint16(i)))
	}
	for i := range 1 << 8 {
		floatToInteger(t, num.E4M3FromBits(uint8(i)), e4m3Layout.value(uint16(i)))
		floatToInteger(t, num.E5M2FromBits(uint8(i)), e5m2Layout.value(uint16(i)))
	}
	for _, n := range integers() {
		f, _ := new(big.Float).SetInt(n).Float64()
		for _, f := range []float64{f, f + 0.5, math.Nextafter(f, 0), math.Nextafter(f, 1e300)} {
			floatToInteger(t, f, f)
			floatToInteger(t, float32(f), float64(float32(f)))
		}
	}
}

func TestFloatsConvertToEachOther(t *testing.T) {
	for i := range 1 << 16 {
		h, b := num.F16FromBits(uint16(i)), num.BF16FromBits(uint16(i))
		if got, want := num.To[num.BF16](h), num.BF16FromFloat64(h.Float64()); got != want {
			t.Fatalf("F16 %v became BF16 %v, want %v", h, got, want)
		}
		if got, want := num.To[num.F16](b), num.F16FromFloat64(b.Float64()); got != want {
			t.Fatalf("BF16 %v became F16 %v, want %v", b, got, want)
		}
		if got, want := num.To[num.E5M2](h), num.E5M2FromFloat64(h.Float64()); got != want {
			t.Fatalf("F16 %v became E5M2 %v, want %v", h, got, want)
		}
		e := num.E4M3FromBits(uint8(i))
		if got, want := num.To[num.E5M2](e), num.E5M2FromFloat64(e.Float64()); got != want {
			t.Fatalf("E4M3 %v became E5M2 %v, want %v", e, got, want)
		}
		if got := num.To[float32](e); !sameOf(got, e.Float32()) {
			t.Fatalf("E4M3 %v became %v", e, got)
		}
	}
}

func TestSmallComparisons(t *testing.T) {
	for i := range 1 << 16 {
		x, y := uint8(i), uint8(i>>8)
		a, b := num.E4M3FromBits(x), num.E4M3FromBits(y)
		f, g := e4m3Layout.value(uint16(x)), e4m3Layout.value(uint16(y))
		if a.Less(b) != (f < g) || a.LessEqual(b) != (f <= g) || a.Equal(b) != (f == g) || num.Less(a, b) != (f < g) ||
			a.IsNaN() != (f != f) || a.Signbit() != math.Signbit(f) {
			t.Fatalf("E4M3 %v and %v", a, b)
		}
		c, d := num.E5M2FromBits(x), num.E5M2FromBits(y)
		f, g = e5m2Layout.value(uint16(x)), e5m2Layout.value(uint16(y))
		if c.Less(d) != (f < g) || c.LessEqual(d) != (f <= g) || c.Equal(d) != (f == g) || num.Equal(c, d) != (f == g) ||
			c.IsNaN() != (f != f) || c.Signbit() != math.Signbit(f) || c.IsInf(0) != math.IsInf(f, 0) || c.IsInf(1) != math.IsInf(f, 1) || c.IsInf(-1) != math.IsInf(f, -1) {
			t.Fatalf("E5M2 %v and %v", c, d)
		}
	}
}

var sink any

func TestNothingIsAllocated(t *testing.T) {
	h, b, e := num.ToF16(1.5), num.ToBF16(-3), num.ToE4M3(2)
	x, i := float32(0.3), int64(1)<<62+1
	var total float64
	if n := testing.AllocsPerRun(100, func() {
		h = h.Add(num.ToF16(x)).Mul(h).Div(h).FMA(h, h).Sqrt().Max(h)
		b = num.FMA(num.Mul(b, b), num.Add(b, b), num.To[num.BF16](i))
		h = num.FMA(h, h, num.Max(h, num.Mul(h, h)))
		h = num.Min(num.Sqrt(num.Div(h, num.Sub(h, num.Neg(h)))), num.Abs(num.To[num.F16](b)))
		e = num.To[num.E4M3](h)
		x = num.FMA(x, x, num.To[float32](e))
		total += num.To[float64](e) + float64(num.To[int32](b)) + float64(num.To[uint64](h))
		if num.Less(h, num.Inf[num.F16](1)) && !num.IsNaN(b) {
			total++
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	sink = total
}

func BenchmarkToF16(b *testing.B)    { benchmark(b, num.ToF16) }
func BenchmarkToBF16(b *testing.B)   { benchmark(b, num.ToBF16) }
func BenchmarkToE4M3(b *testing.B)   { benchmark(b, num.ToE4M3) }
func BenchmarkFromF16(b *testing.B)  { back(b, num.ToF16) }
func BenchmarkFromE4M3(b *testing.B) { back(b, num.ToE4M3) }

func benchmark[T any](b *testing.B, to func(float32) T) {
	f, out := floats(), make([]T, 1024)
	for b.Loop() {
		for i, f := range f {
			out[i] = to(f)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/number")
}

func back[T interface{ Float32() float32 }](b *testing.B, to func(float32) T) {
	in := make([]T, 1024)
	for i, f := range floats() {
		in[i] = to(f)
	}
	out := make([]float32, len(in))
	for b.Loop() {
		for i, h := range in {
			out[i] = h.Float32()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/number")
}

func floats() []float32 {
	r := rand.New(rand.NewPCG(9, 10))
	f := make([]float32, 1024)
	for i := range f {
		f[i] = float32(r.NormFloat64())
	}
	return f
}

func BenchmarkAddF16(b *testing.B) {
	x, y := num.ToF16s(floats()), num.ToF16s(floats())
	b.Run("method", func(b *testing.B) {
		for b.Loop() {
			for i := range x {
				y[i] = x[i].Add(y[i])
			}
		}
	})
	b.Run("generic", func(b *testing.B) {
		for b.Loop() {
			for i := range x {
				y[i] = num.Add(x[i], y[i])
			}
		}
	})
}
