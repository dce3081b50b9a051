package driver_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// workFlows are what programs do; each gives back what it makes, also when a
// step fails. They wait for the context, not for the stream: that takes the same
// calls each time.
var workFlows = []struct {
	name string
	run  func(c *driver.Context, s *driver.Stream) error
}{
	{"load, prepare, launch", loadAndLaunch},
	{"copy through page-locked memory", copyAround},
	{"stream-ordered allocation", allocateInOrder},
	{"pool", usePool},
	{"library and variable", useLibrary},
}

func loadAndLaunch(c *driver.Context, s *driver.Stream) (err error) {
	m, err := c.LoadModule([]byte(workPTX))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	k, err := m.Kernel("axpy")
	if err != nil {
		return err
	}
	b, err := driver.AllocFrom(c, []float32{1, 2})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2), Cooperative: true}
	l, err := k.Prepare(cfg, b, b, float32(1), uint32(2))
	if err != nil {
		return err
	}
	if err := s.Do(l); err != nil {
		return err
	}
	return c.Synchronize(context.Background())
}

func copyAround(c *driver.Context, s *driver.Stream) (err error) {
	h, err := driver.AllocHost[int32](c, 4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r, err := driver.RegisterHost(c, make([]int32, 4))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b, err := driver.Alloc[int32](c, 4)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	up, err := driver.Upload(b, h)
	if err != nil {
		return err
	}
	down, err := driver.Download(r, b)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return s.Do(up) },
		func() error { return s.Do(down) },
		func() error { return c.Synchronize(context.Background()) },
		func() error { return b.Fill(3) },
		func() error { return b.CopyFrom([]int32{1, 2, 3, 4}) },
		func() error { return b.CopyTo(make([]int32, 4)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func allocateInOrder(c *driver.Context, s *driver.Stream) error {
	a, err := driver.AllocAsync[float32](s, 8)
	if err != nil {
		return err
	}
	b, err := driver.AllocAsync[float32](s, 8)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	op, err := driver.CopyDevice(a, b)
	if err == nil {
		err = s.Do(op)
	}
	return errors.Join(err, a.FreeAsync(s), a.Close(), b.Close(), c.Synchronize(context.Background()))
}

func usePool(c *driver.Context, s *driver.Stream) (err error) {
	p, err := c.NewMemPool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.SetReleaseThreshold(1 << 20); err != nil {
		return err
	}
	b, err := driver.AllocFromPool[byte](s, p, 100)
	if err != nil {
		return err
	}
	_, err = p.Stats()
	return errors.Join(err, b.Close(), c.Synchronize(context.Background()), p.Trim(0))
}

func useLibrary(c *driver.Context, _ *driver.Stream) (err error) {
	l, err := c.LoadLibrary([]byte(workPTX))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if _, err := l.Kernel("scale"); err != nil {
		return err
	}
	v, err := l.Global("factor")
	if err != nil {
		return err
	}
	return v.CopyFrom([]byte{0, 0, 0x40, 0x40})
}

// Each driver call of each flow fails once. Afterwards nothing is left open
// (gputest looks), the stream works, and the error is that of the call.
func TestEveryDriverCallMayFail(t *testing.T) {
	for _, f := range workFlows {
		t.Run(f.name, func(t *testing.T) {
			runtime.LockOSThread() // on another thread, calls would have to set the context
			defer runtime.UnlockOSThread()
			lib := faulty.Wrap(emulator.New(emulator.Config{}))
			c := gputest.Context(t, gputest.Driver(t, lib))
			s := must(c.NewStream())(t)
			t.Cleanup(func() { noError(t, s.Close()) })
			noError(t, f.run(c, s)) // what is made once is made
			lib.Count()
			noError(t, f.run(c, s))
			calls := lib.Stop()
			for i := range calls {
				failAt(t, lib, i+1, func() error { return f.run(c, s) })
				noError(t, f.run(c, s))
			}
		})
	}
}

// ecc is a code that nothing here meets by itself.
const ecc = driver.CUDA_ERROR_ECC_UNCORRECTABLE

func failAt(t *testing.T, lib *faulty.Library, nth int, run func() error) {
	t.Helper()
	lib.FailNth(nth, uint32(ecc))
	err := run()
	failed := ""
	for _, c := range lib.Stop() {
		if c.Failed {
			failed = c.Symbol
		}
	}
	switch {
	case failed == "":
		t.Errorf("call %d was not made again", nth)
	case err == nil && !strings.HasPrefix(failed, "cuThreadExchange"): // the guard of a call that went well
		t.Errorf("call %d (%s) failed and nobody said so", nth, failed)
	case err != nil && !errors.Is(err, ecc):
		t.Errorf("call %d (%s): the cause is lost: %v", nth, failed, err)
	}
}
