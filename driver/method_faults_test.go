package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
)

// everything holds one object of each kind, and arguments for their methods.
type everything struct {
	c      *driver.Context
	s      *driver.Stream
	e, f   *driver.Event
	m      *driver.Module
	k      *driver.Kernel
	l      *driver.Launch
	lib    *driver.Library
	b      *driver.Buffer[float32]
	h      *driver.HostBuffer[float32]
	p      *driver.MemPool
	linker *driver.Linker

	copied                *driver.CopyOp
	filled                *driver.FillOp
	words                 *driver.MemOp
	record, wait          *driver.EventOp
	host                  *driver.HostFunc
	other                 *driver.Stream // the fields other, free and memory stay open
	free                  *driver.Event
	memory                *driver.Buffer[float32]
	device                driver.Device
	one                   driver.LaunchConfig
	keepsOpen, closesThis []interface{ Close() error }
}

func newEverything(t *testing.T, c *driver.Context) *everything {
	t.Helper()
	o := &everything{c: c, device: c.Device(), one: driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}}
	o.s = must(c.NewStream())(t)
	o.e, o.f = must(c.NewEvent(driver.WithTiming()))(t), must(c.NewEvent(driver.WithTiming()))(t)
	o.m = must(c.LoadModule([]byte(workPTX)))(t)
	o.k = must(o.m.Kernel("set"))(t)
	o.lib = must(c.LoadLibrary([]byte(workPTX)))(t)
	o.b, o.memory = must(driver.Alloc[float32](c, 4))(t), must(driver.Alloc[float32](c, 4))(t)
	o.h = must(driver.AllocHost[float32](c, 4))(t)
	o.p = must(c.NewMemPool())(t)
	o.linker = must(c.NewLinker())(t)
	noError(t, o.linker.Add("work", []byte(workPTX)))
	o.other, o.free = must(c.NewStream())(t), must(c.NewEvent(driver.WithTiming()))(t)
	o.l = must(o.k.Prepare(o.one, o.b))(t)
	o.copied = must(driver.CopyDevice(o.memory, o.b))(t)
	o.filled = must(driver.Fill[float32](o.b, 1))(t)
	words := must(driver.Alloc[uint32](c, 4))(t)
	o.words = must(driver.NewMemOp(c, driver.WriteWord(words, 0, 1, 0)))(t)
	o.record, o.wait = driver.RecordOp(o.e), driver.WaitOp(o.e)
	o.host = must(driver.NewHostFunc(c, func() {}))(t)
	noError(t, o.e.Record(o.s))
	noError(t, o.f.Record(o.s))
	noError(t, c.Synchronize(context.Background()))
	o.closesThis = []interface{ Close() error }{o.s, o.e, o.f, o.lib, o.b, o.h, o.p, o.linker, o.m}
	o.keepsOpen = []interface{ Close() error }{o.other, o.free, o.memory, words}
	return o
}

func (o *everything) close(t *testing.T) {
	t.Helper()
	for _, c := range append(o.closesThis, o.keepsOpen...) {
		noError(t, c.Close())
	}
}

