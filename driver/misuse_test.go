package driver_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/imagetest"
	"github.com/purecuda/cuda/internal/uses"
)

// mistake is an incorrect use of the library. The error must match code and contain all of words,
// which name the object.
type mistake struct {
	name  string
	code  error
	words []string
	err   func() error
}

// refused makes each mistake, expects its error, and checks that the context still works
// afterwards. gputest reports objects that are still open at the end of the test.
func refused(w *work, mistakes []mistake) {
	w.Helper()
	for _, m := range mistakes {
		err := m.err()
		if err == nil {
			w.Errorf("%s: no error", m.name)
			continue
		}
		if m.code != errAny && !errors.Is(err, m.code) {
			w.Errorf("%s: %v is not %v", m.name, err, m.code)
		}
		for _, word := range m.words {
			if !strings.Contains(err.Error(), word) {
				w.Errorf("%s: the error does not say %q: %v", m.name, word, err)
			}
		}
		if err := axpyOnce(w, 2); err != nil {
			w.Fatalf("%s: the context is not usable afterwards: %v", m.name, err)
		}
	}
	for _, err := range w.c.CleanupErrors() {
		w.Errorf("cleanup: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestMistakenLaunchesAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		k, x, y := w.kernel("axpy"), w.floats(1), w.floats(2)
		closed := must(driver.AllocFrom(c, []float32{1}))(t)
		noError(t, closed.Close())
		one := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
		var none *driver.Buffer[float32]
		launch := func(cfg driver.LaunchConfig, args ...any) func() error {
			return func() error { return k.Launch(w.s, cfg, args...) }
		}
		prepare := func(cfg driver.LaunchConfig, args ...any) func() error {
			return func() error { return second(k.Prepare(cfg, args...)) }
		}
		grid := func(g driver.Dim3) driver.LaunchConfig { return driver.LaunchConfig{Grid: g, Block: driver.D1(1)} }
		block := func(b driver.Dim3) driver.LaunchConfig { return driver.LaunchConfig{Grid: driver.D1(1), Block: b} }
		good := []any{x, y, float32(1), uint32(1)}
		invalid := driver.CUDA_ERROR_INVALID_VALUE
		refused(w, []mistake{
			{"no configuration", invalid, []string{"kernel axpy", "grid dimension X is 0"}, prepare(driver.LaunchConfig{}, good...)},
			{"no configuration, launched", invalid, []string{"kernel axpy", "grid dimension X is 0"}, launch(driver.LaunchConfig{}, good...)},
			{"no grid", invalid, []string{"kernel axpy", "grid dimension X is 0"}, launch(grid(driver.Dim3{}), good...)},
			{"a grid of 1×0", invalid, []string{"grid dimension Y is 0"}, launch(grid(driver.D2(1, 0)), good...)},
			{"a negative grid", invalid, []string{"grid dimension X is 0"}, launch(grid(driver.D1(-1)), good...)},
			{"a grid beyond 32 bits", invalid, []string{"grid dimension X is 4294967295"}, launch(grid(driver.D1(1<<32+1)), good...)},
			{"a grid too high", invalid, []string{"grid dimension Y is 65536"}, launch(grid(driver.D2(1, 65536)), good...)},
			{"a grid too deep", invalid, []string{"grid dimension Z is 65536"}, launch(grid(driver.D3(1, 1, 65536)), good...)},
			{"no block", invalid, []string{"block dimension X is 0"}, launch(block(driver.Dim3{}), good...)},
			{"a block too deep", invalid, []string{"block dimension Z is 65"}, launch(block(driver.D3(1, 1, 65)), good...)},
			{"a block too large", invalid, []string{"block", "2048 threads"}, launch(block(driver.D2(64, 32)), good...)},
			{"too few arguments", invalid, []string{"kernel axpy", "takes 4", "got 3", "alpha .f32"}, launch(one, x, y, float32(1))},
			{"too many arguments", invalid, []string{"takes 4", "got 5"}, launch(one, append(good, 1)...)},
			{"a float64 for a float32", invalid, []string{"argument 2 (alpha)", "float64", "pass a float32"}, launch(one, x, y, 1.0, uint32(1))},
			{"an int", invalid, []string{"argument 3 (n)", "no fixed size"}, launch(one, x, y, float32(1), 1)},
			{"a slice", invalid, []string{"argument 0 (x)", "Go pointer"}, launch(one, []float32{1}, y, float32(1), uint32(1))},
			{"a nil buffer", driver.CUDA_ERROR_INVALID_VALUE, []string{"argument 1 (y)", "nil buffer"}, launch(one, x, none, float32(1), uint32(1))},
			{"nil", invalid, []string{"argument 1 (y)", "nil"}, launch(one, x, nil, float32(1), uint32(1))},
			{"a closed buffer", driver.ErrClosed, []string{"argument 1 (y)", "buffer of float32"}, launch(one, x, closed, float32(1), uint32(1))},
			{"a view out of range", invalid, []string{"argument 1 (y)", "view [0:2]"}, launch(one, x, y.View(0, 2), float32(1), uint32(1))},
			{"a nil stream", driver.CUDA_ERROR_INVALID_VALUE, []string{"nil stream"}, func() error { return k.Launch(nil, one, good...) }},
			{"a nil kernel", driver.CUDA_ERROR_INVALID_VALUE, []string{"nil kernel"}, func() error { return (*driver.Kernel)(nil).Launch(w.s, one, good...) }},
		})
	})
}

func TestMistakenCopiesAndFillsAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		b := w.floats(1, 2, 3, 4)
		h := closing[*driver.HostBuffer[float32]](w)(driver.AllocHost[float32](c, 4))
		closed := must(driver.AllocFrom(c, []float32{1}))(t)
		noError(t, closed.Close())
		shut := must(driver.AllocHost[float32](c, 1))(t)
		noError(t, shut.Close())
		var none *driver.Buffer[float32]
		var noHost *driver.HostBuffer[float32]
		invalid := driver.CUDA_ERROR_INVALID_VALUE
		region := func(r driver.Region, width, height, depth uintptr) func() error {
			from := driver.Region{Memory: h, Pitch: 8, Rows: 1}
			return func() error { return second(driver.Copy3D(r, from, width, height, depth)) }
		}
		far := ^uintptr(0)
		refused(w, []mistake{
			{"a nil destination", driver.CUDA_ERROR_INVALID_VALUE, []string{"upload", "nil buffer"}, func() error { return second(driver.Upload(none, h)) }},
			{"a nil source", driver.CUDA_ERROR_INVALID_VALUE, []string{"upload", "nil host buffer"}, func() error { return second(driver.Upload(b, noHost)) }},
			{"a closed destination", driver.ErrClosed, []string{"device copy: destination", "buffer of float32"}, func() error { return second(driver.CopyDevice(closed, b.View(0, 1))) }},
			{"a closed host buffer", driver.ErrClosed, []string{"download", "host buffer of float32"}, func() error { return second(driver.Download(shut, b.View(0, 1))) }},
			{"other lengths", invalid, []string{"upload", "4 elements", "2"}, func() error { return second(driver.Upload(b, h.View(0, 2))) }},
			{"a slice of another length", invalid, []string{"copy into", "3 elements"}, func() error { return b.CopyFrom(make([]float32, 3)) }},
			{"an overlap", invalid, []string{"overlap"}, func() error { return second(driver.CopyDevice(b.View(0, 3), b.View(1, 4))) }},
			{"rows that wrap around", invalid, []string{"3D copy: destination"}, region(driver.Region{Memory: b, Pitch: 8, Rows: 2, Y: far}, 4, 2, 1)},
			{"layers that wrap around", invalid, []string{"3D copy: destination"}, region(driver.Region{Memory: b, Pitch: 8, Rows: 1, Layer: far}, 4, 1, 2)},
			{"bytes that wrap around", invalid, []string{"3D copy: destination"}, region(driver.Region{Memory: b, Pitch: 8, X: far - 3}, 8, 1, 1)},
			{"rows beyond the end", invalid, []string{"16 bytes"}, region(driver.Region{Memory: b, Pitch: 8, Y: 1}, 8, 2, 1)},
			{"a fill whose rows wrap around", invalid, []string{"2D fill"}, func() error { return second(driver.Fill2D(b, 1, math.MaxInt/2+1, 1, 5)) }},
			{"a fill of too many rows", invalid, []string{"2D fill"}, func() error { return second(driver.Fill2D(b, 1, 2, 2, 3)) }},
			{"a fill of a closed buffer", driver.ErrClosed, []string{"fill"}, func() error { return closed.Fill(1) }},
			{"a negative length", invalid, []string{"buffer of float32", "negative length -1"}, func() error { return second(driver.Alloc[float32](c, -1)) }},
			{"a length that wraps around", invalid, []string{"buffer of float64"}, func() error { return second(driver.Alloc[float64](c, math.MaxInt/4)) }},
			{"more memory than there is", driver.CUDA_ERROR_OUT_OF_MEMORY, []string{"buffer of uint8", "bytes"}, func() error { return second(driver.Alloc[byte](c, 1<<50)) }},
			{"elements with pointers", invalid, []string{"*int"}, func() error { return second(driver.Alloc[*int](c, 1)) }},
			{"a free of unordered memory", errAny, []string{"use Close"}, func() error { return b.FreeAsync(w.s) }},
		})
	})
}

