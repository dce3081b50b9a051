package driver_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestDevicesAreEnumerated(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		n := must(d.DeviceCount())(t)
		seen := 0
		for dev, err := range d.Devices() {
			noError(t, err)
			if dev != must(d.Device(seen))(t) || dev.Ordinal() != seen || dev.Driver() != d {
				t.Errorf("device %d is %v", seen, dev)
			}
			seen++
		}
		if seen != n || n == 0 {
			t.Errorf("%d devices of %d", seen, n)
		}
	})
}

func TestPropertiesAreThoseOfTheAttributes(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev := must(d.Device(0))(t)
		p := must(dev.Properties())(t)
		major, minor, err := dev.ComputeCapability()
		noError(t, err)
		if p.SM() != 10*major+minor || p.Name != must(dev.Name())(t) || p.UUID != must(dev.UUID())(t) ||
			p.TotalMem != must(dev.TotalMem())(t) {
			t.Errorf("properties %+v disagree with the device", p)
		}
		if p.Name == "" || p.WarpSize != 32 || p.MaxThreadsPerBlock < 512 || p.MaxGrid[0] < 1<<16-1 ||
			p.SharedMemPerBlockOptin < p.SharedMemPerBlock || p.Multiprocessors == 0 || p.TotalMem == 0 {
			t.Errorf("implausible properties %+v", p)
		}
		if s := p.String(); !strings.Contains(s, p.Name) {
			t.Errorf("String() = %q", s)
		}
	})
}

func TestDeviceIsFoundByItsUUID(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev := must(d.Device(0))(t)
		id := must(dev.UUID())(t)
		if id == (driver.UUID{}) {
			t.Error("the UUID is zero")
		}
		if got := must(d.DeviceByUUID(id))(t); got != dev {
			t.Errorf("found %v", got)
		}
		if got := must(driver.ParseUUID(id.String()))(t); got != id {
			t.Errorf("%v parsed as %v", id, got)
		}
		id[3]++
		if _, err := d.DeviceByUUID(id); !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
			t.Errorf("an unknown UUID: %v", err)
		}
	})
}

func TestMalformedUUIDIsRefused(t *testing.T) {
	for _, s := range []string{"", "GPU-", "GPU-00", "GPU-zz000000-0000-0000-0000-000000000000", strings.Repeat("0", 34)} {
		if _, err := driver.ParseUUID(s); err == nil || !strings.Contains(err.Error(), "GPU-") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestDeviceThatIsNotThere(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		n := must(d.DeviceCount())(t)
		for _, ordinal := range []int{-1, n, 1 << 40} {
			_, err := d.Device(ordinal)
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) || !strings.HasPrefix(err.Error(), "device ") {
				t.Errorf("device %d: %v", ordinal, err)
			}
		}
	})
}

func TestPeerAccess(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{Devices: 2})
	a := must(must(d.Device(0))(t).PrimaryContext())(t)
	b := must(must(d.Device(1))(t).PrimaryContext())(t)
	defer b.Close()
	defer a.Close()
	if !must(a.Device().CanAccessPeer(b.Device()))(t) {
		t.Fatal("emulated devices cannot reach each other")
	}
	for range 2 { // enabling access twice is not an error
		noError(t, a.EnablePeerAccess(b))
	}
	for range 2 {
		noError(t, a.DisablePeerAccess(b))
	}
	if err := a.EnablePeerAccess(a); err == nil {
		t.Error("a context became its own peer")
	}
}

