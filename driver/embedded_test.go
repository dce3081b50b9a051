package driver_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

const embeddedPTX = `
.version 7.0
.target sm_52
.address_size 64
.visible .entry store(.param .u64 p, .param .u64 v)
{
	.reg .b64 %p, %v;
	ld.param.u64 %p, [p];
	ld.param.u64 %v, [v];
	cvta.to.global.u64 %p, %p;
	st.global.u64 [%p], %v;
	ret;
}
`

// What is left open fails the test, so the context does unload it.
func TestEmbeddedModuleIsLoadedOnceForAContext(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		text := []byte(embeddedPTX)
		m, err := c.Embedded("test code", text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Embedded("test code", text)
		if err != nil || again != m {
			t.Errorf("the second time it is %v, %v", again, err)
		}
		// Two packages may have files of one name.
		other, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil || other == m {
			t.Errorf("another text of that name is %v, %v", other, err)
		}
		if _, err := c.Embedded("broken", []byte("nothing")); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			t.Errorf("what is no PTX: %v", err)
		}
		if _, err := c.Embedded("empty", nil); err == nil {
			t.Error("no code was loaded")
		}
	})
}

func TestEmbeddedModuleDoesNotDisturbACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread() // where the capture ends
		defer runtime.UnlockOSThread()
		d := c.Driver()
		if err := d.CuStreamBeginCapture(s.Raw(), cu.CU_STREAM_CAPTURE_MODE_GLOBAL); err != nil {
			t.Fatal(err)
		}
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err == nil {
			_, err = m.Kernel("store")
		}
		if err != nil {
			t.Error(err)
		}
		var g driver.CUgraph
		if err := d.CuStreamEndCapture(s.Raw(), &g); err != nil {
			t.Error(err)
		} else if err := d.CuGraphDestroy(g); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestEmbeddedModuleEndsWithItsContext(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		dev, err := d.Device(0)
		if err != nil {
			t.Fatal(err)
		}
		c, err := dev.PrimaryContext()
		if err != nil {
			t.Fatal(err)
		}
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("store")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, driver.CUdeviceptr(0), uint64(0)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("its kernel afterwards: %v", err)
		}
		if _, err := c.Embedded("test code", []byte(embeddedPTX)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("loading it afterwards: %v", err)
		}
	})
}

// ticket is an argument that stands for a word.
type ticket struct {
	name string
	n    uint64
}

func (t ticket) ArgWord() uint64 { return t.n }

func TestArgumentsThatStandForAWord(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := c.Embedded("test code", []byte(embeddedPTX))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("store")
		if err != nil {
			t.Fatal(err)
		}
		b, err := driver.Alloc[uint64](c, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		got := make([]uint64, 1)
		store := func(what string, l *driver.Launch, want uint64) {
			t.Helper()
			if err := c.LegacyStream().Do(l); err != nil {
				t.Fatal(err)
			}
			if err := b.CopyTo(got); err != nil || got[0] != want {
				t.Errorf("%s: stored %#x, %v", what, got[0], err)
			}
		}
		l, err := k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, b, ticket{"first", 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
		store("prepared", l, 1<<40)
		if err := driver.SetArg(l, 1, ticket{"second", 7}); err != nil {
			t.Fatal(err)
		}
		store("set", l, 7)
		if err := driver.SetArg(l, 1, uint64(8)); err != nil {
			t.Fatal(err)
		}
		store("set to a number", l, 8)
	})
}
