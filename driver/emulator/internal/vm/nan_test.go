package vm_test

import (
	"math"
	"strings"
	"testing"
)

// nans32 and nans16 are NaNs with and without a sign, quiet and signalling.
var (
	nans32   = []uint32{0xffc00000, 0x7fc00000, 0x7fffffff, 0xffffffff, 0x7f800001, 0xff812345}
	nansF16  = []uint16{0xfe00, 0x7e00, 0x7fff, 0xffff, 0x7c01, 0xfd23}
	nansBF16 = []uint16{0xffc0, 0x7fc0, 0x7fff, 0xffff, 0x7f81, 0xffa5}
)

// pairsOf returns pairs of operands of which one or both are NaNs, for whole warps and a part of
// one.
func pairsOf[T any](one T, nans []T) (a, b []T) {
	for len(a) < 70 {
		for i, n := range nans {
			a = append(a, n, one, n)
			b = append(b, one, n, nans[(i+1)%len(nans)])
		}
	}
	return a, b
}

// triplesOf is pairsOf with a third operand. It is a NaN too, or the only NaN.
func triplesOf[T any](one T, nans []T) (a, b, c []T) {
	a, b = pairsOf(one, nans)
	for i := range a {
		c = append(c, one)
		if i%4 == 1 {
			c[i] = nans[i%len(nans)]
		} else if i%4 == 2 {
			a[i], b[i], c[i] = one, one, nans[i%len(nans)]
		}
	}
	return a, b, c
}

// An H200 replaces every NaN by 0x7fffffff, whatever the operand's sign and payload. The dedicated
// loops for all lanes and for some lanes of a warp must do the same.
func TestArithmeticInF32MakesOneNaN(t *testing.T) {
	a, b := pairsOf(math.Float32bits(1), nans32)
	for _, op := range strings.Fields("add.f32 sub.f32 mul.f32 add.rz.f32 sub.ftz.f32 mul.ftz.f32 add.rp.ftz.f32 div.rn.f32 div.rn.ftz.f32 div.rz.f32 " +
		"div.full.f32 div.approx.f32 div.approx.ftz.f32 min.NaN.f32 max.NaN.f32 max.ftz.NaN.f32") {
		allNaN(t, op, 0x7fffffff, eval2[uint32](t, "f32", "f32", "f32", "mov.f32 %d, 0f3F800000; "+op+" %d, %a, %b;", a, b), a, b)
		some := eval2[uint32](t, "f32", "f32", "f32", "mov.f32 %d, 0f7FFFFFFF; and.b32 %t1, %id, 1; setp.eq.u32 %p, %t1, 0; @%p "+op+" %d, %a, %b;", a, b)
		allNaN(t, op+" in some lanes", 0x7fffffff, some, a, b)
	}
	a, b, c := triplesOf(math.Float32bits(1), nans32)
	for _, op := range strings.Fields("fma.rn.f32 fma.rn.ftz.f32 fma.rm.f32 mad.rn.f32") {
		allNaN(t, op, 0x7fffffff, eval3[uint32](t, "f32", "f32", "f32", "f32", op+" %d, %a, %b, %c;", a, b, c), a, b, c)
		some := eval3[uint32](t, "f32", "f32", "f32", "f32", "mov.f32 %d, 0f7FFFFFFF; and.b32 %t1, %id, 1; setp.eq.u32 %p, %t1, 0; @%p "+op+" %d, %a, %b, %c;", a, b, c)
		allNaN(t, op+" in some lanes", 0x7fffffff, some, a, b, c)
	}
	for _, op := range strings.Fields("abs.f32 neg.f32 abs.ftz.f32 neg.ftz.f32 rcp.rn.f32 rcp.rn.ftz.f32 rcp.rz.f32 rcp.approx.f32 sqrt.rn.f32 sqrt.rn.ftz.f32 " +
		"sqrt.approx.f32 rsqrt.approx.f32 sin.approx.f32 cos.approx.f32 lg2.approx.f32 ex2.approx.ftz.f32 tanh.approx.f32") {
		allNaN(t, op, 0x7fffffff, eval1[uint32](t, "f32", "f32", op+" %d, %a;", nans32), nans32)
	}
}

