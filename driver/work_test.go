package driver_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// The tests below run real work and check its results on the emulator and on a GPU. The kernels
// must run on both.

const workPTX = `.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .f32 factor = 0f40000000;

.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 alpha, .param .u32 n)
{
	.reg .pred %p;
	.reg .b32 %i, %a, %b;
	.reg .f32 %f<4>;
	.reg .b64 %x, %y, %o;
	mov.u32 %a, %ctaid.x;
	mov.u32 %b, %ntid.x;
	mov.u32 %i, %tid.x;
	mad.lo.u32 %i, %a, %b, %i;
	ld.param.u32 %a, [n];
	setp.ge.u32 %p, %i, %a;
	@%p ret;
	ld.param.u64 %x, [x];
	ld.param.u64 %y, [y];
	cvta.to.global.u64 %x, %x;
	cvta.to.global.u64 %y, %y;
	mul.wide.u32 %o, %i, 4;
	add.u64 %x, %x, %o;
	add.u64 %y, %y, %o;
	ld.global.f32 %f1, [%x];
	ld.global.f32 %f2, [%y];
	ld.param.f32 %f3, [alpha];
	fma.rn.f32 %f2, %f1, %f3, %f2;
	st.global.f32 [%y], %f2;
	ret;
}

.visible .entry scale(.param .u64 y)
{
	.reg .b32 %i;
	.reg .f32 %f<3>;
	.reg .b64 %y, %o, %g;
	mov.u32 %i, %tid.x;
	ld.param.u64 %y, [y];
	cvta.to.global.u64 %y, %y;
	mul.wide.u32 %o, %i, 4;
	add.u64 %y, %y, %o;
	ld.global.f32 %f1, [%y];
	ld.global.f32 %f2, [factor];
	mul.rn.f32 %f1, %f1, %f2;
	st.global.f32 [%y], %f1;
	ret;
}

.visible .entry byvalue(.param .u64 out, .param .align 8 .b8 v[24])
{
	.reg .b32 %a, %b;
	.reg .b64 %o, %w;
	.reg .f64 %d;
	ld.param.u64 %o, [out];
	cvta.to.global.u64 %o, %o;
	ld.param.u32 %a, [v];
	ld.param.u32 %b, [v+4];
	ld.param.f64 %d, [v+8];
	ld.param.u64 %w, [v+16];
	st.global.u32 [%o], %a;
	st.global.u32 [%o+4], %b;
	st.global.f64 [%o+8], %d;
	st.global.u64 [%o+16], %w;
	ret;
}

.visible .entry set(.param .u64 y)
{
	.reg .b32 %i, %a, %b;
	.reg .b64 %y, %o;
	mov.u32 %a, %ctaid.x;
	mov.u32 %b, %ntid.x;
	mov.u32 %i, %tid.x;
	mad.lo.u32 %i, %a, %b, %i;
	ld.param.u64 %y, [y];
	cvta.to.global.u64 %y, %y;
	mul.wide.u32 %o, %i, 4;
	add.u64 %y, %y, %o;
	st.global.f32 [%y], 0f3F800000;
	ret;
}

.extern .shared .align 4 .b8 dynamic[];
.visible .entry reverse(.param .u64 p, .param .u32 n)
{
	.reg .b32 %i, %j, %n, %v, %s;
	.reg .b64 %p, %q, %o;
	mov.u32 %i, %tid.x;
	ld.param.u32 %n, [n];
	ld.param.u64 %p, [p];
	cvta.to.global.u64 %p, %p;
	mul.wide.u32 %o, %i, 4;
	add.u64 %q, %p, %o;
	ld.global.u32 %v, [%q];
	sub.u32 %j, %n, %i;
	sub.u32 %j, %j, 1;
	shl.b32 %j, %j, 2;
	mov.u32 %s, dynamic;
	add.u32 %s, %s, %j;
	st.shared.u32 [%s], %v;
	bar.sync 0;
	mov.u32 %s, dynamic;
	shl.b32 %i, %i, 2;
	add.u32 %s, %s, %i;
	ld.shared.u32 %v, [%s];
	st.global.u32 [%q], %v;
	ret;
}
`

// work holds the objects that most tests need. Its methods fail the test on errors.
type work struct {
	testing.TB
	c *driver.Context
	s *driver.Stream
	m *driver.Module
}