var errAny = errors.New("any")

func TestMistakenCodeIsRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		load := func(image string) func() error {
			return func() error { return second(c.LoadModule([]byte(image))) }
		}
		invalid := driver.CUDA_ERROR_INVALID_VALUE
		closed := must(c.LoadModule([]byte(workPTX)))(t)
		kernel := must(closed.Kernel("axpy"))(t)
		noError(t, closed.Close())
		broken := ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n\tnonsense.u32 %r1;\n\tret;\n}\n"
		cut := ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n\tret;\n"
		refused(w, []mistake{
			{"an empty image", invalid, []string{"module", "empty"}, load("")},
			{"text that is no code", invalid, []string{"module", "neither PTX"}, load("hello, world")},
			{"an unknown instruction", driver.CUDA_ERROR_INVALID_PTX, []string{"line 6", "nonsense"}, load(broken)},
			{"a text that ends early", driver.CUDA_ERROR_INVALID_PTX, []string{"cuModuleLoadDataEx"}, load(cut)},
			{"half a cubin", invalid, []string{"module", "128 bytes"}, load(cutELF())},
			{"half a fat binary", invalid, []string{"module", "20 bytes"}, load("\x50\xed\x55\xba\x01\x00\x10\x00\x00\x01\x00\x00\x00\x00\x00\x00abcd")},
			{"a library of it", driver.CUDA_ERROR_INVALID_PTX, []string{"line 6"}, func() error { return libraryKernel(c, broken) }},
			{"an unknown kernel", driver.CUDA_ERROR_NOT_FOUND, []string{"axqy", "axpy"}, func() error { return second(w.m.Kernel("axqy")) }},
			{"a kernel without a name", invalid, []string{"kernel"}, func() error { return second(w.m.Kernel("")) }},
			{"a closed module", driver.ErrClosed, []string{"module"}, func() error { return second(closed.Kernel("axpy")) }},
			{"its kernel", driver.ErrClosed, []string{"kernel axpy"}, func() error {
				return second(kernel.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}))
			}},
			{"a nil module", driver.CUDA_ERROR_INVALID_VALUE, []string{"nil module"}, func() error { return second((*driver.Module)(nil).Kernel("k")) }},
		})
	})
}

// libraryKernel loads a library and looks up its kernel k. Some drivers do not compile the code
// before the lookup.
func libraryKernel(c *driver.Context, ptx string) error {
	l, err := c.LoadLibrary([]byte(ptx))
	if err != nil {
		return err
	}
	return errors.Join(second(l.Kernel("k")), l.Close())
}