// methods lists calls that use an object in closesThis. Each call closes the objects that it
// creates.
var methods = []struct {
	name string
	run  func(o *everything) error
}{
	{"Stream.Query", func(o *everything) error { return second(o.s.Query()) }},
	{"Stream.CaptureStatus", func(o *everything) error { _, _, _, err := o.s.CaptureStatus(); return err }},
	{"Stream.Flags", func(o *everything) error { return second(o.s.Flags()) }},
	{"Stream.Priority", func(o *everything) error { return second(o.s.Priority()) }},
	{"Stream.Record", func(o *everything) error { return o.s.Record(o.free) }},
	{"Stream.WaitEvent", func(o *everything) error { return o.s.WaitEvent(o.free) }},
	{"Stream.After", func(o *everything) error { return o.s.After(o.other) }},
	{"Stream.After it", func(o *everything) error { return o.other.After(o.s) }},
	{"Stream.Wait", func(o *everything) error { return o.s.Wait(context.Background()) }},
	{"Stream.HostFunc", func(o *everything) error { return o.s.HostFunc(func() {}) }},
	{"Stream.FreeGraphMemory", func(o *everything) error {
		if err := o.s.FreeGraphMemory(o.memory); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			return err // rejected: the memory is not graph memory
		}
		return nil
	}},
	{"Stream.Do", func(o *everything) error { return o.s.Do(o.filled) }},
	{"Event.Query", func(o *everything) error { return second(o.e.Query()) }},
	{"Event.Wait", func(o *everything) error { return o.e.Wait(context.Background()) }},
	{"Event.Record", func(o *everything) error { return o.f.Record(o.other) }},
	{"Event.Elapsed", func(o *everything) error { return second(o.e.Elapsed(o.e)) }},
	{"Module.Kernel", func(o *everything) error { return second(o.m.Kernel("axpy")) }},
	{"Module.Global", func(o *everything) error { return second(o.m.Global("factor")) }},
	{"Module.Kernels", func(o *everything) error { return second(o.m.Kernels()) }},
	{"Library.Kernel", func(o *everything) error { return second(o.lib.Kernel("axpy")) }},
	{"Library.Global", func(o *everything) error { return second(o.lib.Global("factor")) }},
	{"Library.Kernels", func(o *everything) error { return second(o.lib.Kernels()) }},
	{"Kernel.Launch", func(o *everything) error { return o.k.Launch(o.s, o.one, o.b) }},
	{"Kernel.Load", func(o *everything) error { return o.k.Load() }},
	{"Kernel.Info", func(o *everything) error { return second(o.k.Info()) }},
	{"Kernel.Attribute", func(o *everything) error {
		return second(o.k.Attribute(cu.CU_FUNC_ATTRIBUTE_NUM_REGS))
	}},
	{"Kernel.SetAttribute", func(o *everything) error {
		return o.k.SetAttribute(cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50)
	}},
	{"Kernel.SetCacheConfig", func(o *everything) error { return o.k.SetCacheConfig(cu.CU_FUNC_CACHE_PREFER_L1) }},
	{"Kernel.MaxActiveBlocks", func(o *everything) error { return second(o.k.MaxActiveBlocks(32, 0)) }},
	{"Kernel.AvailableSharedMem", func(o *everything) error { return second(o.k.AvailableSharedMem(1, 32)) }},
	{"Kernel.MaxPotentialBlockSize", func(o *everything) error { return second(o.k.MaxPotentialBlockSize(nil, 0)) }},
	{"Kernel.Prepare", func(o *everything) error { return second(o.k.Prepare(o.one, o.memory)) }},
	{"Launch.Enqueue", func(o *everything) error { return o.l.Enqueue(o.s) }},
	{"CopyOp.Enqueue", func(o *everything) error { return o.copied.Enqueue(o.s) }},
	{"CopyOp.Run", func(o *everything) error { return o.copied.Run() }},
	{"FillOp.Enqueue", func(o *everything) error { return o.filled.Enqueue(o.s) }},
	{"FillOp.Run", func(o *everything) error { return o.filled.Run() }},
	{"MemOp.Enqueue", func(o *everything) error { return o.words.Enqueue(o.s) }},
	{"EventOp.Enqueue, record", func(o *everything) error { return o.record.Enqueue(o.s) }},
	{"EventOp.Enqueue, wait", func(o *everything) error { return o.wait.Enqueue(o.s) }},
	{"HostFunc.Enqueue", func(o *everything) error { return o.host.Enqueue(o.s) }},
	{"Buffer.Fill", func(o *everything) error { return o.b.Fill(1) }},
	{"Buffer.CopyFrom", func(o *everything) error { return o.b.CopyFrom([]float32{1, 2, 3, 4}) }},
	{"Buffer.CopyTo", func(o *everything) error { return o.b.CopyTo(make([]float32, 4)) }},
	{"View.Fill", func(o *everything) error { return o.b.View(1, 3).Fill(1) }},
	{"View.CopyFrom", func(o *everything) error { return o.b.View(1, 3).CopyFrom([]float32{1, 2}) }},
	{"View.CopyTo", func(o *everything) error { return o.b.View(1, 3).CopyTo(make([]float32, 2)) }},
	{"HostBuffer.Device", func(o *everything) error { return second(o.h.Device()) }},
	{"MemPool.Attribute", func(o *everything) error {
		return second(o.p.Attribute(cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD))
	}},
	{"MemPool.SetAttribute", func(o *everything) error {
		return o.p.SetAttribute(cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 1)
	}},
	{"MemPool.SetReleaseThreshold", func(o *everything) error { return o.p.SetReleaseThreshold(1) }},
	{"MemPool.Stats", func(o *everything) error { return second(o.p.Stats()) }},
	{"MemPool.ResetStats", func(o *everything) error { return o.p.ResetStats() }},
	{"MemPool.Access", func(o *everything) error { return second(o.p.Access(o.device)) }},
	{"MemPool.SetAccess", func(o *everything) error {
		return o.p.SetAccess(o.device, cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
	}},
	{"MemPool.Trim", func(o *everything) error { return o.p.Trim(0) }},
	{"AllocFromPool", func(o *everything) error {
		b, err := driver.AllocFromPool[byte](o.s, o.p, 100)
		return errors.Join(err, b.Close())
	}},
	{"Context.SetPool", func(o *everything) error {
		old, err := o.c.CurrentPool()
		if err != nil {
			return err
		}
		return errors.Join(o.c.SetPool(o.p), o.c.SetPool(old))
	}},
	{"Linker.Complete", func(o *everything) error { return second(o.linker.Complete()) }},
	{"Linker.Load", func(o *everything) error {
		m, err := o.linker.Load()
		return errors.Join(err, m.Close())
	}},
	{"Linker.Add", func(o *everything) error {
		return o.linker.Add("more", []byte(linkHead+".visible .entry more()\n{\nret;\n}\n"))
	}},
}

