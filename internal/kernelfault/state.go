package kernelfault

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// Record is a fault in the form that a thread has recorded.
type Record struct {
	Site
	Values        [3]int64
	Block, Thread [3]uint32
	Err           error // the reason why the Site could not be read, or nil
}

// State manages the faults of one driver context, which several driver.Context values can share. It
// allocates nothing until a module with checks is loaded.
type State struct {
	d     *cu.Driver // bound to the context and guarded
	error func(*Record) error
	note  func(error) // receives errors that no call can return

	summary atomic.Pointer[atomic.Uint32] // summary word in page-locked memory; nil until a module with checks is loaded
	// taken is twice the number of faults read so far, plus 1 while a goroutine is reading faults.
	// Without that bit, another wait could find neither the summary, which has already been
	// cleared, nor the fault.
	taken atomic.Uint32

	printer printer

	mu      sync.Mutex
	memory  memory
	slots   []*Slot  // slots of loaded modules
	empty   int      // number of consecutive calls of takeAll that found no fault
	recent  []Record // the latest faults, up to maxRecent
	refs    int      // guarded by Registry.mu
	context cu.CUcontext
}

// maxRecent is the maximum number of faults that a wait can return. A wait for a stream that has
// not been waited for in a long time returns only the latest ones.
const maxRecent = 64

// Registry maps driver contexts to their States. All contexts with the same handle share a State,
// because a kernel that was loaded through one of them can run in a stream of another.
type Registry struct {
	mu     sync.Mutex
	states map[cu.CUcontext]*State
}

// Open returns the State of a context. Release it with Close. d must be bound to the context and
// guarded. toError converts a fault to the error that waits return. note receives errors that no call
// can return.
func (r *Registry) Open(context cu.CUcontext, d *cu.Driver, toError func(*Record) error, note func(error)) *State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[context]
	if s == nil {
		s = &State{d: d, error: toError, note: note, context: context}
		if r.states == nil {
			r.states = make(map[cu.CUcontext]*State)
		}
		r.states[context] = s
	}
	s.refs++
	return s
}

// Close releases a reference to s. Releasing the last reference frees the memory. By then, no
// module with a slot may be loaded.
func (r *Registry) Close(s *State, d *cu.Driver) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.refs--; s.refs > 0 {
		return nil
	}
	delete(r.states, s.context)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary.Store(nil)
	return errors.Join(s.printer.close(d), s.memory.free(d))
}

// Taken returns the number of faults read so far. A new stream or event passes this number to
// After, because none of these faults can be from its own work.
func (s *State) Taken() uint32 { return s.taken.Load() / 2 }

// Now is like Taken, but also counts faults that no wait has returned yet.
func (s *State) Now() uint32 {
	if s.Raised(s.Taken()) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takeAll()
	}
	return s.Taken()
}

// Raised reports whether there may be faults other than the first n. It costs three atomic loads.
func (s *State) Raised(n uint32) bool {
	summary := s.summary.Load()
	return summary != nil && summary.Load() != 0 || s.taken.Load() != 2*n // the order of the loads matters, see takeAll
}

// After returns all faults except the first n as one error, or nil if there are none. Unless seen
// is nil, it raises *seen to the number of faults so far. The caller must retain the context.
//
// Every wait calls After when its work is done, so After also prints the output of kernels.
func (s *State) After(n uint32, seen *uint32) error {
	if s.printer.modules.Load() != 0 {
		s.Print()
	}
	if !s.Raised(n) {
		return nil
	}
	return s.after(n, seen)
}