// cutELF returns the beginning of a cubin whose section headers lie beyond its end.
func cutELF() string {
	b := imagetest.Cubin(64)
	b[0x29] = 0x10 // the section headers are at offset 4096
	b[0x3a], b[0x3c] = 64, 3
	return string(b)
}

func TestMistakenSmallThingsAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		k := w.kernel("axpy")
		invalid := driver.CUDA_ERROR_INVALID_VALUE
		refused(w, []mistake{
			{"blocks beyond 32 bits", invalid, []string{"kernel axpy"}, func() error { return second(k.AvailableSharedMem(1<<32+1, 32)) }},
			{"threads beyond 32 bits", invalid, []string{"kernel axpy"}, func() error { return second(k.AvailableSharedMem(1, 1<<32+32)) }},
			{"no threads", invalid, []string{"kernel axpy"}, func() error { return second(k.MaxActiveBlocks(0, 0)) }},
			{"a device that is not there", driver.CUDA_ERROR_INVALID_DEVICE, []string{"device 99"}, func() error { return second(c.Device().Driver().Device(99)) }},
			{"a device before the first", driver.CUDA_ERROR_INVALID_DEVICE, []string{"device -1"}, func() error { return second(c.Device().Driver().Device(-1)) }},
		})
		// Priorities out of range are clamped, including those that do not fit in 32 bits.
		least, greatest, err := c.StreamPriorityRange()
		noError(t, err)
		for asked, want := range map[int]int{math.MaxInt: least, math.MinInt: greatest} {
			s := closing[*driver.Stream](w)(c.NewStream(driver.WithPriority(asked)))
			if got := must(s.Priority())(t); got != want {
				t.Errorf("priority %d became %d, not %d", asked, got, want)
			}
		}
	})
}

// A handle of one driver is invalid in another. Using it there could crash the process, so the
// library must reject it.
func TestObjectsOfAnotherDriverAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		w := newWork(t, c)
		other := gputest.Context(t, gputest.Emulator(t, emulator.Config{Name: "the other"}))
		near := w.floats(1, 2)
		far := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(other, []float32{3, 4}))
		host := closing[*driver.HostBuffer[float32]](w)(driver.AllocHost[float32](other, 2))
		word := closing[*driver.Buffer[uint32]](w)(driver.AllocFrom(other, []uint32{3, 4}))
		event := closing[*driver.Event](w)(other.NewEvent(driver.WithTiming()))
		mine := closing[*driver.Event](w)(c.NewEvent(driver.WithTiming()))
		stream := closing[*driver.Stream](w)(other.NewStream())
		pool := closing[*driver.MemPool](w)(other.NewMemPool())
		ordered := must(driver.AllocAsync[float32](stream, 2))(t)
		invalid, another := driver.CUDA_ERROR_INVALID_VALUE, []string{"another driver"}
		two := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(2)}
		refused(w, []mistake{
			{"a launch", invalid, another, func() error { return w.kernel("axpy").Launch(w.s, two, near, far, float32(1), uint32(2)) }},
			{"a device copy", invalid, another, func() error { return second(driver.CopyDevice(near, far)) }},
			{"an upload", invalid, another, func() error { return second(driver.Upload(near, host)) }},
			{"a download", invalid, another, func() error { return second(driver.Download(host, near)) }},
			{"a region", invalid, another, func() error {
				return second(driver.Copy2D(driver.Region{Memory: near, Pitch: 8}, driver.Region{Memory: far, Pitch: 8}, 8, 1))
			}},
			{"a memory operation", invalid, another, func() error {
				return second(driver.NewMemOp(c, driver.WriteWord(word, 0, 1, cu.CU_STREAM_WRITE_VALUE_DEFAULT)))
			}},
			{"a record", invalid, another, func() error { return w.s.Record(event) }},
			{"a wait", invalid, another, func() error { return w.s.WaitEvent(event) }},
			{"an elapsed time", invalid, another, func() error { return second(mine.Elapsed(event)) }},
			{"peer access", invalid, another, func() error { return c.EnablePeerAccess(other) }},
			{"the end of peer access", invalid, another, func() error { return c.DisablePeerAccess(other) }},
			{"a question about peers", invalid, another, func() error { return second(c.Device().CanAccessPeer(other.Device())) }},
			{"a pool", invalid, another, func() error { return c.SetPool(pool) }},
			{"an allocation", invalid, another, func() error { return second(driver.AllocFromPool[byte](w.s, pool, 1)) }},
			{"a free", invalid, another, func() error { return ordered.FreeAsync(w.s) }},
		})
		noError(t, ordered.FreeAsync(stream))
	})
}