func TestADeviceWithoutAContextIsNotAvailable(t *testing.T) {
	for _, c := range []struct {
		devices int
		refuse  func(device uintptr) bool
		want    []string // words that the error must contain; nil: no error
	}{
		{2, func(uintptr) bool { return false }, nil},
		{2, func(d uintptr) bool { return d == 0 }, nil}, // device 1 accepts a context
		{2, func(uintptr) bool { return true }, []string{"device 0", "device 1", "CUDA_ERROR_DEVICE_UNAVAILABLE", "compute mode"}},
	} {
		emu := emulator.New(emulator.Config{Devices: c.devices})
		d, err := driver.New(&refusing{emu, c.refuse})
		if err != nil {
			t.Fatal(err)
		}
		err = driver.Usable(d)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%d devices: %v, want %q", c.devices, err, c.want)
		}
		for _, w := range c.want {
			if err != nil && !strings.Contains(err.Error(), w) {
				t.Errorf("%d devices: %q is not in %v", c.devices, w, err)
			}
		}
		if leaks := emu.Leaks(); len(leaks) > 0 {
			t.Errorf("%d devices: left open: %v", c.devices, leaks)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

type refusing struct {
	loader.Library
	refuse func(device uintptr) bool
}

func (r *refusing) Lookup(symbol string) (loader.Proc, error) {
	p, err := r.Library.Lookup(symbol)
	if err != nil || symbol != "cuDevicePrimaryCtxRetain" {
		return p, err
	}
	return loader.FuncProc(func(a loader.Args) uintptr {
		if r.refuse(a.Word(1)) {
			return uintptr(driver.CUDA_ERROR_DEVICE_UNAVAILABLE)
		}
		return a.Forward(&p)
	}), nil
}

func TestAvailableSaysWhyNot(t *testing.T) {
	err := driver.Available()
	if again := driver.Available(); again != err {
		t.Errorf("two results: %v, then %v", err, again)
	}
	d, openErr := driver.Open()
	if openErr != nil {
		if err == nil || err.Error() == "" {
			t.Errorf("Available() = %v where Open says %v", err, openErr)
		}
		return
	}
	n := must(d.DeviceCount())(t)
	if (err == nil) != (n > 0) {
		t.Errorf("Available() = %v with %d devices", err, n)
	}
}

// sum2 launches a kernel that adds the two elements of far to the elements of near.
func sum2(w *work, near, far driver.Memory) error {
	return w.kernel("axpy").Launch(w.s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}, far, near, float32(1), uint32(2))
}

// Which devices can access a pool's memory depends only on SetAccess. EnablePeerAccess has no
// effect on that memory.
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

// An event can be recorded only in streams of its own context, but any stream can wait for it.
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

// Events of two devices cannot be compared, because each device has its own clock.
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

// A pool's memory cannot be made read-only for another device.
func TestPoolGivesAnotherDeviceAllOrNothing(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		pool := closing[*driver.MemPool](newWork(t, a))(b.NewMemPool())
		wantError(t, pool.SetAccess(a.Device(), cu.CU_MEM_ACCESS_FLAGS_PROT_READ), driver.CUDA_ERROR_NOT_SUPPORTED, "access of device 0")
		if got := must(pool.Access(a.Device()))(t); got != cu.CU_MEM_ACCESS_FLAGS_PROT_NONE {
			t.Errorf("after the refusal a device has %v", got)
		}
	})
}

// eachPair runs a test with contexts of two devices: on an emulator with two devices, and on a
// machine with two GPUs.
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

func TestPrimaryContextsShareTheDriversContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		other := must(c.Device().PrimaryContext())(t)
		if other == c || other.Raw() != c.Raw() || c.Raw() == 0 {
			t.Errorf("contexts %v and %v", c, other)
		}
		noError(t, other.Close())
		noError(t, c.Synchronize(t.Context())) // c still retains the primary context
	})
}

func TestCreatedContextWorksFromAnyGoroutine(t *testing.T) {
	gputest.Each(t, func(t *testing.T, primary *driver.Context) {
		c := must(primary.Device().NewContext(cu.CU_CTX_SCHED_BLOCKING_SYNC))(t)
		defer c.Close()
		if c.Raw() == primary.Raw() {
			t.Error("it is the primary one")
		}
		errs := make(chan error)
		for i := range 16 {
			use := []*driver.Context{c, primary}[i%2]
			go func() { errs <- useStream(use) }()
		}
		for range 16 {
			noError(t, <-errs)
		}
	})
}

