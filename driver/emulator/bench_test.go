package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// bench opens an emulator for a benchmark. It measures the emulator's own cost, which determines
// how long tests on it take.
func bench(b *testing.B) (d *driver.Driver, ctx cu.CUcontext) {
	b.Helper()
	emu := emulator.New(emulator.Config{})
	d, err := driver.New(emu)
	if err == nil {
		err = d.CuInit(0)
	}
	if err == nil {
		err = d.CuDevicePrimaryCtxRetain(&ctx, 0)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { emu.Close() })
	return d.Bound(ctx), ctx
}

func BenchmarkGetCurrent(b *testing.B) {
	d, ctx := bench(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.CuCtxGetCurrent(&ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFillAndWait(b *testing.B) {
	d, _ := bench(b)
	var p cu.CUdeviceptr
	if err := d.CuMemAlloc(&p, 64); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.CuMemsetD32(p, 0, 16); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGraphLaunch launches a graph of 100 fills.
func BenchmarkGraphLaunch(b *testing.B) {
	d, ctx := bench(b)
	var p cu.CUdeviceptr
	var g cu.CUgraph
	var x cu.CUgraphExec
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	check(d.CuMemAlloc(&p, 64))
	check(d.CuGraphCreate(&g, 0))
	set := cu.CUDA_MEMSET_NODE_PARAMS{Dst: p, ElementSize: 4, Width: 16, Height: 1}
	for range 100 {
		var n cu.CUgraphNode
		check(d.CuGraphAddMemsetNode(&n, g, nil, 0, &set, ctx))
	}
	check(d.CuGraphInstantiate(&x, g, 0))
	b.ReportAllocs()
	for b.Loop() {
		check(d.CuGraphLaunch(x, 0))
		check(d.CuStreamSynchronize(0))
	}
}
