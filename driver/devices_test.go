package driver_test

import (
	"context"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// sum2 adds two elements of far memory to near memory.
func sum2(w *work, near, far driver.Memory) error {
	return w.kernel("axpy").Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, far, near, float32(1), uint32(2))
}

// Memory of a pool is reached by the devices that SetAccess names, whatever
// EnablePeerAccess allows.
func TestPoolMemoryOfAnotherDeviceNeedsAccessOfThePool(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		s := closing[*driver.Stream](w)(b.NewStream())
		pool := closing[*driver.MemPool](w)(b.NewMemPool())
		near := w.floats(1, 2)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFromPool[float32](s, pool, 2))
		noError(t, far.CopyFrom([]float32{10, 20}))

		noError(t, a.EnablePeerAccess(b))
		defer func() { noError(t, a.DisablePeerAccess(b)) }()
		wantError(t, sum2(w, near, far), driver.CUDA_ERROR_INVALID_VALUE, "SetAccess of its pool")
		if got := must(pool.Access(a.Device()))(t); got != cu.CU_MEM_ACCESS_FLAGS_PROT_NONE {
			t.Errorf("a new pool gives other devices %v", got)
		}
		noError(t, pool.SetAccess(a.Device(), cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
		if got := must(pool.Access(a.Device()))(t); got != cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
			t.Errorf("after SetAccess a device has %v", got)
		}
		noError(t, sum2(w, near, far))
		w.wait()
		expect(w, "with the pool's memory", contents(w, near), []float32{11, 22})

		noError(t, pool.SetAccess(a.Device(), cu.CU_MEM_ACCESS_FLAGS_PROT_NONE))
		wantError(t, sum2(w, near, far), driver.CUDA_ERROR_INVALID_VALUE, "SetAccess of its pool")
		noError(t, far.FreeAsync(s))
		noError(t, s.Wait(context.Background()))
	})
}

// An event stands in streams of its own device only; any stream waits for it.
func TestEventsAmongDevices(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		there := closing[*driver.Stream](w)(b.NewStream())
		e := closing[*driver.Event](w)(a.NewEvent())
		wantError(t, there.Record(e), driver.CUDA_ERROR_INVALID_HANDLE, "belongs to another context")
		near := w.floats(1, 2)
		far := closing[*driver.Buffer[float32]](w)(driver.Alloc[float32](b, 2))
		noError(t, sum2(w, near, w.floats(4, 5)))
		noError(t, w.s.Record(e))
		noError(t, there.WaitEvent(e))
		noError(t, there.Do(must(driver.CopyDevice(far, near))(t)))
		noError(t, there.Wait(context.Background()))
		expect(w, "the copy", contents(&work{TB: t, s: b.LegacyStream()}, far), []float32{5, 7})
	})
}

// A region of pitched memory is copied between devices too.
func TestRegionIsCopiedBetweenDevices(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		near := w.floats(0, 0, 0, 0)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(b, []float32{1, 2, 3, 4}))
		op, err := driver.Copy2D(driver.Region{Memory: near, Pitch: 8}, driver.Region{Memory: far, Pitch: 8}, 4, 2)
		w.do(op, err)
		expect(w, "the copy", contents(w, near), []float32{1, 0, 3, 0})
	})
}

// Each device has a clock of its own.
func TestNoTimeBetweenEventsOfTwoDevices(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		there := closing[*driver.Stream](w)(b.NewStream())
		e := closing[*driver.Event](w)(a.NewEvent(driver.WithTiming()))
		f := closing[*driver.Event](w)(b.NewEvent(driver.WithTiming()))
		noError(t, w.s.Record(e))
		noError(t, there.Record(f))
		noError(t, e.Wait(context.Background()))
		noError(t, f.Wait(context.Background()))
		_, err := f.Elapsed(e)
		wantError(t, err, driver.CUDA_ERROR_INVALID_HANDLE, b.Device().String())
	})
}

// Readers that may not write there are none of.
func TestPoolGivesAnotherDeviceAllOrNothing(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		pool := closing[*driver.MemPool](newWork(t, a))(b.NewMemPool())
		wantError(t, pool.SetAccess(a.Device(), cu.CU_MEM_ACCESS_FLAGS_PROT_READ), driver.CUDA_ERROR_NOT_SUPPORTED, "access of device 0")
		if got := must(pool.Access(a.Device()))(t); got != cu.CU_MEM_ACCESS_FLAGS_PROT_NONE {
			t.Errorf("after the refusal a device has %v", got)
		}
	})
}
