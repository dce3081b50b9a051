package example

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// The benchmarks run on a GPU if there is one. Otherwise they run on an emulator whose
// launch functions do nothing, and so measure a launch without the driver. The programs
// in bench/ compare launches with C.
func benchRig(b *testing.B) (axpy Axpy, s *driver.Stream, x *driver.Buffer[float32]) {
	b.Helper()
	c := benchContext(b)
	ks := must(LoadKernels(c))(b)
	b.Cleanup(func() { noError(b, ks.Close()) })
	s = must(c.NewStream())(b)
	b.Cleanup(func() { noError(b, s.Close()) })
	x = must(driver.AllocFrom(c, []float32{1}))(b)
	b.Cleanup(func() { noError(b, x.Close()) })
	b.ReportAllocs()
	return ks.Axpy, s, x
}

func benchContext(b *testing.B) *driver.Context {
	b.Helper()
	if driver.Available() == nil {
		return gputest.Context(b, gputest.GPU(b))
	}
	return gputest.Silent(b, cu.FnCuLaunchKernel)
}

// run waits from time to time, outside the measured time, because the driver's queue
// holds only about a thousand launches.
func run(b *testing.B, s *driver.Stream, launch func() error) {
	b.Helper()
	for n := 0; b.Loop(); n++ {
		if n%500 == 0 {
			b.StopTimer()
			noError(b, s.Wait(context.Background()))
			b.StartTimer()
		}
		if err := launch(); err != nil {
			b.Fatal(err)
		}
	}
	noError(b, s.Wait(context.Background()))
}

func BenchmarkPreparedLaunch(b *testing.B) {
	axpy, s, x := benchRig(b)
	op := must(axpy.Op(axpy.Grid(1), x, x, 1, 1))(b)
	run(b, s, func() error { return s.Do(op) })
}

func BenchmarkStep(b *testing.B) {
	axpy, s, x := benchRig(b)
	args := must(axpy.Prepare(axpy.Grid(1), x, x, 1, 1))(b)
	run(b, s, func() error {
		if err := args.Alpha.Set(2); err != nil {
			return err
		}
		return s.Do(args.Launch)
	})
}

func BenchmarkDo(b *testing.B) {
	axpy, s, x := benchRig(b)
	cfg := axpy.Grid(1)
	run(b, s, func() error { return axpy.Do(s, cfg, x.All(), x.All(), 1, 1) })
}

// BenchmarkKernelLaunch measures a launch without generated code, for comparison.
func BenchmarkKernelLaunch(b *testing.B) {
	axpy, s, x := benchRig(b)
	k, cfg := axpy.Kernel(), axpy.Grid(1)
	run(b, s, func() error { return k.Launch(s, cfg, x, x, float32(1), uint32(1)) })
}
