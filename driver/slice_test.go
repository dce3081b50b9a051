package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
)

// header stores what it receives as a slice: address, length, capacity, and of a View address and
// length.
const headerPTX = `.version 6.0
.target sm_52
.address_size 64
.visible .entry header(.param .u64 out, .param .align 8 .b8 s[24], .param .align 8 .b8 v[16])
{
	.reg .b64 %r<7>;
	ld.param.u64 %r0, [out];
	ld.param.u64 %r1, [s];
	ld.param.u64 %r2, [s+8];
	ld.param.u64 %r3, [s+16];
	ld.param.u64 %r4, [v];
	ld.param.u64 %r5, [v+8];
	st.global.u64 [%r0], %r1;
	st.global.u64 [%r0+8], %r2;
	st.global.u64 [%r0+16], %r3;
	st.global.u64 [%r0+24], %r4;
	st.global.u64 [%r0+32], %r5;
	ret;
}
`

func headerKernel(t *testing.T, c *driver.Context) *driver.Kernel {
	m := must(c.LoadModule([]byte(headerPTX)))(t)
	t.Cleanup(func() { noError(t, m.Close()) })
	return must(m.Kernel("header"))(t)
}

func alloc[T any](t *testing.T, c *driver.Context, n int) *driver.Buffer[T] {
	b := must(driver.Alloc[T](c, n))(t)
	t.Cleanup(func() { noError(t, b.Close()) })
	return b
}

type headerArgs struct {
	out driver.View[uint64]
	s   driver.View[float32]
	v   driver.View[uint16]
}

// A parameter of 24 bytes receives memory as a slice, one of 16 bytes as a View, through each way to
// set an argument.
func TestMemoryIsPassedAsASlice(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		s := must(c.NewStream())(t)
		defer s.Close()
		out, x, y := alloc[uint64](t, c, 5), alloc[float32](t, c, 10), alloc[uint16](t, c, 7)
		check := func(where string, a driver.View[float32], b driver.View[uint16]) {
			t.Helper()
			noError(t, s.Wait(t.Context()))
			got := make([]uint64, 5)
			noError(t, out.CopyTo(got))
			want := [5]uint64{uint64(a.Ptr()), uint64(a.Len()), uint64(a.Len()), uint64(b.Ptr()), uint64(b.Len())}
			if [5]uint64(got) != want {
				t.Errorf("%s: got %v, want %v", where, got, want)
			}
		}
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		l := must(k.Prepare(cfg, out, driver.In(x), y.View(1, 3)))(t)
		noError(t, s.Do(l))
		check("Prepare", x.All(), y.View(1, 3))
		noError(t, driver.SetArg(l, 1, x.View(2, 7)))
		noError(t, driver.SetArg(l, 2, y))
		noError(t, s.Do(l))
		check("SetArg", x.View(2, 7), y.All())
		noError(t, driver.SetArg(l, 1, driver.In(x.View(1, 1))))
		noError(t, s.Do(l))
		check("empty", x.View(1, 1), y.All())
		bytes := must(driver.ViewAs[byte](x))(t)
		noError(t, driver.SetArg(l, 1, driver.In(bytes)))
		noError(t, s.Do(l))
		if got := must(driver.ArgOf[driver.View[byte]](l, 1))(t); got == (driver.Arg[driver.View[byte]]{}) {
			t.Error("no argument")
		}
		noError(t, s.Wait(t.Context()))
		got := make([]uint64, 5)
		noError(t, out.CopyTo(got))
		if got[1] != 40 {
			t.Errorf("length of the bytes is %d, not 40", got[1])
		}

		calls := must(driver.NewCalls(k, driver.Writes, driver.Reads, driver.Reads))(t)
		for _, v := range []driver.View[float32]{x.All(), x.View(0, 4), x.View(0, 4), x.View(4, 10)} {
			noError(t, calls.Do(s, &cfg, &headerArgs{out.All(), v, y.View(0, v.Len()/2)}))
			check("Do", v, y.View(0, v.Len()/2))
		}
		for _, m := range []driver.Memory{x, bytes, x.View(0, 4)} {
			noError(t, calls.Do(s, &cfg, &struct{ a, b, c driver.Memory }{out, m, y}))
			noError(t, s.Wait(t.Context()))
			noError(t, out.CopyTo(got))
			if n := uint64(m.Bytes()) / map[bool]uint64{true: 1, false: 4}[m == driver.Memory(bytes)]; got[1] != n || got[2] != n {
				t.Errorf("Do of %v: length %d, want %d", m, got[1], n)
			}
		}
		_, err := k.Prepare(cfg, x.All(), uint64(1), y)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 1 (s)")
	})
}

// Overlapping memory of a restrict argument is refused when the launch is enqueued, so arguments
// can be exchanged one by one before.
func TestRestrictArgumentsMustNotOverlap(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		wantError(t, k.Restrict(3), driver.CUDA_ERROR_INVALID_VALUE, "no argument 3")
		wantError(t, (*driver.Kernel)(nil).Restrict(0), driver.CUDA_ERROR_INVALID_VALUE)
		noError(t, k.Restrict(1))
		s := must(c.NewStream())(t)
		defer s.Close()
		out, x := alloc[uint64](t, c, 6), alloc[float32](t, c, 10)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		other := alloc[float32](t, c, 10)

		l := must(k.Prepare(cfg, out, x, other))(t)
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 1, other.All()))
		wantError(t, s.Do(l), driver.CUDA_ERROR_INVALID_VALUE, "header", "argument 2 (v)", "overlaps that of argument 1 (s)", "restrict")
		wantError(t, s.Do(l.Clone()), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		noError(t, driver.SetArg(l, 2, x.All()))
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 1, driver.In(x)))
		wantError(t, s.Do(l), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		noError(t, driver.SetArg(l, 2, driver.In(x)))
		noError(t, s.Do(l)) // both are only read

		calls := must(driver.NewCalls(k, driver.Writes, driver.ReadsWrites, driver.Reads))(t)
		type args struct {
			out     driver.View[uint64]
			s, view driver.View[float32]
		}
		for range 2 {
			noError(t, calls.Do(s, &cfg, &args{out.All(), x.View(0, 5), x.View(5, 10)}))
			wantError(t, calls.Do(s, &cfg, &args{out.All(), x.View(0, 6), x.View(5, 10)}), driver.CUDA_ERROR_INVALID_VALUE, "overlaps")
		}
		noError(t, s.Wait(t.Context()))
	})
}

// A struct passed by value can contain a View of package gpu, and so can memory.
func TestStructsWithViews(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		k := headerKernel(t, c)
		s := must(c.NewStream())(t)
		defer s.Close()
		out := alloc[uint64](t, c, 5)
		type params struct {
			v gpu.View[int32]
			n int
		}
		alloc[params](t, c, 1)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		l := must(k.Prepare(cfg, out, params{gpu.ViewAt[int32](uint64(64), 5), 6}, gpu.ViewAt[byte](uint64(128), 7)))(t)
		noError(t, s.Do(l))
		noError(t, driver.SetArg(l, 2, gpu.ViewAt[byte](uint64(256), 8)))
		noError(t, s.Do(l))
		noError(t, s.Wait(t.Context()))
		got := make([]uint64, 5)
		noError(t, out.CopyTo(got))
		if [5]uint64(got) != [5]uint64{64, 5, 6, 256, 8} {
			t.Errorf("got %v", got)
		}
		type host struct{ _ *int32 }
		if _, err := driver.Alloc[host](c, 1); err == nil {
			t.Error("memory of host pointers")
		}
	})
}