func newWork(t testing.TB, c *driver.Context) *work {
	t.Helper()
	w := &work{TB: t, c: c}
	w.s = must(c.NewStream())(t)
	t.Cleanup(func() { noError(t, w.s.Close()) })
	w.m = must(c.LoadModule([]byte(workPTX)))(t)
	t.Cleanup(func() { noError(t, w.m.Close()) })
	return w
}

// closing returns the object and closes it when the test ends.
func closing[T interface{ Close() error }](w *work) func(T, error) T {
	return func(v T, err error) T {
		w.Helper()
		noError(w, err)
		w.Cleanup(func() { noError(w, v.Close()) })
		return v
	}
}

func (w *work) floats(v ...float32) *driver.Buffer[float32] {
	w.Helper()
	return closing[*driver.Buffer[float32]](w)(driver.AllocFrom(w.c, v))
}

func (w *work) do(op driver.Op, err error) {
	w.Helper()
	noError(w, err)
	noError(w, w.s.Do(op))
}

func (w *work) wait() {
	w.Helper()
	noError(w, w.s.Wait(context.Background()))
}

func (w *work) kernel(name string) *driver.Kernel {
	w.Helper()
	return must(w.m.Kernel(name))(w)
}

func contents[T any](w *work, v driver.MemoryOf[T]) []T {
	w.Helper()
	w.wait()
	got := make([]T, v.All().Len())
	noError(w, v.All().CopyTo(got))
	return got
}

func expect[T comparable](w *work, what string, got, want []T) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s is %v, not %v", what, got, want)
	}
}

func TestBufferRoundTrip(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		roundTrip(t, c, []byte{1, 2, 3})
		roundTrip(t, c, []float64{1, math.Inf(-1), 3})
		roundTrip(t, c, []int16{-1, 2})
		roundTrip(t, c, []bool{true, false, true})
		roundTrip(t, c, []struct {
			A int8
			B float32
			C [3]uint16
		}{{1, 2, [3]uint16{3, 4, 5}}, {B: -1}})
	})
}

func roundTrip[T comparable](t *testing.T, c *driver.Context, values []T) {
	t.Helper()
	w := &work{TB: t, c: c, s: c.LegacyStream()}
	b := closing[*driver.Buffer[T]](w)(driver.AllocFrom(c, values))
	expect(w, "the buffer", contents(w, b), values)
	noError(t, b.View(1, 2).CopyFrom(values[:1]))
	expect(w, "its second element", contents(w, b.View(1, 2)), values[:1])
}

func TestCopiesThroughPageLockedMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		const n = 1000
		in := closing[*driver.HostBuffer[int32]](w)(driver.AllocHost[int32](c, n))
		out := closing[*driver.HostBuffer[int32]](w)(driver.AllocHost[int32](c, n))
		a := closing[*driver.Buffer[int32]](w)(driver.Alloc[int32](c, n))
		b := closing[*driver.Buffer[int32]](w)(driver.Alloc[int32](c, n))
		for i := range in.Slice() {
			in.Slice()[i] = int32(i * i)
		}
		w.do(driver.Upload(a, in))
		w.do(driver.CopyDevice(b.View(0, 400), a.View(600, 1000)))
		w.do(driver.CopyDevice(b.View(400, 1000), a.View(0, 600)))
		w.do(driver.Download(out, b))
		w.wait()
		for i, v := range out.Slice() {
			if want := int32((i + 600) % n * ((i + 600) % n)); v != want {
				t.Fatalf("element %d is %d, not %d", i, v, want)
			}
		}
		noError(t, must(driver.Upload(a, out))(t).Run())
		expect(w, "what was copied at once", contents(w, a), out.Slice())
	})
}

func TestRegisteredMemoryTakesPartInCopies(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		in := []float32{1, 2, 3, 4}
		h := closing[*driver.HostBuffer[float32]](w)(driver.RegisterHost(c, in))
		b := w.floats(0, 0, 0, 0)
		w.do(driver.Upload(b, h))
		expect(w, "the buffer", contents(w, b), in)
		noError(t, b.Fill(5))
		w.do(driver.Download(h, b))
		w.wait()
		expect(w, "the slice", in, []float32{5, 5, 5, 5})
	})
}

