//go:build nvidia

package nvidiatest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// generations lists the drivers in Debian 12. Without a GPU, the libraries can be opened and their
// functions resolved, and cuInit reports that there is no device.
var generations = []struct {
	name    string
	library string
	version int
}{
	{"470", "driver-470/usr/lib/x86_64-linux-gnu/nvidia/tesla-470/libcuda.so.1", 11040},
	{"525", "driver-525/usr/lib/x86_64-linux-gnu/nvidia/tesla/libcuda.so.1", 12000},
	{"535", "driver-535/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1", 12020},
}

func each(t *testing.T, test func(t *testing.T, d *cu.Driver, version int)) {
	for _, g := range generations {
		t.Run(g.name, func(t *testing.T) {
			lib, err := driver.SystemLibrary(part(t, g.library))
			if err != nil {
				t.Fatal(err)
			}
			d, err := cu.New(lib)
			if err != nil {
				t.Fatal(err)
			}
			test(t, d, g.version)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNVIDIADriverSaysItsVersion(t *testing.T) {
	each(t, func(t *testing.T, d *cu.Driver, version int) {
		if d.Version() != version {
			t.Errorf("version %d, want %d", d.Version(), version)
		}
	})
}

// Has must be true exactly for the functions of the driver's CUDA version and of older versions.
func TestNVIDIADriverHasWhatItsVersionHas(t *testing.T) {
	each(t, func(t *testing.T, d *cu.Driver, version int) {
		var has, lacks int
		for f := range cu.Functions() {
			if d.Has(f) {
				has++
			} else {
				lacks++
			}
			if d.Has(f) != (f.Since() <= version) {
				t.Errorf("%v is there: %v; it came with %d, the driver has %d", f, d.Has(f), f.Since(), version)
			}
		}
		t.Logf("%d functions there, %d missing", has, lacks)
	})
}

// Calling a missing function must return an error that matches ErrNotSupported and names the
// function, the CUDA version that introduced it and the driver's version.
func TestNVIDIADriverAnswersForMissingFunctions(t *testing.T) {
	each(t, func(t *testing.T, d *cu.Driver, version int) {
		called := 0
		for f := range cu.Functions() {
			if d.Has(f) {
				continue
			}
			err := callWithZeros(t, d, f)
			called++
			if !errors.Is(err, driver.ErrNotSupported) {
				t.Errorf("%v: %v is not ErrNotSupported", f, err)
				continue
			}
			for _, want := range []string{f.String(), release(f.Since()), release(version)} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
		}
		if called == 0 {
			t.Error("no function is missing: nothing was tested")
		}
		t.Logf("%d missing functions called", called)
	})
}

func callWithZeros(t *testing.T, d *cu.Driver, f cu.Function) error {
	t.Helper()
	method := reflect.ValueOf(d).MethodByName("C" + strings.TrimPrefix(f.String(), "c"))
	if !method.IsValid() {
		t.Fatalf("%v has no method", f)
	}
	args := make([]reflect.Value, method.Type().NumIn())
	for i := range args {
		args[i] = reflect.Zero(method.Type().In(i))
	}
	err, _ := method.Call(args)[0].Interface().(error)
	return err
}

// release formats 12040 as 12.4.
func release(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}

func TestNVIDIADriverWithoutADeviceSaysWhatToDo(t *testing.T) {
	each(t, func(t *testing.T, d *cu.Driver, _ int) {
		err := d.Init()
		if !errors.Is(err, driver.CUDA_ERROR_NO_DEVICE) {
			t.Fatalf("cuInit answered %v, want CUDA_ERROR_NO_DEVICE", err)
		}
		var e *driver.Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("%v has no advice", err)
		}
		t.Log(err)
	})
}

func TestNVIDIATableResolvesQuickly(t *testing.T) {
	each(t, func(t *testing.T, d *cu.Driver, _ int) {
		best := time.Hour
		for range 5 {
			start := time.Now()
			if _, err := cu.New(d.Library()); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(start))
		}
		t.Logf("the whole table in %v", best)
		if best > 5*time.Millisecond {
			t.Errorf("the table takes %v to resolve", best)
		}
	})
}

func TestNVIDIAStubLibraryIsRefused(t *testing.T) {
	_, err := driver.SystemLibrary(part(t, "stubs/usr/lib/x86_64-linux-gnu/stubs/libcuda.so"))
	if !errors.Is(err, loader.ErrStubLibrary) {
		t.Fatalf("error %v, want ErrStubLibrary", err)
	}
	t.Log(err)
}