// ofContext lists calls that use only objects which stay open.
var ofContext = []struct {
	name string
	run  func(o *everything) error
}{
	{"Context.MemInfo", func(o *everything) error { _, _, err := o.c.MemInfo(); return err }},
	{"Context.Synchronize", func(o *everything) error { return o.c.Synchronize(context.Background()) }},
	{"Context.StreamPriorityRange", func(o *everything) error { _, _, err := o.c.StreamPriorityRange(); return err }},
	{"Context.Limit", func(o *everything) error { return second(o.c.Limit(cu.CU_LIMIT_STACK_SIZE)) }},
	{"Context.SetLimit", func(o *everything) error { return o.c.SetLimit(cu.CU_LIMIT_STACK_SIZE, 2048) }},
	{"Context.DefaultPool", func(o *everything) error { return second(o.c.DefaultPool()) }},
	{"Context.CurrentPool", func(o *everything) error { return second(o.c.CurrentPool()) }},
	{"Context.CanLoad", func(o *everything) error { return o.c.CanLoad([]byte(workPTX)) }},
	{"Context.NewStream", func(o *everything) error { s, err := o.c.NewStream(); return errors.Join(err, s.Close()) }},
	{"Context.NewEvent", func(o *everything) error { e, err := o.c.NewEvent(); return errors.Join(err, e.Close()) }},
	{"Context.NewMemPool", func(o *everything) error { p, err := o.c.NewMemPool(); return errors.Join(err, p.Close()) }},
	{"Context.NewArray", func(o *everything) error {
		a, err := o.c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 16, Height: 16, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 1})
		return errors.Join(err, a.Close())
	}},
	{"Context.LoadModule", func(o *everything) error {
		m, err := o.c.LoadModule([]byte(workPTX))
		return errors.Join(err, m.Close())
	}},
	{"Context.LoadLibrary", func(o *everything) error {
		l, err := o.c.LoadLibrary([]byte(workPTX))
		return errors.Join(err, l.Close())
	}},
	{"Alloc", func(o *everything) error { b, err := driver.Alloc[int32](o.c, 4); return errors.Join(err, b.Close()) }},
	{"AllocFrom", func(o *everything) error {
		b, err := driver.AllocFrom(o.c, []int32{1, 2})
		return errors.Join(err, b.Close())
	}},
	{"AllocHost", func(o *everything) error {
		h, err := driver.AllocHost[int32](o.c, 4)
		return errors.Join(err, h.Close())
	}},
	{"AllocHostFrom", func(o *everything) error {
		h, err := driver.AllocHostFrom(o.c, []int32{1, 2})
		if err == nil && (h == nil || h.Slice()[1] != 2) {
			return fmt.Errorf("no error, and %v", h)
		}
		return errors.Join(err, h.Close())
	}},
	{"RegisterHost", func(o *everything) error {
		h, err := driver.RegisterHost(o.c, make([]int32, 4))
		return errors.Join(err, h.Close())
	}},
	{"AllocAsync", func(o *everything) error {
		b, err := driver.AllocAsync[int32](o.other, 4)
		return errors.Join(err, b.Close())
	}},
	{"Device.Name", func(o *everything) error { return second(o.device.Name()) }},
	{"Device.UUID", func(o *everything) error { return second(o.device.UUID()) }},
	{"Device.TotalMem", func(o *everything) error { return second(o.device.TotalMem()) }},
	{"Device.Attribute", func(o *everything) error { return second(o.device.Attribute(cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE)) }},
	{"Device.Arch", func(o *everything) error { return second(o.device.Arch()) }},
	{"Device.ComputeCapability", func(o *everything) error { _, _, err := o.device.ComputeCapability(); return err }},
	{"Device.PCIBusID", func(o *everything) error { return second(o.device.PCIBusID()) }},
	{"Device.Properties", func(o *everything) error { return second(o.device.Properties()) }},
	{"Device.GraphMemStats", func(o *everything) error { return second(o.device.GraphMemStats()) }},
	{"Device.ResetGraphMemStats", func(o *everything) error { return o.device.ResetGraphMemStats() }},
	{"Device.TrimGraphMem", func(o *everything) error { return o.device.TrimGraphMem() }},
	{"Device.CanAccessPeer", func(o *everything) error { return second(o.device.CanAccessPeer(o.device)) }},
	{"Driver.DeviceCount", func(o *everything) error { return second(o.c.Driver().DeviceCount()) }},
	{"Driver.Device", func(o *everything) error { return second(o.c.Driver().Device(0)) }},
	{"Driver.DeviceByUUID", func(o *everything) error {
		u, err := o.device.UUID()
		if err != nil {
			return err
		}
		return second(o.c.Driver().DeviceByUUID(u))
	}},
}

