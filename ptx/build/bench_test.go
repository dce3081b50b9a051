package build_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// large returns a module with a kernel of n instructions.
func large(n int) *build.Module {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	x := k.Param("x", ptx.U64)
	addr, p, end := k.Reg(ptx.B64), k.Reg(ptx.Pred), k.NewLabel("end")
	k.Op("ld.param.u64", addr, x.At(0))
	for i := 1; i < n; i += 5 {
		v, w := k.Reg(ptx.F32), k.Reg(ptx.F32)
		k.Op("ld.global.f32", v, addr.At(int64(4*i)))
		k.Op("fma.rn.f32", w, v, v, build.F32(1.5))
		k.Op("setp.lt.f32", p, w, v)
		k.When(p).Bra(end)
		k.Op("st.global.f32", addr.At(int64(4*i)), w)
	}
	k.Place(end)
	return m
}

// BenchmarkModule constructs, checks and prints a kernel of 2,000 instructions.
func BenchmarkModule(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := large(2000).Text(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkConstruct constructs the same kernel without checking it.
func BenchmarkConstruct(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		large(2000)
	}
}
