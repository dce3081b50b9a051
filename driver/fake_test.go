package driver_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// fake is a driver that does no work. It records which handles are live and, for each call, the
// function, the current context and the capture mode. Lifetime tests use it instead of the emulator
// because they can set the result of every call.
type fake struct {
	mu      sync.Mutex
	procs   map[string]loader.Proc
	next    uintptr
	live    map[uintptr]string // handle → kind
	retains int
	busy    map[uintptr]bool // streams and events with unfinished work
	wake    *sync.Cond
	threads map[uint64]*fakeThread
	calls   []fakeCall
	fail    map[cu.Function]driver.CUresult
	bad     []string // uses of dead handles
	objects map[uintptr][2]uintptr
	capture bool
	hosts   [][2]uintptr // enqueued host functions
	silent  bool         // calls are not recorded and do not allocate
	busyFor int          // see stillBusy
	asked   int
	memory  uintptr // offset added to the usual address of stream-ordered memory
}

type fakeThread struct {
	context uintptr
	mode    uint32
}

type fakeCall struct {
	fn      cu.Function
	context uintptr
	guarded bool
	thread  uint64
}

const fakeContext = 0xc0

func newFake() *fake {
	f := &fake{
		next: 0x1000, live: map[uintptr]string{}, busy: map[uintptr]bool{},
		threads: map[uint64]*fakeThread{}, fail: map[cu.Function]driver.CUresult{},
		objects: map[uintptr][2]uintptr{}, procs: map[string]loader.Proc{},
	}
	f.wake = sync.NewCond(&f.mu)
	f.define()
	return f
}

func (f *fake) Name() string { return "fake driver" }
func (f *fake) Close() error { return nil }

func (f *fake) Lookup(symbol string) (loader.Proc, error) {
	if p, ok := f.procs[symbol]; ok {
		return p, nil
	}
	return loader.Proc{}, fmt.Errorf("%s: %w", symbol, loader.ErrSymbolNotFound)
}

// on defines fn. Calls of fn are recorded and may be set to fail. body runs with the lock held.
func (f *fake) on(fn cu.Function, body func(a loader.Args) driver.CUresult) {
	f.procs[fn.Symbol()] = loader.FuncProc(func(a loader.Args) uintptr {
		f.mu.Lock()
		defer f.mu.Unlock()
		if t := f.thread(); !f.silent {
			f.calls = append(f.calls, fakeCall{fn, t.context, t.mode == 2, loader.ThreadID()})
		}
		if r, ok := f.fail[fn]; ok {
			return uintptr(r)
		}
		return uintptr(body(a))
	})
}

// quiet defines fn. Calls of fn are not recorded and cannot fail.
func (f *fake) quiet(fn cu.Function, body func(t *fakeThread, a loader.Args)) {
	f.procs[fn.Symbol()] = loader.FuncProc(func(a loader.Args) uintptr {
		f.mu.Lock()
		defer f.mu.Unlock()
		body(f.thread(), a)
		return 0
	})
}

func (f *fake) thread() *fakeThread {
	id := loader.ThreadID()
	if f.silent {
		id = 0
	}
	if f.threads[id] == nil {
		f.threads[id] = &fakeThread{}
	}
	return f.threads[id]
}

func (f *fake) make(kind string) uintptr {
	f.next += 0x10
	f.live[f.next] = kind
	return f.next
}

// use records an error if h is dead or of another kind. It accepts CUDA's default streams.
func (f *fake) use(h uintptr, kind string) driver.CUresult {
	if special := kind == "stream" && (h == 1 || h == 2); !special && f.live[h] != kind {
		f.bad = append(f.bad, fmt.Sprintf("%s %#x", kind, h))
		return driver.CUDA_ERROR_INVALID_HANDLE
	}
	return 0
}

func (f *fake) destroy(kind string) func(loader.Args) driver.CUresult {
	return func(a loader.Args) driver.CUresult {
		r := f.use(a.Word(0), kind)
		delete(f.live, a.Word(0))
		return r
	}
}

