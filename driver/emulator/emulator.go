package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/callback"
	"github.com/purecuda/cuda/driver/emulator/internal/coredump"
	"github.com/purecuda/cuda/driver/emulator/internal/order"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// Emulator is an emulated CUDA driver. It implements loader.Library.
//
// One mutex guards all of its state: handles, threads, queues and graphs. The mutex is released
// during anything that takes time (executing, copying, compiling, waiting). Work in a stream starts
// without the mutex. It locks the mutex only to access that state.
type Emulator struct {
	cfg   Config
	procs map[string]loader.Proc
	stats counters
	mem   *vm.Memory

	mu             sync.Mutex
	initialized    bool
	closed         bool
	nextHandle     uintptr
	nextID         uint64
	handles        map[uintptr]any
	threads        map[uint64]*thread
	devices        []*device
	captures       map[*capture]struct{} // unfinished captures
	graphAllocs    map[uint64]*allocNode // by address
	reserved       map[uint64]uint64     // sizes of reserved address ranges, by address
	keptAlive      map[uintptr]any       // arrays that must stay alive as long as a handle, by handle
	exports        []*Semaphore          // by handle; nil once an import has consumed it
	texts          map[string]*byte      // C strings passed to the program; valid as long as the emulator
	reclaimed      []Leak                // objects that were destroyed with their context
	hostBytes      uint64                // total size of page-locked memory
	callbacks      callback.Thread
	profiles       profiles
	hostTime       time.Duration // the host's simulated time
	journal        journal
	coredump       *coredump.Settings // core dump settings of the process
	lastFault      string
	faultOf        map[result]string // the report of the last fault for each result code
	pendingLog     []record
	findings       findings
	rounds         atomic.Uint64  // number of plans executed
	hostKnows      order.Progress // work that the host knows to have ended
	hostNodes      []*order.Task  // nodes of running graphs that the host knows to have been reached
	leavingStreams []*stream      // destroyed streams that the host does not know to be idle
	retirements    uint64
	signals        map[any]order.Progress // the work that precedes the last signal, by semaphore or word address
	flights        []*flight              // for CheckHostMemory
	writers        []writer               // for CheckHostMemory
	madeAt         map[uintptr]*vm.Trace  // where each handle was created, for CheckLeaks
	active         int                    // number of streams with a goroutine
	idle           *sync.Cond             // signalled when active becomes 0
	running        context.Context        // the context of all kernels; Close cancels it
	cancel         context.CancelFunc
}

var _ loader.Library = (*Emulator)(nil)

// New returns an emulated driver. Close stops all of its work.
func New(cfg Config) *Emulator {
	e := &Emulator{
		cfg:         cfg.withDefaults(),
		nextHandle:  firstHandle,
		handles:     make(map[uintptr]any),
		threads:     make(map[uint64]*thread),
		captures:    make(map[*capture]struct{}),
		texts:       make(map[string]*byte),
		graphAllocs: make(map[uint64]*allocNode),
		reserved:    make(map[uint64]uint64),
		keptAlive:   make(map[uintptr]any),
		mem:         vm.NewMemory(),
		hostKnows:   make(order.Progress),
		madeAt:      make(map[uintptr]*vm.Trace),
	}
	e.mem.Track(e.cfg.Check.engine())
	if e.cfg.ReuseAddresses {
		e.mem.ReuseAddresses()
	}
	e.idle = sync.NewCond(&e.mu)
	e.running, e.cancel = context.WithCancel(context.Background())
	e.callbacks.Init(e.callbackEnv())
	e.journal.init(e)
	e.coredump = coredump.New()
	for i := range e.cfg.Devices {
		e.devices = append(e.devices, newDevice(e, i))
	}
	e.procs = make(map[string]loader.Proc)
	for _, table := range allFunctions() {
		for symbol, f := range table {
			e.procs[symbol] = loader.FuncProc(e.bind(symbol, f))
		}
	}
	return e
}

// anEmulator describes an emulator in the errors from methods of a nil or zero Emulator.
var anEmulator = absent.Kind{Name: "emulator", Make: "emulator.New", Code: cu.CUDA_ERROR_INVALID_VALUE}

func (e *Emulator) exists() bool { return e != nil && e.procs != nil }

// Name returns a name that identifies the emulator and its devices.
func (e *Emulator) Name() string {
	if e == nil {
		return "no emulator"
	}
	return fmt.Sprintf("purecuda emulator (%d × sm_%d%d)",
		e.cfg.Devices, e.cfg.ComputeCapability[0], e.cfg.ComputeCapability[1])
}

