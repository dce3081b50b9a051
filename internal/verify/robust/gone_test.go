package robust

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// vanishing is a library whose device disappears at a chosen moment. From then on every call
// returns the same code, even calls that release objects.
type vanishing struct {
	loader.Library
	code atomic.Uint32
}

// Lookup returns a function that first checks whether the device has disappeared.
func (v *vanishing) Lookup(symbol string) (loader.Proc, error) {
	inner, err := v.Library.Lookup(symbol)
	if err != nil {
		return inner, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if code := v.code.Load(); code != 0 {
			return uintptr(code)
		}
		result := a.Forward(&inner)
		if code := v.code.Load(); code != 0 {
			return uintptr(code) // the device disappeared while the call was waiting
		}
		return result
	}), nil
}

// When a device falls off the bus, every driver call fails with the same code. No call of this
// module may hang, Lost must report the loss, and it must be possible to close everything.
func TestADeviceDisappears(t *testing.T) {
	for _, code := range []driver.CUresult{
		driver.CUDA_ERROR_UNKNOWN, driver.CUDA_ERROR_ILLEGAL_ADDRESS, driver.CUDA_ERROR_LAUNCH_FAILED,
		driver.CUDA_ERROR_ECC_UNCORRECTABLE, driver.CUDA_ERROR_DEVICE_UNAVAILABLE, driver.CUDA_ERROR_NO_DEVICE,
	} {
		t.Run(code.String(), func(t *testing.T) { disappear(t, code) })
	}
}

func disappear(t *testing.T, code driver.CUresult) {
	lib := &vanishing{Library: emulator.New(emulator.Config{})}
	p := newProgram(t, gputest.Driver(t, lib))
	waiting, end := p.waiters()
	lib.code.Store(uint32(code))
	end()
	for range waiters {
		select {
		case err := <-waiting:
			if !errors.Is(err, code) {
				t.Errorf("a wait under way: %v, want %v", err, code)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a wait under way does not end")
		}
	}
	for what, use := range p.uses() {
		if err := use(); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", what, err, code)
		}
	}
	p.lost("Lost", p.c.Lost(), code)
	p.closeAll(code)
}

const waiters = 8

// waiters starts goroutines that wait for work, which does not finish before end is called. Their
// waits are cancellable, so a goroutine polls or uses a waiting thread, which returns when the
// device is gone.
func (p *program) waiters() (answer <-chan error, end func()) {
	answers := make(chan error, waiters)
	gate := make(chan struct{})
	ok(p.t, p.s.HostFunc(func() { <-gate }))
	for range waiters {
		go func() { answers <- p.s.Wait(p.t.Context()) }()
	}
	time.Sleep(10 * time.Millisecond)
	return answers, func() { close(gate) }
}
