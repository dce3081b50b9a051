package emulator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/loader"
)

// Emulator is an emulated CUDA driver. It implements loader.Library.
//
// One mutex guards all of its state: handles, threads, queues and graphs. The mutex is released
// wherever time passes (executing, copying, compiling, waiting). Work on the device never needs it
// while it runs.
type Emulator struct {
	cfg   Config
	procs map[string]loader.Proc
	stats counters
	mem   *vm.Memory

	mu          sync.Mutex
	initialized bool
	closed      bool
	nextHandle  uintptr
	nextID      uint64
	handles     map[uintptr]any
	threads     map[uint64]*thread
	devices     []*device
	captures    map[*capture]struct{} // open ones
	graphAllocs map[uint64]*allocNode // by address
	reserved    map[uint64]uint64     // address ranges that the program reserved: size by address
	kept        map[uintptr]any       // arrays handed out that live as long as a handle
	exports     []*Semaphore          // by handle, nil for those that were used up
	texts       map[string]*byte      // C strings handed out, which live as long as the emulator
	reclaimed   []Leak                // what a context still contained when it was destroyed
	hostBytes   uint64                // page-locked memory of the program
	callbacks   callbackThread
	profiles    profiles
	hostTime    time.Duration // simulated
	journal     journal
	coredump    coredump // of the process
	lastFault   string
	faultOf     map[result]string // reports of the last fault of each code
	said        []record
	found       findings
	rounds      atomic.Uint64 // executions of plans
	hostKnows   progress      // for the checks of order
	hostNodes   []*taskOrder  // nodes of running graphs that the host knows to be reached
	leaving     []*stream     // destroyed, but the host does not know that their work has ended
	retirements uint64
	signals     map[any]progress      // left at semaphores and words of memory
	flights     []*flight             // for CheckHostMemory
	writers     []writer              // also for CheckHostMemory
	made        map[uintptr]*vm.Trace // where each handle was made, for CheckLeaks
	active      int                   // streams with a goroutine
	idle        *sync.Cond            // signalled when active becomes 0
	running     context.Context       // of kernels; cancelled by Close
	cancel      context.CancelFunc
}

var _ loader.Library = (*Emulator)(nil)

// New returns an emulated driver. Close stops everything that it runs.
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
		kept:        make(map[uintptr]any),
		mem:         vm.NewMemory(),
		hostKnows:   make(progress),
		made:        make(map[uintptr]*vm.Trace),
	}
	e.mem.Track(e.cfg.Check.engine())
	if e.cfg.ReuseAddresses {
		e.mem.ReuseAddresses()
	}
	e.idle = sync.NewCond(&e.mu)
	e.running, e.cancel = context.WithCancel(context.Background())
	e.callbacks.init(e)
	e.journal.init(e)
	e.coredump = newCoredump()
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

// anEmulator describes the errors of methods on nil and zero emulators.
var anEmulator = absent.Kind{Name: "emulator", Make: "emulator.New", Code: cu.CUDA_ERROR_INVALID_VALUE}

// exists reports whether e was made by New.
func (e *Emulator) exists() bool { return e != nil && e.procs != nil }

// Name returns a name that says that this is not a real driver.
func (e *Emulator) Name() string {
	if e == nil {
		return "no emulator"
	}
	return fmt.Sprintf("purecuda emulator (%d × sm_%d%d)",
		e.cfg.Devices, e.cfg.ComputeCapability[0], e.cfg.ComputeCapability[1])
}

// Lookup finds a driver function by the symbol of its ABI, cuMemAlloc_v2 for instance. It returns
// loader.ErrSymbolNotFound for a symbol that the driver does not have.
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

// Close ends everything that runs: it cancels kernels, drops queued work and stops goroutines.
// Every later call returns CUDA_ERROR_DEINITIALIZED. Close may be called twice.
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
	e.callbacks.stop()
	e.findLeaks()
	return nil
}