func TestMemoryOperationOnAnotherDeviceNeedsPeerAccess(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *driver.Context) {
		w := newWork(t, a)
		far := closing[*driver.Buffer[uint32]](w)(driver.AllocFrom(b, []uint32{1}))
		refused(w, []mistake{{"a word", driver.CUDA_ERROR_INVALID_VALUE, []string{"step 0", "EnablePeerAccess"}, func() error {
			return second(driver.NewMemOp(a, driver.WriteWord(far, 0, 1, cu.CU_STREAM_WRITE_VALUE_DEFAULT)))
		}}})
	})
}

// An empty view at the end of registered memory is valid, although the address after the end is not
// registered.
func TestEmptyViewAtTheEndOfRegisteredMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := make([]byte, 4096)
		w := &work{TB: t, c: c}
		h := closing[*driver.HostBuffer[byte]](w)(driver.RegisterHost(c, s))
		end := h.View(len(s), len(s))
		if noErr := end.Err(); noErr != nil || end.Len() != 0 || len(end.Slice()) != 0 {
			t.Errorf("the view is %v (%v)", end, noErr)
		}
	})
}

func TestContextThatCannotBePoppedIsDestroyed(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	d := gputest.Driver(t, lib)
	dev := must(d.Device(0))(t)
	lib.FailCall("cuCtxPopCurrent_v2", 1, uint32(ecc))
	_, err := dev.NewContext(0)
	wantError(t, err, ecc, "context", "device 0")
	destroyed := false
	for _, call := range lib.Stop() {
		destroyed = destroyed || strings.HasPrefix(call.Symbol, "cuCtxDestroy")
	}
	if !destroyed {
		t.Error("the context was not destroyed")
	}
}

type use struct {
	object interface{ Close() error }
	send   func() error
}

// Closing memory or code must not affect enqueued work that still uses it. Where the library does
// not wait for the work, the driver does.
func TestMemoryAndCodeInUseOutliveClose(t *testing.T) {
	const n = 1 << 10
	copied := func(w *work, object interface{ Close() error }, op driver.Op, err error) use {
		noError(w, err)
		return use{object, func() error { return w.s.Do(op) }}
	}
	uses := map[string]func(w *work, b *driver.Buffer[float32]) use{
		"page-locked": func(w *work, b *driver.Buffer[float32]) use {
			h := must(driver.AllocHostFrom(w.c, ones(n)))(w)
			op, err := driver.Upload(b, h)
			return copied(w, h, op, err)
		},
		"registered": func(w *work, b *driver.Buffer[float32]) use {
			h := must(driver.RegisterHost(w.c, ones(n)))(w)
			op, err := driver.Upload(b, h)
			return copied(w, h, op, err)
		},
		"module": func(w *work, b *driver.Buffer[float32]) use {
			m := must(w.c.LoadModule([]byte(workPTX)))(w)
			cfg := driver.LaunchConfig{Grid: driver.D1(n / 256), Block: driver.D1(256)}
			op, err := must(m.Kernel("set"))(w).Prepare(cfg, b)
			return copied(w, m, op, err)
		},
		"buffer": func(w *work, b *driver.Buffer[float32]) use {
			x := must(driver.AllocFrom(w.c, ones(n)))(w)
			op, err := driver.CopyDevice(b, x)
			return copied(w, x, op, err)
		},
		"ordered": func(w *work, b *driver.Buffer[float32]) use {
			x := must(driver.AllocAsync[float32](w.s, n))(w)
			w.do(driver.Fill(x, 1))
			op, err := driver.CopyDevice(b, x)
			return copied(w, x, op, err)
		},
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for name, prepare := range uses {
			t.Run(name, func(t *testing.T) { closeInUse(newWork(t, c), n, prepare) })
		}
	})
}

