package demotest

import (
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

//go:embed testdata/trap.ptx
var trapPTX []byte

// lose makes a kernel trap in the example's context, as other code in the process might. Its own
// calls do not invalidate a capture.
func lose(e *emulator.Emulator) (err error) {
	d, err := driver.New(keep{e})
	if err != nil {
		return err
	}
	// The thread's current context may belong to another device, so lose must restore it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var current driver.CUcontext
	if err := d.CuCtxGetCurrent(&current); err != nil {
		return err
	}
	defer func() {
		back := d.CuCtxSetCurrent(current)
		if !errors.Is(back, driver.CUDA_ERROR_CONTEXT_IS_DESTROYED) { // the context was closed, so no call needs it
			err = errors.Join(err, back)
		}
	}()
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // returns an error, because the device is lost
	return trap(d.Bound(c.Raw()).Guarded())
}

func trap(d *driver.Driver) error {
	var m cu.CUmodule
	var f cu.CUfunction
	var s driver.CUstream
	text, name := append(trapPTX, 0), []byte("give_up\x00")
	for _, step := range []func() error{
		func() error { return d.CuModuleLoadData(&m, unsafe.Pointer(&text[0])) },
		func() error { return d.CuModuleGetFunction(&f, m, &name[0]) },
		func() error { return d.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)) },
		func() error { return d.CuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nil, nil) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := d.CuStreamSynchronize(s); !errors.Is(err, driver.CUDA_ERROR_LAUNCH_FAILED) {
		return fmt.Errorf("a trap gave %v", err)
	}
	return nil
}

// keep is an emulator whose Close does nothing, so that the emulator outlives its drivers.
type keep struct{ *emulator.Emulator }

func (keep) Close() error { return nil }