// Lookup returns the driver function for an ABI symbol such as cuMemAlloc_v2. For an unknown
// symbol, the error is loader.ErrSymbolNotFound.
func (e *Emulator) Lookup(symbol string) (loader.Proc, error) {
	if !e.exists() {
		return loader.Proc{}, anEmulator.Error(e == nil)
	}
	p, ok := e.procs[symbol]
	if !ok {
		return loader.Proc{}, fmt.Errorf("emulator: %s is not implemented: %w", symbol, loader.ErrSymbolNotFound)
	}
	return p, nil
}

// Close cancels running kernels, drops queued work and stops all goroutines. Every later call
// returns CUDA_ERROR_DEINITIALIZED. A second call has no effect.
func (e *Emulator) Close() error {
	if !e.exists() {
		return nil
	}
	e.mu.Lock()
	defer e.unlock()
	if e.closed {
		return nil
	}
	if th := e.threads[loader.ThreadID()]; th != nil && th.callback {
		return errors.New("emulator: a host function cannot close the driver that calls it")
	}
	e.closed = true
	e.cancel()
	for e.active > 0 {
		e.idle.Wait()
	}
	e.callbacks.Stop()
	e.findLeaks()
	return nil
}

// Config describes the emulated machine. The zero value describes one device of compute capability
// 9.0 with 8 GiB of memory.
type Config struct {
	// Devices is the number of devices. 0 means 1. A negative number means no devices, so that
	// cuInit fails with CUDA_ERROR_NO_DEVICE.
	Devices int
	// Name is the name of every device. If it is empty, the name contains "emulator".
	Name string
	// ComputeCapability is the major and minor version. Zero means 9.0.
	ComputeCapability [2]int
	// Multiprocessors is the number of SMs. 0 means 132.
	Multiprocessors int
	// MemorySize is the amount of memory that each device reports. 0 means 8 GiB. The process uses
	// only memory that is written. (On Linux, this holds for allocations of 1 MiB and more.
	// Elsewhere, Go may clear memory that it reuses.)
	MemorySize uint64
	// LimitMemory is how much of MemorySize a program can allocate before CUDA_ERROR_OUT_OF_MEMORY.
	// 0 means all of it. Use it to test that error.
	LimitMemory uint64
	// DriverVersion is the version that cuDriverGetVersion returns. 0 means 13000.
	DriverVersion int
	// Log receives one record for each failed call, kernel fault, finding and rejected module. If
	// it is nil, the records are discarded. The handler may query the emulator and call CUDA.
	// Records about a kernel arrive while the kernel is running, so a handler that waits for that
	// kernel deadlocks.
	Log *slog.Logger
	// Stdout receives the output of kernels. If it is nil, kernels print to the program's standard
	// output, as with a driver. io.Discard discards the output.
	Stdout io.Writer
	// Workers is the maximum number of thread blocks that run concurrently. 0 means GOMAXPROCS. 1
	// makes every execution deterministic.
	Workers int
	// Profile counts instructions by opcode, and the memory transactions of accesses. See
	// Emulator.Profile. Counting makes kernels several times slower.
	Profile bool
	// CostModel, if not nil, simulates the times of events. It counts instructions as Profile does.
	CostModel *CostModel
	// Seed, if not 0, permutes the order of thread blocks and warps. It also delays asynchronous
	// copies in kernels (cp.async and similar) until the kernel waits for them.
	Seed uint64
	// Limits restricts the use of the process's resources by modules and kernels. Set it if the
	// program runs untrusted code.
	Limits Limits
	// ReuseAddresses assigns the address of freed memory to the next allocation of the same size
	// (in units of 512 bytes), as drivers do. By default, each address is used only once, so that
	// every access to freed memory is detected. With reused addresses, a later allocation can hide
	// such an access.
	ReuseAddresses bool
	// RecoverFaults clears the fault of a device when its last context is destroyed, so that new
	// contexts work. By default, a fault lasts as long as the emulator, just as it lasts as long as
	// the process with driver 580. Use RecoverFaults to test programs that continue in a new
	// context.
	RecoverFaults bool
	// Check is the set of optional checks. Emulator.Findings returns their results.
	Check Check
}

// Limits are additional to LimitMemory. LimitMemory covers all device memory: allocations, module
// variables, the local and shared memory of running blocks, and the heap for malloc in kernels. The
// stack of one thread is limited to 512 KiB, as on devices.
type Limits struct {
	// Variables is the maximum number of variables that a module may declare with parameterized
	// names such as x<100>. 0 means 1,048,576. A module with more variables fails to load with
	// CUDA_ERROR_OUT_OF_MEMORY.
	Variables int
	// HostMemory is the maximum amount of page-locked memory at any time. 0 means 64 GiB.
	// Allocations beyond it fail with CUDA_ERROR_OUT_OF_MEMORY.
	HostMemory uint64
	// KernelTime is how long one kernel may run. A slower kernel fails with
	// CUDA_ERROR_LAUNCH_TIMEOUT, as on a device that drives a display, and the error contains the
	// kernel's current line. 0 means no limit. Without a limit, an endless kernel ends only when
	// Emulator.Close is called, and closing an object that it uses blocks forever.
	KernelTime time.Duration
	// Print is the maximum number of bytes that all kernels together may print. Further output is
	// discarded. 0 means no limit, as with a driver.
	Print int64
}