// The same is true if the operands are numbers.
func TestInvalidOperationsInF32MakeThatNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	for op, operands := range map[string][2]float32{
		"add.f32": {inf, -inf}, "sub.f32": {inf, inf}, "mul.f32": {inf, 0}, "mul.ftz.f32": {0x1p-140, -inf},
		"div.rn.f32": {0, 0}, "div.full.f32": {-inf, inf}, "div.approx.f32": {inf, 0x1p127},
	} {
		a, b := make([]float32, 33), make([]float32, 33)
		for i := range a {
			a[i], b[i] = operands[0], operands[1]
		}
		allNaN(t, op, 0x7fffffff, eval2[uint32](t, "f32", "f32", "f32", op+" %d, %a, %b;", a, b), a, b)
	}
	inf33, zero := make([]float32, 33), make([]float32, 33)
	for i := range inf33 {
		inf33[i] = inf
	}
	allNaN(t, "fma.rn.f32", 0x7fffffff, eval3[uint32](t, "f32", "f32", "f32", "f32", "fma.rn.f32 %d, %a, %b, %c;", inf33, zero, zero), inf33, zero, zero)
	negative := []float32{-1, -inf, -0x1p-140}
	allNaN(t, "sqrt.rn.f32", 0x7fffffff, eval1[uint32](t, "f32", "f32", "sqrt.rn.f32 %d, %a;", negative), negative)
}

func TestExtremesOfANaNAreTheNumber(t *testing.T) {
	one := math.Float32bits(1)
	a, b := pairsOf(one, nans32)
	for _, op := range []string{"min.f32", "max.f32", "min.ftz.f32", "max.ftz.f32"} {
		got := eval2[uint32](t, "f32", "f32", "f32", op+" %d, %a, %b;", a, b)
		for i := range a {
			want := one
			if a[i] != one && b[i] != one {
				want = 0x7fffffff
			}
			if got[i] != want {
				t.Errorf("%s of %#x and %#x is %#x, want %#x", op, a[i], b[i], got[i], want)
			}
		}
	}
}

func TestArithmeticInHalvesMakesOneNaN(t *testing.T) {
	for _, ty := range []struct {
		name string
		one  uint16
		nans []uint16
	}{{"f16", 0x3c00, nansF16}, {"bf16", 0x3f80, nansBF16}} {
		a, b := pairsOf(ty.one, ty.nans)
		pair := func(v []uint16) (two []uint32) { // with numbers above, and below
			for _, x := range v {
				two = append(two, uint32(x)|uint32(ty.one)<<16, uint32(ty.one)|uint32(x)<<16)
			}
			return two
		}
		a2, b2 := pair(a), pair(b)
		for _, name := range strings.Fields("add sub mul min.NaN max.NaN") {
			op := name + "." + ty.name
			allNaN(t, op, 0x7fff, eval2[uint16](t, ty.name, ty.name, ty.name, op+" %d, %a, %b;", a, b), a, b)
			got := eval2[uint32](t, ty.name+"x2", ty.name+"x2", ty.name+"x2", op+"x2 %d, %a, %b;", a2, b2)
			allNaN(t, op+"x2", 0x7fff, nanHalves(got), a2, b2)
		}
		a, b, c := triplesOf(ty.one, ty.nans)
		a2, b2, c2 := pair(a), pair(b), pair(c)
		op := "fma.rn." + ty.name
		allNaN(t, op, 0x7fff, eval3[uint16](t, ty.name, ty.name, ty.name, ty.name, op+" %d, %a, %b, %c;", a, b, c), a, b, c)
		got := eval3[uint32](t, ty.name+"x2", ty.name+"x2", ty.name+"x2", ty.name+"x2", op+"x2 %d, %a, %b, %c;", a2, b2, c2)
		allNaN(t, op+"x2", 0x7fff, nanHalves(got), a2, b2, c2)
	}
}

