package emulator

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
)

// A copy that fails may have written some of its rows. The host must not be blamed for that.
func TestTheRowsOfAFailedCopyAreNotTheHosts(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := New(Config{Check: CheckHostMemory})
	d, err := driver.New(e)
	if err != nil {
		t.Fatal(err)
	}
	var ctx cu.CUcontext
	var host unsafe.Pointer
	var p cu.CUdeviceptr
	if err := errors.Join(d.CuInit(0), d.CuCtxCreate(&ctx, nil, 0, 0), d.CuMemHostAlloc(&host, 8, 0),
		d.CuMemAlloc(&p, 256), d.CuMemsetD8(p, 1, 256)); err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	s := find[cudaContext](e, uintptr(ctx)).legacy
	to := transfer.Side{Addr: uint64(uintptr(host)), Pitch: 4, Height: 2}
	from := transfer.Side{Addr: uint64(p), Pitch: 1 << 20, Height: 2} // the second row does not exist
	enqueueCopy(s, &to, &from, transfer.Extent{Width: 4, Height: 2, Depth: 1})
	e.mu.Unlock()
	var failed *cu.Error
	if err := d.CuCtxSynchronize(); !errors.As(err, &failed) || failed.Result != errIllegalAddress {
		t.Error("the copy:", err)
	}
	if *(*byte)(host) != 1 {
		t.Error("no row was copied")
	}
	for _, f := range e.Findings() {
		if f.Kind != kindCopy {
			t.Errorf("found %v", f)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