func (f *fake) query(kind string) func(loader.Args) driver.CUresult {
	return func(a loader.Args) driver.CUresult {
		if r := f.use(a.Word(0), kind); r != 0 {
			return r
		}
		if f.busy[a.Word(0)] || f.stillBusy() {
			return driver.CUDA_ERROR_NOT_READY
		}
		return 0
	}
}

// stillBusy returns true busyFor times, then false once, and starts again.
func (f *fake) stillBusy() bool {
	if f.busyFor == 0 {
		return false
	}
	f.asked = (f.asked + 1) % (f.busyFor + 1)
	return f.asked != 0
}

// silence turns recording off. The fake then does not distinguish threads, so only one goroutine
// may use it.
func (f *fake) silence() { f.silent = true }

func (f *fake) synchronize(kind string) func(loader.Args) driver.CUresult {
	return func(a loader.Args) driver.CUresult {
		for f.busy[a.Word(0)] {
			f.wake.Wait()
		}
		return f.use(a.Word(0), kind)
	}
}

func (f *fake) define() {
	f.quiet(cu.FnCuDriverGetVersion, func(_ *fakeThread, a loader.Args) { *(*int32)(a.Ptr(0)) = 13000 })
	f.quiet(cu.FnCuCtxGetCurrent, func(t *fakeThread, a loader.Args) { *(*uintptr)(a.Ptr(0)) = t.context })
	f.quiet(cu.FnCuCtxSetCurrent, func(t *fakeThread, a loader.Args) { t.context = a.Word(0) })
	f.quiet(cu.FnCuThreadExchangeStreamCaptureMode, func(t *fakeThread, a loader.Args) {
		mode := (*uint32)(a.Ptr(0))
		t.mode, *mode = *mode, t.mode
	})
	f.on(cu.FnCuInit, func(loader.Args) driver.CUresult { return 0 })
	f.on(cu.FnCuDeviceGetCount, func(a loader.Args) driver.CUresult { *(*int32)(a.Ptr(0)) = 1; return 0 })
	f.on(cu.FnCuDeviceGet, func(a loader.Args) driver.CUresult {
		if a.Int32(1) != 0 {
			return driver.CUDA_ERROR_INVALID_DEVICE
		}
		*(*int32)(a.Ptr(0)) = 0
		return 0
	})
	f.defineContexts()
	f.defineStreams()
	f.defineHostFunctions()
	f.defineOrderedMemory()
}

func (f *fake) defineContexts() {
	f.on(cu.FnCuDevicePrimaryCtxRetain, func(a loader.Args) driver.CUresult {
		f.retains++
		*(*uintptr)(a.Ptr(0)) = fakeContext
		return 0
	})
	f.on(cu.FnCuDevicePrimaryCtxRelease, func(loader.Args) driver.CUresult { f.retains--; return 0 })
	f.on(cu.FnCuCtxCreate_v3020, func(a loader.Args) driver.CUresult {
		h := f.make("context")
		f.thread().context = h // the real driver does this too
		*(*uintptr)(a.Ptr(0)) = h
		return 0
	})
	f.on(cu.FnCuCtxPopCurrent, func(a loader.Args) driver.CUresult { f.thread().context = 0; return 0 })
	f.on(cu.FnCuCtxDestroy, f.destroy("context"))
	f.on(cu.FnCuCtxSynchronize, func(loader.Args) driver.CUresult {
		for f.busy[fakeContext] {
			f.wake.Wait()
		}
		return 0
	})
}

