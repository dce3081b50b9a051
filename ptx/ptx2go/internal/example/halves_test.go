package example

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/num"
)

// The launchers must accept buffers of the library's 16-bit floats, and such floats and
// structs of them by value.
func TestHalvesAreTheLibrarysTypes(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		x := buffer(r, num.ToF16s([]float32{1, -2, 0.5, 1000}))
		line := r.ks.HalfLine
		noError(t, line.Do(r.s, line.Grid(4), x.All(), Affine{A: num.ToF16(2), B: num.ToF16(-0.25)}, 4))
		wants(r, x, num.ToF16s([]float32{1.75, -4.25, 0.75, 2000})...)

		y, wide := buffer(r, num.ToBF16s([]float32{3, -0.125, 1 << 100})), r.floats(0, 0, 0)
		widen := r.ks.Bf16Widen
		noError(t, widen.Do(r.s, widen.Grid(3), y.All(), wide.All(), num.ToBF16(0.5), 3))
		wants(r, wide, 1.5, -0.0625, 1<<99)
	})
}

// halve multiplies each e4m3 number in f16 by a half that is passed by value.
const halve = `.version 8.1
.target sm_89
.address_size 64
.visible .entry halve(.param .u64 x, .param .align 1 .b8 factor[1])
{
	.reg .b16 %h<4>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
	ld.param.u64 %rd1, [x];
	cvta.to.global.u64 %rd1, %rd1;
	ld.param.u8 %h1, [factor];
	mov.u32 %r1, %tid.x;
	cvt.u64.u32 %rd2, %r1;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u8 %h2, [%rd3];
	cvt.rn.f16x2.e4m3x2 %r2, %h2;
	cvt.rn.f16x2.e4m3x2 %r3, %h1;
	mul.rn.f16x2 %r4, %r2, %r3;
	cvt.rn.satfinite.e4m3x2.f16x2 %h3, %r4;
	st.global.u8 [%rd3], %h3;
	ret;
}`

// Buffers and parameters of 8-bit floats must reach a kernel. The kernel must compute what
// package num computes, for every number.
func TestEightBitFloatsReachAKernel(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		major, minor, err := c.Device().ComputeCapability()
		noError(t, err)
		if major*10+minor < 89 {
			t.Skip("conversions of e4m3 require sm_89")
		}
		m, err := c.LoadModule([]byte(halve))
		noError(t, err)
		k, err := m.Kernel("halve")
		noError(t, err)
		half := num.ToE4M3(0.5)
		var all, want []num.E4M3
		for i := range 256 {
			x := num.E4M3FromBits(uint8(i))
			all = append(all, x)
			want = append(want, num.To[num.E4M3](num.Mul(num.To[num.F16](x), num.To[num.F16](half))))
		}
		x := buffer(r, all)
		noError(t, k.Launch(r.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(256)}, x, half))
		wants(r, x, want...)
		noError(t, m.Close())
	})
}
