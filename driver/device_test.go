package driver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
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
	for range 2 { // the second time it is so already
		noError(t, a.EnablePeerAccess(b))
	}
	for range 2 {
		noError(t, a.DisablePeerAccess(b))
	}
	if err := a.EnablePeerAccess(a); err == nil {
		t.Error("a context became its own peer")
	}
}

// A device that is there and gives no context is of no use.
func TestADeviceWithoutAContextIsNotAvailable(t *testing.T) {
	for _, c := range []struct {
		devices int
		refuse  func(device uintptr) bool
		want    []string // in the error; nil: available
	}{
		{2, func(uintptr) bool { return false }, nil},
		{2, func(d uintptr) bool { return d == 0 }, nil}, // the other one does
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

// refusing is a driver some of whose devices give no context.
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
		t.Errorf("two answers: %v, then %v", err, again)
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