const (
	defaultHost    = 64 << 30
	defaultMemory  = 8 << 30
	defaultVersion = 13000
	defaultSMs     = 132
)

func (c Config) withDefaults() Config {
	if c.Devices == 0 {
		c.Devices = 1
	}
	c.Devices = max(c.Devices, 0)
	if c.ComputeCapability == [2]int{} {
		c.ComputeCapability = [2]int{9, 0}
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("purecuda emulator (sm_%d%d)", c.ComputeCapability[0], c.ComputeCapability[1])
	}
	if c.Multiprocessors == 0 {
		c.Multiprocessors = defaultSMs
	}
	if c.MemorySize == 0 {
		c.MemorySize = defaultMemory
	}
	if c.LimitMemory == 0 || c.LimitMemory > c.MemorySize {
		c.LimitMemory = c.MemorySize
	}
	if c.Limits.HostMemory == 0 {
		c.Limits.HostMemory = defaultHost
	}
	if c.DriverVersion == 0 {
		c.DriverVersion = defaultVersion
	}
	if c.Stdout == nil {
		c.Stdout = os.Stdout
	}
	if c.Limits.Print > 0 {
		c.Stdout = &limitedWriter{w: c.Stdout, left: c.Limits.Print}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// limitedWriter writes up to a total number of bytes. After that, writes fail.
type limitedWriter struct {
	mu   sync.Mutex
	w    io.Writer
	left int64
}

var errPrinted = errors.New("emulator: kernels have printed as much as Config.Limits.Print allows")

func (l *limitedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(int64(len(b)), l.left)
	if n > 0 {
		written, err := l.w.Write(b[:n])
		l.left -= int64(written)
		if err != nil {
			return written, err
		}
	}
	if n < int64(len(b)) {
		return int(n), errPrinted
	}
	return int(n), nil
}

// Handles are numbers that are never reused, so the handle of a destroyed object is recognised as
// invalid. They are larger than the special stream handles and the small integers that a caller may
// pass by mistake.
const (
	firstHandle = 0x10000
	handleStep  = 0x10
)

func (e *Emulator) register(object any) uintptr {
	e.nextHandle += handleStep
	e.handles[e.nextHandle] = object
	if e.checks(CheckLeaks) {
		e.madeAt[e.nextHandle] = vm.Here()
	}
	return e.nextHandle
}

func (e *Emulator) forget(h uintptr) {
	delete(e.handles, h)
	delete(e.keptAlive, h)
	delete(e.madeAt, h)
}

// keepAlive keeps an array that the program received alive as long as the handle is registered.
func (e *Emulator) keepAlive(h uintptr, array any) { e.keptAlive[h] = array }

// find returns the object with handle h, or nil if there is none of type T.
func find[T any](e *Emulator, h uintptr) *T {
	p, _ := e.handles[h].(*T)
	return p
}

// handleAt returns the object whose handle is argument i. If there is none of type T, it returns
// nil.
func handleAt[T any](c call, i int) *T { return find[T](c.e, c.Word(i)) }

// objectAt is like handleAt, but returns CUDA_ERROR_INVALID_HANDLE if there is no such object.
func objectAt[T any](c call, i int) (*T, result) {
	if o := handleAt[T](c, i); o != nil {
		return o, success
	}
	return nil, errInvalidHandle
}

// id returns a new number for an object that needs an identity in addition to its handle.
func (e *Emulator) id() uint64 {
	e.nextID++
	return e.nextID
}

// thread is the state of an operating-system thread: its stack of contexts and its capture
// interaction mode.
type thread struct {
	id       uint64
	stack    []*cudaContext
	mode     cu.CUstreamCaptureMode // the default, 0, is GLOBAL
	callback bool                   // this thread runs host functions, which must not call CUDA
}

func (e *Emulator) thread() *thread {
	id := loader.ThreadID()
	th := e.threads[id]
	if th == nil {
		th = &thread{id: id}
		e.threads[id] = th
	}
	return th
}

// current returns the context on top of the stack, or nil.
func (th *thread) current() *cudaContext {
	if n := len(th.stack); n > 0 {
		return th.stack[n-1]
	}
	return nil
}

// setCurrent replaces the top of the stack. A nil context removes the top.
func (th *thread) setCurrent(ctx *cudaContext) {
	n := len(th.stack)
	switch {
	case ctx == nil && n > 0:
		th.stack = th.stack[:n-1]
	case ctx == nil:
	case n > 0:
		th.stack[n-1] = ctx
	default:
		th.stack = append(th.stack, ctx)
	}
}