// nanHalves returns the halves that are NaNs: alternately the lower and the upper one.
func nanHalves(v []uint32) (halves []uint16) {
	for i, x := range v {
		halves = append(halves, uint16(x>>(i%2*16)))
	}
	return halves
}

func TestConversionsOfNaNs(t *testing.T) {
	nans64 := []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff}
	allNaN(t, "cvt.f32.f16", 0x7fffffff, eval1[uint32](t, "f32", "f16", "cvt.f32.f16 %d, %a;", nansF16), nansF16)
	allNaN(t, "cvt.rn.f16.f32", 0x7fff, eval1[uint16](t, "f16", "f32", "cvt.rn.f16.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rn.bf16.f32", 0x7fff, eval1[uint16](t, "bf16", "f32", "cvt.rn.bf16.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rn.tf32.f32", 0x7fffe000, eval1[uint32](t, "b32", "f32", "cvt.rn.tf32.f32 %d, %a;", nans32), nans32)
	allNaN(t, "cvt.rni.ftz.f32.f32", 0x7fffffff, eval1[uint32](t, "f32", "f32", "cvt.rni.ftz.f32.f32 %d, %a;", nans32), nans32)
	same := func(op string, got []uint64, want func(i int) uint64) {
		t.Helper()
		for i := range got {
			if got[i] != want(i) {
				t.Errorf("%s: result %d is %#x, want %#x", op, i, got[i], want(i))
			}
		}
	}
	// These preserve the NaN: bf16 all of it, f64 the sign and the payload.
	wide := func(v []uint32) (w []uint64) {
		for _, x := range v {
			w = append(w, uint64(x))
		}
		return w
	}
	same("cvt.f32.bf16", wide(eval1[uint32](t, "f32", "bf16", "cvt.f32.bf16 %d, %a;", nansBF16)), func(i int) uint64 { return uint64(nansBF16[i]) << 16 })
	same("cvt.f64.f32", eval1[uint64](t, "f64", "f32", "cvt.f64.f32 %d, %a;", nans32), func(i int) uint64 {
		x := uint64(nans32[i])
		return x>>31<<63 | 0x7ff8<<48 | x&0x7fffff<<29
	})
	same("cvt.rn.f32.f64", wide(eval1[uint32](t, "f32", "f64", "cvt.rn.f32.f64 %d, %a;", nans64)), func(i int) uint64 {
		x := nans64[i]
		return x>>63<<31 | 0x7fc<<20 | x>>29&0x7fffff
	})
}

func TestArithmeticInF64KeepsANaN(t *testing.T) {
	nans := []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff, 0xfff0123456789abc}
	a, b := pairsOf(math.Float64bits(1), nans)
	for _, op := range []string{"add.f64", "sub.f64", "mul.f64"} {
		got := eval2[uint64](t, "f64", "f64", "f64", op+" %d, %a, %b;", a, b)
		for i := range a {
			want := a[i]
			if y := math.Float64frombits(b[i]); y != y {
				want = b[i]
			}
			want |= 1 << 51 // quiet
			if got[i] != want {
				t.Errorf("%s of %#x and %#x is %#x, want %#x", op, a[i], b[i], got[i], want)
			}
		}
	}
}

// allNaN checks that every result is the expected NaN.
func allNaN[D, A number](t *testing.T, op string, want D, got []D, operands ...[]A) {
	t.Helper()
	for i := range got {
		var of []A
		for _, o := range operands {
			of = append(of, o[i])
		}
		if got[i] != want {
			t.Errorf("%s of %#x is %#x, want %#x", op, of, got[i], want)
		}
	}
}