func closeInUse(w *work, n int, prepare func(*work, *driver.Buffer[float32]) use) {
	b := closing[*driver.Buffer[float32]](w)(driver.AllocFrom(w.c, make([]float32, n)))
	x := prepare(w, b)
	hold := make(chan bool)
	noError(w, w.s.HostFunc(func() { <-hold }))
	noError(w, x.send())
	closed := make(chan error, 1)
	go func() { closed <- x.object.Close() }()
	time.Sleep(5 * time.Millisecond) // enough time for an incorrect Close to free the object
	close(hold)
	noError(w, <-closed)
	expect(w, "what the device saw", contents(w, b), ones(n))
}

func ones(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func TestCancelledWaitPrefersTheAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := make(chan error, 1)
	for range 100 {
		answer <- nil
		if err := driver.AnswerOrCause(ctx, answer); err != nil {
			t.Fatalf("it was done and the answer is %v", err)
		}
	}
}

// A NOBITS section, such as shared memory, has no bytes in the file and may have any offset. It
// must not make an image look truncated.
func TestWholeImagesAreTaken(t *testing.T) {
	elf := imagetest.Cubin(2 * 64)
	elf[0x28], elf[0x3a], elf[0x3c] = 64, 64, 2 // two section headers after the ELF header
	elf[64+4], elf[64+0x18], elf[64+0x20] = 1, 64, 128
	elf[128+4], elf[128+0x1f] = 8, 0x7f // NOBITS with an offset beyond the end
	fat := imagetest.Fatbin(imagetest.Entry(1, 80, 0, []byte(axpyPTX)))
	for name, image := range map[string][]byte{"cubin": elf, "fat binary": fat} {
		c := newFakeDevice().open(t)
		noError(t, must(c.LoadModule(image))(t).Close())
		_, err := c.LoadModule(image[:len(image)-1])
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "truncated")
		t.Log(name, err)
		noError(t, c.Close())
	}
}

// If a kernel's parameters are unknown, the first arguments of a launch determine the sizes. The
// launch must not refer to replaced arguments, and Kernel.Launch must not reuse the sizes of an
// earlier call.
func TestUnknownParametersAreForgotten(t *testing.T) {
	f := newFakeDevice()
	delete(f.procs, cu.FnCuFuncGetParamInfo.Symbol())
	f.kernels, f.params = []string{"k"}, []uintptr{8}
	c := f.open(t)
	m := must(c.LoadModule(imagetest.Cubin(0)))(t)
	k, s := must(m.Kernel("k"))(t), must(c.NewStream())(t)
	cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	b := must(driver.Alloc[byte](c, 1))(t)
	l := must(k.Prepare(cfg, b))(t)
	noError(t, driver.SetArg(l, 0, uint64(1)))
	noError(t, b.Close())
	for _, r := range l.Uses().Refs {
		if r.Lifetime() == b.Ref().Lifetime() {
			t.Error("it still refers to the buffer")
		}
	}
	sent := f.callCount()
	noError(t, s.Do(l))
	if f.countSince(sent, cu.FnCuLaunchKernel) != 1 {
		t.Error("a buffer that is no longer an argument stopped the launch")
	}
	noError(t, k.Launch(s, cfg, uint32(1)))
	noError(t, k.Launch(s, cfg, uint64(1)))
	closeAll(t, s, m, c)
}