func TestFillsOfEverySize(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		fills(t, c, byte(7), 5)
		fills(t, c, uint16(0x1234), 5)
		fills(t, c, float32(1.5), 5)
		fills(t, c, float64(-2.25), 5)
		fills(t, c, [3]byte{1, 2, 3}, 5)
		fills(t, c, [3]uint16{1, 2, 3}, 5)
		fills(t, c, [3]float32{1, 2, 3}, 5)
		fills(t, c, [2]float64{1, 1}, 5)
	})
}

func fills[T comparable](t *testing.T, c *driver.Context, v T, n int) {
	t.Helper()
	w := &work{TB: t, c: c, s: c.LegacyStream()}
	var zero T
	b := closing[*driver.Buffer[T]](w)(driver.Alloc[T](c, n))
	noError(t, b.Fill(zero))
	noError(t, b.View(1, n-1).Fill(v))
	want := slices.Repeat([]T{v}, n)
	want[0], want[n-1] = zero, zero
	expect(w, "the buffer", contents(w, b), want)
}

func TestFillAndCopyOfRegions(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		const pitch, rows, layers = 8, 4, 3
		b := closing[*driver.Buffer[uint32]](w)(driver.Alloc[uint32](c, pitch*rows*layers))
		want := make([]uint32, b.Len())
		w.do(driver.Fill(b, 9))
		w.do(driver.Fill2D(b.View(2, b.Len()), 5, pitch, 3, rows))
		for i := range want {
			want[i] = 9
			if row, x := i/pitch, i%pitch; row < rows && x >= 2 && x < 5 {
				want[i] = 5
			}
		}
		expect(w, "the filled buffer", contents(w, b), want)

		host := closing[*driver.HostBuffer[uint32]](w)(driver.AllocHost[uint32](c, 2*2*2))
		copy(host.Slice(), []uint32{10, 11, 12, 13, 14, 15, 16, 17})
		place := driver.Region{Memory: b, Pitch: pitch * 4, Rows: rows, X: 3 * 4, Y: 1, Layer: 1}
		w.do(driver.Copy3D(place, driver.Region{Memory: host, Pitch: 2 * 4, Rows: 2}, 2*4, 2, 2))
		for i, v := range host.Slice() {
			layer, y, x := 1+i/4, 1+i/2%2, 3+i%2
			want[(layer*rows+y)*pitch+x] = v
		}
		expect(w, "the copied buffer", contents(w, b), want)

		row := closing[*driver.HostBuffer[uint32]](w)(driver.AllocHost[uint32](c, 4))
		w.do(driver.Copy2D(driver.Region{Memory: row, Pitch: 8},
			driver.Region{Memory: b, Pitch: pitch * 4, X: 4, Y: 1}, 8, 2))
		w.wait()
		expect(w, "the 2D copy", row.Slice(), []uint32{want[pitch+1], want[pitch+2], want[2*pitch+1], want[2*pitch+2]})
	})
}

func TestLaunchesComputeAndSetArgChangesThem(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		x, y := w.floats(1, 2, 3, 4), w.floats(10, 20, 30, 40)
		l := must(w.kernel("axpy").Prepare(driver.LaunchConfig{Grid: driver.Blocks(4, 3), Block: driver.D1(3)}, x, y, float32(2), uint32(4)))(t)
		w.do(l, nil)
		expect(w, "y", contents(w, y), []float32{12, 24, 36, 48})
		noError(t, driver.SetArg(l, 2, float32(-1)))
		noError(t, driver.SetArg(l, 0, x.View(2, 4)))
		noError(t, driver.SetArg(l, 3, uint32(2)))
		w.do(l, nil)
		expect(w, "y", contents(w, y), []float32{9, 20, 36, 48})
		noError(t, w.kernel("axpy").Launch(w.s, l.Config(), x, y, float32(1), int32(1)))
		expect(w, "y", contents(w, y), []float32{10, 20, 36, 48})
	})
}

func TestStructsArePassedByValue(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		type params struct {
			A, B uint32
			D    float64
			P    driver.CUdeviceptr
		}
		out := closing[*driver.Buffer[params]](w)(driver.Alloc[params](c, 1))
		one := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		want := params{1, 2, 3.5, out.Ptr()}
		noError(t, w.kernel("byvalue").Launch(w.s, one, out, want))
		expect(w, "the struct", contents(w, out), []params{want})
	})
}

