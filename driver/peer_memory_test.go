package driver_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// eachPair runs a test with contexts of two devices, on an emulator that has
// two and on a machine with two GPUs.
func eachPair(t *testing.T, test func(t *testing.T, a, b *driver.Context)) {
	t.Run("emulator", func(t *testing.T) {
		pair(t, gputest.Emulator(t, emulator.Config{Devices: 2}), test)
	})
	t.Run("gpu", func(t *testing.T) {
		pair(t, gputest.GPUs(t, 2), test)
	})
}

func pair(t *testing.T, d *driver.Driver, test func(t *testing.T, a, b *driver.Context)) {
	t.Helper()
	var c [2]*driver.Context
	for i := range c {
		c[i] = must(must(d.Device(i))(t).PrimaryContext())(t)
		t.Cleanup(func() { noError(t, c[i].Close()) })
	}
	if can := must(c[0].Device().CanAccessPeer(c[1].Device()))(t); !can {
		t.Skip("the devices cannot reach each other's memory")
	}
	test(t, c[0], c[1])
}

func TestBufferOfAnotherDeviceNeedsPeerAccess(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		near := w.floats(1, 2)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(b, []float32{10, 20}))
		two := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		err := w.kernel("axpy").Launch(w.s, two, near, far, float32(1), uint32(2))
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 1 (y)", "EnablePeerAccess", b.Device().String())
		noError(t, a.EnablePeerAccess(b))
		noError(t, w.kernel("axpy").Launch(w.s, two, near, far, float32(1), uint32(2)))
		w.wait()
		expect(w, "the other device's memory", contents(&work{TB: t, s: b.LegacyStream()}, far), []float32{11, 22})
		noError(t, a.DisablePeerAccess(b))
	})
}

func TestCopyBetweenDevices(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		near := w.floats(0, 0, 0)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(b, []float32{10, 20}))
		op, err := driver.CopyDevice(near.View(1, 3), far)
		w.do(op, err)
		expect(w, "the copy", contents(w, near), []float32{0, 10, 20})
		s := must(b.NewStream())(t)
		wantError(t, s.Do(op), driver.CUDA_ERROR_INVALID_VALUE, "peer copy")
		noError(t, s.Wait(context.Background()))
		noError(t, s.Close())
	})
}
