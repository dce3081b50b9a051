package kernelfault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
)

// Whichever way code is loaded, its kernels must get a slot.
func TestEveryLoadGivesASlot(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		text := ptxText(t, "index")
		set := must(driver.NewImageSet(must(image.Parse("index.ptx", text))(t)))(t)
		s, out := stream(t, c), buffer(t, c, 32)
		for name, load := range map[string]func() (kernels, error){
			"LoadModule":           func() (kernels, error) { return c.LoadModule(text) },
			"LoadLibrary":          func() (kernels, error) { return c.LoadLibrary(text) },
			"Embedded":             func() (kernels, error) { return c.Embedded("index", text) },
			"ImageSet.LoadModule":  func() (kernels, error) { return set.LoadModule(c) },
			"ImageSet.LoadLibrary": func() (kernels, error) { return set.LoadLibrary(c) },
			"ImageSet.Lazy":        func() (kernels, error) { return set.Lazy(c), nil },
			"Linker.Load":          func() (kernels, error) { return linked(t, c, "index") },
		} {
			m := must(load())(t)
			launchIndex(t, must(m.Kernel("index"))(t), s, 1, out, 31, 0)
			if f := faultOf(t, wait(t, s)); f.File != "heat/step.go" {
				t.Errorf("%s: the fault is %v", name, f)
			}
			if name != "Embedded" {
				ok(t, m.Close())
			}
		}
	})
}

type kernels interface {
	Kernel(name string) (*driver.Kernel, error)
	Close() error
}

// linked links one module for each part. Linking merges their weak fault variables.
func linked(t testing.TB, c *driver.Context, parts ...string) (*driver.Module, error) {
	l := must(c.NewLinker())(t)
	defer l.Close()
	for _, part := range parts {
		ok(t, l.Add(part, ptxText(t, part)))
	}
	return l.Load()
}

// Two modules that are linked together share a slot. A wait must return the first fault of a
// launch.
func TestFaultsOfLinkedModules(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := must(linked(t, c, "index", "sync"))(t)
		defer m.Close()
		index, meet := kernel(t, m, "index"), kernel(t, m, "meet")
		s, out := stream(t, c), buffer(t, c, 2*barrierThreads)
		for range 3 {
			launchIndex(t, index, s, 1, out, 31, 0)
			if f := faultOf(t, wait(t, s)); f.File != "heat/step.go" {
				t.Errorf("the fault is %v", f)
			}
			ok(t, meet.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(barrierThreads)}, out, uint32(2)))
			if f := faultOf(t, wait(t, s)); f.File != "heat/sync.go" || f.Message != "the thread must leave" {
				t.Errorf("the fault is %v", f)
			}
		}
	})
}

// Each module has its own slot, so a single wait returns a fault from each module. The test loads
// more modules than fit into one page of slots, and slots must be reused.
func TestFaultsOfManyModules(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, out := stream(t, c), buffer(t, c, 32)
		for range 2 {
			var modules []*driver.Module
			for i := range 60 {
				text := strings.Replace(string(ptxText(t, "index")), ".visible", fmt.Sprintf("// %d\n.visible", i), 1)
				modules = append(modules, must(c.LoadModule([]byte(text)))(t))
			}
			for i, m := range modules {
				launchIndex(t, kernel(t, m, "index"), s, 1, out, uint64(31+i), uint64(i))
			}
			faults := faultsOf(wait(t, s))
			if len(faults) != len(modules) {
				t.Errorf("%d of %d modules faulted", len(faults), len(modules))
			}
			for i, f := range faults {
				if f.Values[1] != int64(31+i) {
					t.Errorf("fault %d is %v", i, f)
				}
			}
			for _, m := range modules {
				ok(t, m.Close())
			}
		}
		ok(t, wait(t, s))
	})
}

// faultsOf returns all faults in an error.
func faultsOf(err error) (faults []*driver.KernelFault) {
	switch e := err.(type) {
	case *driver.KernelFault:
		return []*driver.KernelFault{e}
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			faults = append(faults, faultsOf(err)...)
		}
		return faults
	case nil:
		return nil
	}
	return faultsOf(errors.Unwrap(err))
}