// onlyAsked lists, for each method, the driver calls whose failure the method handles without
// returning an error.
var onlyAsked = map[string][]string{}

// If a driver call fails, the method must return that error. It must neither continue with zero
// values nor report success.
func TestMethodsReturnTheErrorsOfTheirCalls(t *testing.T) {
	runtime.LockOSThread() // a new thread would need an extra call that sets the context
	defer runtime.UnlockOSThread()
	const injected = driver.CUDA_ERROR_ECC_UNCORRECTABLE
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	c := gputest.Context(t, gputest.Driver(t, lib))
	lib.Ignore("cuThreadExchangeStreamCaptureMode")
	o := newEverything(t, c)
	// The methods use the same memory on several streams, so the work of each must finish before
	// the next one runs.
	run := func(f func(*everything) error) ([]faulty.Call, error) {
		err := f(o)
		calls := lib.Stop()
		noError(t, c.Synchronize(context.Background()))
		return calls, err
	}
	for _, m := range slices.Concat(methods, ofContext) {
		// The first run may make more calls, because it creates shared state.
		_, err := run(m.run)
		noError(t, err)
		lib.Count()
		calls, err := run(m.run)
		noError(t, err)
		for i, call := range calls {
			lib.FailNth(i+1, uint32(injected))
			made, err := run(m.run)
			if !slices.ContainsFunc(made, func(c faulty.Call) bool { return c.Failed }) {
				continue // this run's wait ended before it made the call
			}
			if !errors.Is(err, injected) && !slices.Contains(onlyAsked[m.name], call.Symbol) {
				t.Errorf("%s: %s failed (call %d of %d), got %v", m.name, call.Symbol, i+1, len(calls), err)
			}
		}
		if _, err := run(m.run); err != nil {
			t.Errorf("%s after a failure: %v", m.name, err)
		}
	}
	o.close(t)
	for _, err := range c.CleanupErrors() {
		if !errors.Is(err, injected) {
			t.Errorf("cleanup: %v", err)
		}
	}
}

// afterClose lists the methods that work on a closed object.
var afterClose = []string{}

func TestMethodsOfClosedObjectsSaySo(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		o := newEverything(t, c)
		for _, closed := range o.closesThis {
			noError(t, closed.Close())
		}
		for _, m := range methods {
			err := m.run(o)
			if slices.Contains(afterClose, m.name) {
				noError(t, err)
			} else if !errors.Is(err, driver.ErrClosed) {
				t.Errorf("%s of a closed object: %v", m.name, err)
			}
		}
		o.close(t)
	})
}

// workFlows are typical programs. Each closes the objects that it creates, even if a step fails.
// They wait for the context, not the stream, so that every run makes the same calls.
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

// Each driver call in each flow fails once. The flow must return the error of that call, leave
// nothing open (gputest checks this), and leave the stream usable.
func TestEveryDriverCallMayFail(t *testing.T) {
	for _, f := range workFlows {
		t.Run(f.name, func(t *testing.T) {
			runtime.LockOSThread() // a new thread would need an extra call that sets the context
			defer runtime.UnlockOSThread()
			lib := faulty.Wrap(emulator.New(emulator.Config{}))
			c := gputest.Context(t, gputest.Driver(t, lib))
			s := must(c.NewStream())(t)
			t.Cleanup(func() { noError(t, s.Close()) })
			noError(t, f.run(c, s)) // the first run creates shared state
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

// ecc is a result code that no flow causes on its own.
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
	// The call succeeded. Only restoring the capture mode failed.
	case err == nil && !strings.HasPrefix(failed, "cuThreadExchange"):
		t.Errorf("call %d (%s) failed without an error", nth, failed)
	case err != nil && !errors.Is(err, ecc):
		t.Errorf("call %d (%s): the cause is lost: %v", nth, failed, err)
	}
}