func (s *State) after(n uint32, seen *uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeAll()
	taken := s.Taken()
	Raise(seen, taken)
	if taken <= n {
		return nil
	}
	recent := s.recent[len(s.recent)-int(min(taken-n, uint32(len(s.recent)))):]
	errs := make([]error, len(recent))
	for i := range recent {
		errs[i] = s.error(&recent[i])
		if err := recent[i].Err; err != nil {
			errs[i] = errors.Join(errs[i], err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// Raise sets *seen to n if n is larger.
func Raise(seen *uint32, n uint32) {
	for seen != nil {
		old := atomic.LoadUint32(seen)
		if old >= n || atomic.CompareAndSwapUint32(seen, old, n) {
			return
		}
	}
}

// takeAll reads the faults of all slots. It clears the summary first. If the flag of a fault is not
// visible yet, the thread will set the summary again afterwards.
func (s *State) takeAll() {
	summary := s.summary.Load()
	if summary == nil || summary.Load() == 0 {
		return
	}
	before := s.taken.Add(1)
	summary.Store(0)
	for _, x := range s.slots {
		s.take(x)
	}
	if s.taken.Add(^uint32(0)) >= before {
		s.empty = 0
	} else if s.empty++; s.empty <= maxEmpty {
		summary.Store(1)
	}
}

// maxEmpty limits how often takeAll tries again after it has found no fault. It tries again because
// a kernel without the fence between its last two stores may have set the summary before the flag.
// It gives up after maxEmpty attempts, because Drain may already have read the fault.
const maxEmpty = 8

// take reads the fault of a slot, if there is one. The caller must hold s.mu.
func (s *State) take(x *Slot) {
	flag := x.raised()
	if flag == x.mem.number.Load()-1 {
		return
	}
	r := Record{Values: x.mem.values, Block: x.mem.block, Thread: x.mem.thread}
	r.Site, r.Err = s.siteAt(x, cu.CUdeviceptr(x.mem.site))
	r.complete(&r.Values)
	x.mem.values, x.mem.block, x.mem.thread = [3]int64{}, [3]uint32{}, [3]uint32{}
	x.mem.number.Store(flag + 1)
	if len(s.recent) == maxRecent {
		s.recent = append(s.recent[:0], s.recent[1:]...)
	}
	s.recent = append(s.recent, r)
	s.taken.Add(2)
}

// raised returns the flag of the slot. If a thread has claimed the slot and is still writing its
// record, raised waits for the flag, but not forever, because a debugger may have stopped the
// thread.
func (x *Slot) raised() uint32 {
	number := x.mem.number.Load()
	for began := time.Now(); ; time.Sleep(10 * time.Microsecond) {
		flag := x.mem.flag.Load()
		if flag != number-1 || int32(x.mem.late.Load()-number) < 0 {
			return flag
		}
		if time.Since(began) > maxWriting {
			x.mem.late.Store(flag)
			return flag
		}
	}
}

// maxWriting limits how long a wait lets a thread write its record. Writing normally takes
// microseconds.
const maxWriting = time.Second

// siteAt reads a site from the device and caches it for later faults of the slot.
func (s *State) siteAt(x *Slot, at cu.CUdeviceptr) (Site, error) {
	if site, ok := x.sites[at]; ok || at == 0 {
		return site, nil
	}
	text, err := s.memory.text(s.d, at)
	if err != nil {
		return Site{}, err
	}
	if x.sites == nil {
		x.sites = make(map[cu.CUdeviceptr]Site)
	}
	x.sites[at] = parse(text)
	return x.sites[at], nil
}

// slotMemory is the layout of a slot. The device writes all fields except number. It stores the site and the
// first value together, so the site is at a multiple of 16. It also writes after late.
type slotMemory struct {
	flag, number  atomic.Uint32
	_             uint64
	site          uint64
	values        [3]int64
	block, thread [3]uint32
	_             uint64
	late          atomic.Uint32
	_             [76]byte
}

// armed is the part of the variable Symbol that the host sets.
type armed struct{ slot, summary cu.CUdeviceptr }

// symbolBytes is the size of the variable Symbol.
const symbolBytes = 32

const slotBytes = unsafe.Sizeof(slotMemory{})

// Slot is the memory in which the kernels of a loaded module record a fault. The methods do nothing
// if the slot is nil.
type Slot struct {
	state *State
	mem   *slotMemory
	at    cu.CUdeviceptr
	sites map[cu.CUdeviceptr]Site
}

var symbol = []byte(Symbol + "\x00")

// Arm assigns a slot to a loaded module. global looks up a variable of the module. If the module
// has no checks, Arm returns nil.
func (s *State) Arm(global func(at *cu.CUdeviceptr, bytes *uintptr, name *byte) error) (*Slot, error) {
	var at cu.CUdeviceptr
	var bytes uintptr
	err := global(&at, &bytes, &symbol[0])
	if errors.Is(err, cu.CUDA_ERROR_NOT_FOUND) || err == nil && bytes != symbolBytes {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.newSlot()
	if err != nil {
		return nil, err
	}
	if err := s.memory.store(s.d, at, armed{x.at, s.memory.summary.device}); err != nil {
		s.memory.spare = append(s.memory.spare, x.place())
		return nil, err
	}
	s.slots = append(s.slots, x)
	return x, nil
}

func (s *State) newSlot() (*Slot, error) {
	p, err := s.memory.take(s.d)
	if err != nil {
		return nil, err
	}
	x := &Slot{state: s, mem: (*slotMemory)(p.host), at: p.device}
	*(*[slotBytes]byte)(p.host) = [slotBytes]byte{}
	x.mem.number.Store(1)
	s.summary.Store((*atomic.Uint32)(s.memory.summary.host))
	return x, nil
}

func (x *Slot) place() place { return place{unsafe.Pointer(x.mem), x.at} }

// Drain reads a fault that no wait has returned yet. Call it before unloading the module, which
// contains the text of the fault.
func (x *Slot) Drain() {
	if x == nil {
		return
	}
	x.state.mu.Lock()
	defer x.state.mu.Unlock()
	x.state.take(x)
}

// Free releases the slot after the module was unloaded. If unloading failed, kernels may still
// write to the slot, so it is never reused.
func (x *Slot) Free(unloaded error) {
	if x == nil || unloaded != nil {
		return
	}
	s := x.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.mem.flag.Load() != x.mem.number.Load()-1 { // a kernel has faulted since Drain
		x.mem.site = 0
		s.take(x)
	}
	for i, y := range s.slots {
		if x == y {
			s.slots = append(s.slots[:i], s.slots[i+1:]...)
			break
		}
	}
	s.memory.spare = append(s.memory.spare, x.place())
}