// A module may be closed before a wait returns its fault.
func TestFaultOfAClosedModule(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, out := stream(t, c), buffer(t, c, 32)
		for _, ended := range []bool{true, false} {
			m := must(c.LoadModule(ptxText(t, "index")))(t)
			launchIndex(t, kernel(t, m, "index"), s, 1, out, 31, 0)
			if ended {
				ok(t, c.Driver().CuStreamSynchronize(s.Raw())) // a raw wait, which does not consume the fault
			}
			ok(t, m.Close())
			f := faultOf(t, wait(t, s))
			if f.Thread != [3]uint32{31} || ended && f.Line != 17 {
				t.Errorf("the fault is %v", f)
			}
			if !ended {
				t.Logf("unloaded while the kernel may have run: %v", f)
			}
			ok(t, wait(t, s))
		}
	})
}

// If a module has no slot, as when other code loads it with cuModuleLoadData, a failed check accesses invalid memory.
// The loss of the context must be returned even if there is also a fault. The process could not
// continue on a GPU.
func TestLostContextWithAFault(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{}, func(t *testing.T, c *driver.Context) {
		slotless, armed := must(c.LoadModule(ptxText(t, "index")))(t), must(c.LoadModule(ptxText(t, "index")))(t)
		ok(t, must(slotless.Global("__purecuda_fault"))(t).CopyFrom(make([]byte, 32)))
		s, out := must(c.NewStream())(t), must(driver.Alloc[uint32](c, 32))(t)
		launchIndex(t, kernel(t, armed, "index"), s, 1, out, 31, 0)
		launchIndex(t, kernel(t, slotless, "index"), s, 1, out, 31, 0)
		if err := wait(t, s); !errors.Is(err, driver.ErrContextLost) {
			t.Errorf("the wait returned %v", err)
		}
		_, _, _, _ = s.Close(), out.Close(), armed.Close(), slotless.Close() // all of these fail with the same code
	})
}

// Contexts of the same device must share their faults, because a kernel that was loaded in one can
// run in a stream of another.
func TestContextsShareFaults(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		first, second := must(c.Device().PrimaryContext())(t), must(c.Device().PrimaryContext())(t)
		m := must(first.LoadModule(ptxText(t, "index")))(t)
		k := kernel(t, m, "index")
		s := must(second.NewStream())(t)
		out := must(driver.Alloc[uint32](second, 32))(t)
		ok(t, k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, out, uint64(31), uint64(0)))
		faultOf(t, wait(t, s))
		ok(t, first.Close())
		ok(t, m.Close())
		again := must(second.LoadModule(ptxText(t, "index")))(t)
		ok(t, kernel(t, again, "index").Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}, out, uint64(31), uint64(0)))
		faultOf(t, wait(t, s))
		for _, err := range []error{again.Close(), s.Close(), out.Close(), second.Close()} {
			ok(t, err)
		}
	})
}

// Loading a module and reading a fault must not invalidate a GLOBAL capture on another thread.
func TestFaultDuringACaptureElsewhere(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, "index")
		k := kernel(t, m, "index")
		s, out := stream(t, c), buffer(t, c, 32)
		blocking := must(c.NewStream(driver.WithLegacySync()))(t)
		defer blocking.Close()
		launchIndex(t, k, s, 1, out, 31, 0)
		began, end := make(chan struct{}), make(chan struct{})
		captured := make(chan error, 1)
		go func() {
			g, err := graph.Capture(blocking, graph.ModeGlobal, func(sc *graph.Scope) error {
				close(began)
				<-end
				return sc.Do(prepareIndex(t, k, out, 32, 0))
			})
			captured <- errors.Join(err, g.Close())
		}()
		<-began
		first := wait(t, s)
		again := must(c.LoadModule(ptxText(t, "index")))(t)
		defer again.Close()
		launchIndex(t, kernel(t, again, "index"), s, 1, out, 30, 0)
		second := wait(t, s)
		close(end)
		ok(t, <-captured)
		if f := faultOf(t, first); f.Values[1] != 31 || f.Line != 17 {
			t.Errorf("the first fault is %v", f)
		}
		if f := faultOf(t, second); f.Values[1] != 30 || f.Line != 17 {
			t.Errorf("the second fault is %v", f)
		}
	})
}