// Concurrent frees must release the memory exactly once. The calls that come too late must not
// retain a stream. gputest would report a retained stream.
func TestConcurrentFreesOfOrderedMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for range 100 {
			a, b := must(c.NewStream())(t), must(c.NewStream())(t)
			x := must(driver.AllocAsync[byte](a, 1))(t)
			noError(t, a.Wait(t.Context()))
			var all sync.WaitGroup
			var ready, freed atomic.Int32
			frees := []func() error{func() error { return x.FreeAsync(a) }, func() error { return x.FreeAsync(b) }, x.Close}
			for _, free := range frees {
				all.Go(func() {
					for ready.Add(1); ready.Load() < int32(len(frees)); {
						runtime.Gosched()
					}
					if err := free(); err == nil {
						freed.Add(1)
					} else if !errors.Is(err, driver.ErrClosed) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if n := freed.Load(); n < 1 || n > 2 { // a Close that comes too late returns nil
				t.Errorf("%d frees", n)
			}
			closeAll(t, a, b)
		}
	})
}

// A free after Close must not retain the stream. gputest would report a retained stream.
func TestFreeThatComesTooLateKeepsNothing(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		a, b := must(c.NewStream())(t), must(c.NewStream())(t)
		x := must(driver.AllocAsync[byte](a, 1))(t)
		noError(t, x.Close())
		wantError(t, driver.FreeLate(x, b), driver.ErrClosed, "buffer of uint8")
		y := must(must(driver.NewAlloc[byte](c, nil, 1))(t).PendGraphBuffer())(t).At(0x1000, nil)
		noError(t, y.Close())
		wantError(t, driver.FreeLate(y, b), driver.ErrClosed, "graph buffer of uint8")
		closeAll(t, a, b)
	})
}

// A Close during a wait's first query must not affect the wait.
func TestCloseDuringTheFirstQueryOfAWait(t *testing.T) {
	lib := faulty.Wrap(emulator.New(emulator.Config{}))
	c := gputest.Context(t, gputest.Driver(t, lib))
	for name, query := range map[string]string{"stream": "cuStreamQuery", "event": "cuEventQuery"} {
		t.Run(name, func(t *testing.T) {
			s, e := must(c.NewStream())(t), must(c.NewEvent())(t)
			noError(t, s.Record(e))
			lib.Before(func(symbol string) {
				if symbol == query {
					closeAll(t, s, e)
				}
			})
			lib.Count()
			defer lib.Before(nil)
			if name == "stream" {
				noError(t, s.Wait(t.Context()))
			} else {
				noError(t, e.Wait(t.Context()))
			}
			lib.Stop()
			closeAll(t, s, e)
		})
	}
}

// A new stream that has the handle of a destroyed one must not report the old stream's panics.
// Context.CleanupErrors returns those.
func TestPanicsOfAClosedStreamAreKept(t *testing.T) {
	f := newFake()
	c := f.open(t)
	panics := func() *driver.Stream {
		s := must(c.NewStream())(t)
		noError(t, s.HostFunc(func() { panic("early") }))
		return s
	}
	first := panics()
	f.fire()
	noError(t, first.Close())
	second := panics()
	noError(t, second.Close())
	f.fire()
	f.next = uintptr(first.Raw()) - 0x10
	third := must(c.NewStream())(t)
	if third.Raw() != first.Raw() {
		t.Fatal("the streams have different handles: nothing was tested")
	}
	noError(t, third.Do(must(driver.NewHostFunc(c, func() {}))(t)))
	if errs := c.CleanupErrors(); len(errs) != 2 || !strings.Contains(errs[0].Error(), "early") {
		t.Errorf("CleanupErrors() = %v", errs)
	}
	closeAll(t, third, c)
}

func TestNilOperationsHaveNoParameters(t *testing.T) {
	var c *driver.CopyOp
	var f *driver.FillOp
	if c.Bytes() != 0 || f.Bytes() != 0 {
		t.Error("a nil operation has a size")
	}
	for _, op := range []interface{ Uses() uses.Set }{
		c, f, (*driver.MemOp)(nil), (*driver.FreeOp)(nil), (*driver.AllocOp[int32])(nil), (*driver.HostFunc)(nil), (*driver.SemaphoreOp)(nil),
		(*driver.Launch)(nil), (*driver.EventOp)(nil),
	} {
		if u := op.Uses(); u.Node != nil || u.Refs != nil || u.Accesses != nil {
			t.Errorf("a nil %T uses %+v", op, u)
		}
	}
}