func useStream(c *driver.Context) error {
	s, err := c.NewStream()
	if err != nil {
		return err
	}
	var raw driver.CUcontext
	return errors.Join(s.Context().Driver().CuStreamGetCtx(s.Raw(), &raw),
		sameContext(raw, c.Raw()), s.Wait(context.Background()), s.Close())
}

func sameContext(got, want driver.CUcontext) error {
	if got != want {
		return errors.New("the stream is in another context")
	}
	return nil
}

func TestMemInfoAndLimits(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		free, total, err := c.MemInfo()
		noError(t, err)
		if free == 0 || free > total {
			t.Errorf("%d bytes free of %d", free, total)
		}
		before := must(c.Limit(cu.CU_LIMIT_STACK_SIZE))(t)
		defer c.SetLimit(cu.CU_LIMIT_STACK_SIZE, before)
		noError(t, c.SetLimit(cu.CU_LIMIT_STACK_SIZE, 4096))
		if got := must(c.Limit(cu.CU_LIMIT_STACK_SIZE))(t); got < 4096 {
			t.Errorf("the stack limit is %d", got)
		}
		if _, err := c.Limit(cu.CUlimit(9999)); err == nil {
			t.Error("an unknown limit was answered")
		}
	})
}

// Some threads may still have a destroyed context cached as current. It must not be mistaken for
// the next context, which may get the same address.
func TestContextsCanBeMadeAgain(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev := must(d.Device(0))(t)
		for name, make := range map[string]func() (*driver.Context, error){
			"primary": dev.PrimaryContext,
			"created": func() (*driver.Context, error) { return dev.NewContext(cu.CU_CTX_SCHED_AUTO) },
		} {
			for round := range 4 {
				c := must(make())(t)
				if err := useFromManyThreads(c); err != nil {
					t.Errorf("%s context, round %d: %v", name, round, err)
				}
				noError(t, c.Close())
			}
		}
	})
}

func useFromManyThreads(c *driver.Context) error {
	const n = 8
	errs := make(chan error, n)
	var together sync.WaitGroup
	together.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			together.Done()
			together.Wait()
			errs <- useStream(c)
		}()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// A context can be borrowed only through the device that it was created on.
func TestABorrowedContextIsOfItsDevice(t *testing.T) {
	d := gputest.Emulator(t, emulator.Config{Devices: 2})
	c := must(must(d.Device(1))(t).PrimaryContext())(t)
	_, err := must(d.Device(0))(t).BorrowContext(c.Raw())
	if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "is of device 1, not of device 0") {
		t.Errorf("borrowed on another device: %v", err)
	}
	b := must(must(d.Device(1))(t).BorrowContext(c.Raw()))(t)
	x := must(driver.Alloc[byte](b, 8))(t)
	noError(t, b.Close())
	noError(t, x.Fill(1)) // an open object keeps the borrowed context open
	noError(t, x.Close())
	noError(t, c.Lost()) // closing the borrowed Context did not destroy the owner's
	noError(t, c.Close())
}

func TestADeviceThatIsNoneIsRefused(t *testing.T) {
	var dev driver.Device
	for name, err := range map[string]error{
		"Name": second(dev.Name()), "UUID": second(dev.UUID()), "TotalMem": second(dev.TotalMem()), "Arch": second(dev.Arch()),
		"Attribute":  second(dev.Attribute(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE)),
		"PCIBusID":   second(dev.PCIBusID()),
		"Properties": second(dev.Properties()), "PrimaryContext": second(dev.PrimaryContext()), "NewContext": second(dev.NewContext(0)),
		"GraphMemStats": second(dev.GraphMemStats()), "ResetGraphMemStats": dev.ResetGraphMemStats(), "TrimGraphMem": dev.TrimGraphMem(),
		"CanAccessPeer": second(dev.CanAccessPeer(dev)),
	} {
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
