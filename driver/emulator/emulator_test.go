package emulator_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

func TestUnknownSymbolIsNotFound(t *testing.T) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	_, err := emu.Lookup("cuNoSuchFunction")
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "cuNoSuchFunction") {
		t.Errorf("got %v", err)
	}
	d, err := driver.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CuInit(0); err != nil {
		t.Fatal(err)
	}
	if err := d.CuGreenCtxDestroy(1); !errors.Is(err, cu.ErrNotSupported) {
		t.Errorf("a function that is not implemented: %v", err)
	}
}

func TestLeaksAreListed(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRig(t)
	var s cu.CUstream
	var p cu.CUdeviceptr
	var g cu.CUgraph
	r.ok(r.CuStreamCreate(&s, 1))
	r.ok(r.CuMemAlloc(&p, 100))
	r.ok(r.CuGraphCreate(&g, 0))
	kinds := func() string {
		var b strings.Builder
		for _, l := range r.emu.Leaks() {
			b.WriteString(l.Kind + "\n")
		}
		return b.String()
	}
	if got := kinds(); got != "graph\nmemory\nprimary context\nstream\n" {
		t.Errorf("open:\n%s", got)
	}
	r.ok(r.CuStreamDestroy(s))
	r.ok(r.CuMemFree(p))
	r.ok(r.CuGraphDestroy(g))
	if got := kinds(); got != "primary context\n" {
		t.Errorf("after closing:\n%s", got)
	}
	var ctx cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuStreamCreate(&s, 1))
	r.ok(r.CuCtxDestroy(ctx))
	leaks := r.emu.Leaks()
	if len(leaks) != 2 || !strings.Contains(leaks[1].String(), "reclaimed by cuCtxDestroy") {
		t.Errorf("what a context took with it: %v", leaks)
	}
	r.forgive = true
}

func TestCloseStopsWhatRuns(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	r := newRig(t)
	s := r.stream()
	p := r.alloc(4)
	r.ok(r.CuStreamWaitValue32(s, p, 1, 1)) // never written
	waiting := make(chan error)
	go func() { waiting <- r.CuStreamSynchronize(s) }()
	time.Sleep(5 * time.Millisecond)
	if err := r.emu.Close(); err != nil {
		t.Error(err)
	}
	<-waiting
	r.want("after Close", r.CuCtxSynchronize(), cu.CUDA_ERROR_DEINITIALIZED)
	if err := r.emu.Close(); err != nil {
		t.Error("second Close:", err)
	}
	r.forgive = true
}

func TestFaultReportNamesTheKernel(t *testing.T) {
	if onGPU {
		t.Skip("this is about the emulator alone")
	}
	var log bytes.Buffer
	r := newRigWith(t, emulator.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	r.ok(r.launch(r.kernel("broken"), 0, r.alloc(4), 0, 0))
	r.want("fault", r.CuCtxSynchronize(), cu.CUDA_ERROR_ILLEGAL_ADDRESS)
	for _, text := range []string{r.emu.LastFault(), log.String()} {
		if !strings.Contains(text, "broken") || !strings.Contains(text, "0x40") {
			t.Errorf("report: %s", text)
		}
	}
}

func TestUseOfFreedMemoryInAKernelIsAFault(t *testing.T) {
	if onGPU {
		t.Skip("a driver's allocator need not unmap it")
	}
	r := newRig(t)
	var p cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, 64))
	add := r.kernel("add")
	r.ok(r.CuMemFree(p))
	r.ok(r.launch(add, 0, p, 0, 1))
	r.want("use after free", r.CuCtxSynchronize(), cu.CUDA_ERROR_ILLEGAL_ADDRESS)
	if !strings.Contains(r.emu.LastFault(), "cuMemFree") {
		t.Errorf("report: %s", r.emu.LastFault())
	}
}

// Any goroutine may use a bound view while others capture and free.
func TestManyGoroutinesWorkAtATime(t *testing.T) {
	r := newRig(t)
	d := r.Bound(r.ctx)
	add := r.kernel("add")
	streams := make([]cu.CUstream, 4)
	for i := range streams {
		streams[i] = r.stream()
	}
	sum := r.alloc(4)
	var wg sync.WaitGroup
	fail := make(chan error, 64)
	for i := range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s := streams[i%len(streams)]
			for range 10 {
				if err := work(d, s, add, uint32(i)); err != nil {
					fail <- err
					return
				}
			}
		}()
	}
	wg.Wait()
	close(fail)
	for err := range fail {
		t.Error(err)
	}
	r.wantWords("untouched", sum, 0)
}

// work allocates, computes, copies and frees.
func work(d *driver.Driver, s cu.CUstream, add cu.CUfunction, v uint32) error {
	var p cu.CUdeviceptr
	if err := d.CuMemAlloc(&p, 8); err != nil {
		return err
	}
	out := new([2]uint32)
	params := args(p, 1, v)
	err := errors.Join(
		d.CuMemsetD32Async(p, 1, 2, s),
		d.CuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, s, params, nil),
		d.CuStreamSynchronize(s),
		d.CuMemcpyDtoH(unsafe.Pointer(out), p, 8),
		d.CuMemFree(p),
	)
	if err == nil && *out != [2]uint32{1, 1 + v} {
		return errors.New("wrong result")
	}
	return err
}