func TestDynamicSharedMemoryBeyondTheDefault(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		p := closing[*driver.Buffer[uint32]](w)(driver.AllocFrom(c, []uint32{1, 2, 3, 4}))
		k := w.kernel("reverse")
		optin := must(c.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))(t)
		noError(t, k.Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(4), SharedMem: uint32(optin)}, p, uint32(4)))
		expect(w, "the buffer", contents(w, p), []uint32{4, 3, 2, 1})
		_, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(4), SharedMem: uint32(optin) + 1}, p, uint32(4))
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "shared memory")
	})
}

func TestLaunchAttributesAreTaken(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		_, greatest, err := c.StreamPriorityRange()
		noError(t, err)
		x, y := w.floats(1, 2), w.floats(10, 20)
		cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2), Cooperative: true, Priority: greatest}
		l := must(w.kernel("axpy").Prepare(cfg, x, y, float32(1), uint32(2)))(t)
		w.do(l, nil)
		expect(w, "y", contents(w, y), []float32{11, 22})
	})
}

func TestGlobalsAreMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		factor := must(driver.ViewAs[float32](must(w.m.Global("factor"))(t)))(t)
		expect(w, "the variable", contents(w, factor), []float32{2})
		y := w.floats(1, 2)
		pair := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		noError(t, factor.CopyFrom([]float32{3}))
		noError(t, w.kernel("scale").Launch(w.s, pair, y))
		expect(w, "y", contents(w, y), []float32{3, 6})
		_, err := w.m.Global("faktor")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "faktor", "module")
	})
}

func TestBrokenPTXNamesItsLine(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		broken := ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n\tnonsense.u32 %r1;\n\tret;\n}\n"
		_, err := c.LoadModule([]byte(broken))
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "line 6", "nonsense.u32 %r1;")
		noError(t, must(c.LoadModule([]byte(workPTX)))(t).Close()) // the context still works
	})
}

func TestKernelsTellAboutThemselves(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		k := w.kernel("axpy")
		info := must(k.Info())(t)
		if info.MaxThreadsPerBlock < 32 || info.MaxSharedDynamic < 1<<10 {
			t.Errorf("the kernel is %+v", info)
		}
		best := must(k.MaxPotentialBlockSize(nil, 256))(t)
		if best.Block < 32 || best.Block > 256 || best.MinGrid < 1 {
			t.Errorf("the best block is %+v", best)
		}
		if n := must(k.MaxActiveBlocks(best.Block, 0))(t); n < 1 {
			t.Errorf("%d blocks fit", n)
		}
	})
}

func TestLibrariesAreLikeModules(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		l := closing[*driver.Library](w)(c.LoadLibrary([]byte(workPTX)))
		x, y := w.floats(1, 2), w.floats(10, 20)
		k := must(l.Kernel("axpy"))(t)
		noError(t, k.Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, x, y, float32(1), uint32(2)))
		expect(w, "y", contents(w, y), []float32{11, 22})
		factor := must(l.Global("factor"))(t)
		if factor.Len() != 4 {
			t.Errorf("the variable has %d bytes", factor.Len())
		}
		_, err := l.Kernel("axqy")
		wantError(t, err, driver.CUDA_ERROR_NOT_FOUND, "axqy", "axpy, byvalue")
	})
}

func TestStreamOrderedAllocation(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		pool := closing[*driver.MemPool](w)(c.NewMemPool())
		noError(t, pool.SetReleaseThreshold(1<<30))
		out := closing[*driver.HostBuffer[float32]](w)(driver.AllocHost[float32](c, 2))
		for range 3 {
			x := must(driver.AllocFromPool[float32](w.s, pool, 2))(t)
			y := must(driver.AllocAsync[float32](w.s, 2))(t)
			w.do(driver.Fill(x, 3))
			w.do(driver.Fill(y, 4))
			noError(t, w.kernel("axpy").Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, x, y, float32(2), uint32(2)))
			w.do(driver.Download(out, y))
			noError(t, x.FreeAsync(w.s))
			noError(t, y.Close())
			w.wait()
			expect(w, "the result", out.Slice(), []float32{10, 10})
		}
		stats := must(pool.Stats())(t)
		if stats.Used != 0 || stats.UsedHigh < 8 || stats.Reserved == 0 {
			t.Errorf("the pool holds %+v", stats)
		}
		noError(t, c.Synchronize(context.Background()))
		noError(t, pool.Trim(0))
		if after := must(pool.Stats())(t); after.Reserved != 0 {
			t.Errorf("after Trim the pool holds %+v", after)
		}
	})
}