func (f *fake) defineStreams() {
	f.on(cu.FnCuStreamCreateWithPriority, func(a loader.Args) driver.CUresult {
		*(*uintptr)(a.Ptr(0)) = f.make("stream")
		return 0
	})
	f.on(cu.FnCuStreamDestroy, f.destroy("stream"))
	f.on(cu.FnCuStreamQuery, f.query("stream"))
	f.on(cu.FnCuStreamSynchronize, f.synchronize("stream"))
	f.on(cu.FnCuStreamWaitEvent, func(a loader.Args) driver.CUresult {
		return max(f.use(a.Word(0), "stream"), f.use(a.Word(1), "event"))
	})
	f.on(cu.FnCuEventCreate, func(a loader.Args) driver.CUresult {
		*(*uintptr)(a.Ptr(0)) = f.make("event")
		return 0
	})
	f.on(cu.FnCuEventRecord, func(a loader.Args) driver.CUresult {
		f.busy[a.Word(0)] = f.busy[a.Word(1)]
		return max(f.use(a.Word(0), "event"), f.use(a.Word(1), "stream"))
	})
	f.on(cu.FnCuEventDestroy, f.destroy("event"))
	f.on(cu.FnCuEventQuery, f.query("event"))
	f.on(cu.FnCuEventSynchronize, f.synchronize("event"))
}

func (f *fake) defineHostFunctions() {
	f.on(cu.FnCuStreamGetCaptureInfo, func(a loader.Args) driver.CUresult {
		if f.capture {
			*(*uint32)(a.Ptr(1)) = uint32(cu.CU_STREAM_CAPTURE_STATUS_ACTIVE)
		}
		return 0
	})
	f.on(cu.FnCuLaunchHostFunc, func(a loader.Args) driver.CUresult {
		f.hosts = append(f.hosts, [2]uintptr{a.Word(1), a.Word(2)})
		return 0
	})
	f.on(cu.FnCuUserObjectCreate, func(a loader.Args) driver.CUresult {
		h := f.make("user object")
		f.objects[h] = [2]uintptr{a.Word(2), a.Word(1)}
		*(*uintptr)(a.Ptr(0)) = h
		return 0
	})
	f.on(cu.FnCuGraphRetainUserObject, func(loader.Args) driver.CUresult { return 0 })
	f.on(cu.FnCuUserObjectRelease, func(a loader.Args) driver.CUresult {
		o := f.objects[a.Word(0)]
		go loader.CallCallback(o[0], o[1])
		return f.destroy("user object")(a)
	})
}

func (f *fake) fire() {
	f.mu.Lock()
	hosts := f.hosts
	f.hosts = nil
	f.mu.Unlock()
	for _, h := range hosts {
		loader.CallCallback(h[0], h[1])
	}
}

// dropGraph destroys the captured graph: it runs the destructors of all user objects.
func (f *fake) dropGraph() {
	f.mu.Lock()
	objects := f.objects
	f.objects = map[uintptr][2]uintptr{}
	f.mu.Unlock()
	for _, o := range objects {
		loader.CallCallback(o[0], o[1])
	}
}

func (f *fake) setBusy(h uintptr, busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[h] = busy
	if !busy {
		clear(f.busy) // events recorded in the stream are then complete too
	}
	f.wake.Broadcast()
}

func (f *fake) count(kind string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.live {
		if k == kind {
			n++
		}
	}
	return n
}

func (f *fake) last(t *testing.T, fn cu.Function) fakeCall {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.calls) - 1; i >= 0; i-- {
		if f.calls[i].fn == fn {
			return f.calls[i]
		}
	}
	t.Fatalf("%v was never called", fn)
	return fakeCall{}
}

func (f *fake) called(fn cu.Function) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.fn == fn {
			return true
		}
	}
	return false
}

func (f *fake) callCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func (f *fake) countSince(n int, fn cu.Function) (count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls[n:] {
		if c.fn == fn {
			count++
		}
	}
	return count
}

func (f *fake) onThisThread(fn cu.Function) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.fn == fn && c.thread == loader.ThreadID() {
			return true
		}
	}
	return false
}

func (f *fake) lastCall() cu.Function {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1].fn
}

func (f *fake) retained() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.retains
}

func (f *fake) deadUses() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bad
}

func (f *fake) open(t testing.TB) *driver.Context {
	t.Helper()
	d := must(driver.New(f))(t)
	dev := must(d.Device(0))(t)
	return must(dev.PrimaryContext())(t)
}

// must returns the value or fails the test. Use: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