func TestDevicePools(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		first := must(c.DefaultPool())(t)
		if now := must(c.CurrentPool())(t); now.Raw() != first.Raw() {
			t.Errorf("the current pool is %v, not %v", now, first)
		}
		own := must(c.NewMemPool())(t)
		noError(t, c.SetPool(own))
		if now := must(c.CurrentPool())(t); now.Raw() != own.Raw() {
			t.Errorf("the current pool is %v, not %v", now, own)
		}
		noError(t, c.SetPool(first))
		noError(t, own.Close())
		noError(t, first.Close())
		must(first.Stats())(t)
		flags := must(first.Access(c.Device()))(t)
		if flags != cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
			t.Errorf("the device's access to its own pool is %v", flags)
		}
	})
}

func TestKernelsUseHostMemoryInPlace(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		y := closing[*driver.HostBuffer[float32]](w)(driver.AllocHostFrom(c, []float32{10, 20}))
		x := w.floats(1, 2)
		noError(t, w.kernel("axpy").Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, x, must(y.Device())(t), float32(1), uint32(2)))
		w.wait()
		expect(w, "y", y.Slice(), []float32{11, 22})
	})
}

func TestMemoryOperationsWriteAndWait(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		b := closing[*driver.Buffer[uint32]](w)(driver.AllocFrom(c, []uint32{1, 2}))
		w.do(driver.NewMemOp(c,
			driver.WriteWord(b, 0, 7, cu.CU_STREAM_WRITE_VALUE_DEFAULT),
			driver.WaitWord(b, 0, 7, cu.CU_STREAM_WAIT_VALUE_EQ),
			driver.WriteWord(b, 1, 8, cu.CU_STREAM_WRITE_VALUE_DEFAULT)))
		expect(w, "the buffer", contents(w, b), []uint32{7, 8})
	})
}

func TestRefusedLaunchesLeaveTheContextUsable(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		k, x, y := w.kernel("axpy"), w.floats(1), w.floats(2)
		one := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		for _, err := range []error{
			k.Launch(w.s, driver.LaunchConfig{Block: driver.D1(1)}, x, y, float32(1), uint32(1)),
			k.Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1 << 20)}, x, y, float32(1), uint32(1)),
			k.Launch(w.s, one, x, y, float32(1)),
			k.Launch(w.s, one, x, y, 1.0, uint32(1)),
		} {
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "kernel axpy")
		}
		noError(t, k.Launch(w.s, one, x, y, float32(1), uint32(1)))
		expect(w, "y", contents(w, y), []float32{3})
	})
}

func TestManyGoroutinesShareAContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		var all sync.WaitGroup
		for g := range 32 {
			all.Go(func() { errorOnly(t, axpyOnce(w, float32(g))) })
		}
		all.Wait()
	})
}

func errorOnly(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func axpyOnce(w *work, alpha float32) (err error) {
	s, err := w.c.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.Close()) }()
	x, err := driver.AllocFrom(w.c, []float32{1, 2, 3})
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, x.Close()) }()
	y, err := driver.AllocAsync[float32](s, 3)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, y.Close()) }()
	zero, err := driver.Fill(y, 0)
	if err != nil {
		return err
	}
	k, err := w.m.Kernel("axpy")
	if err != nil {
		return err
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(3)}
	got := make([]float32, 3)
	for _, step := range []func() error{
		func() error { return s.Do(zero) },
		func() error { return k.Launch(s, cfg, x, y, alpha, uint32(3)) },
		func() error { return s.Wait(context.Background()) },
		func() error { return y.CopyTo(got) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if want := []float32{alpha, 2 * alpha, 3 * alpha}; !slices.Equal(got, want) {
		w.Errorf("the result is %v, not %v", got, want)
	}
	return nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
