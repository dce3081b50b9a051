package emulator

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Semaphore is a semaphore of another API than CUDA, as Vulkan or Direct3D make
// them: the other side of what a program imports. It lets such programs run, and
// be tested, where there is no other API.
//
// A binary semaphore (opaque handles) is signalled or not, and a wait takes the
// signal away. A timeline semaphore or fence has a value that only grows, and a
// wait waits until it is reached.
type Semaphore struct {
	kind  cu.CUexternalSemaphoreHandleType
	e     *Emulator
	mu    sync.Mutex
	value uint64
}

// NewSemaphore makes a semaphore of the kind that a handle type stands for:
// file descriptors (opaque and timeline), NT handles (opaque and timeline) and
// Direct3D 12 fences. Others are not emulated.
func (e *Emulator) NewSemaphore(kind cu.CUexternalSemaphoreHandleType) (*Semaphore, error) {
	if !e.exists() {
		return nil, anEmulator.Error(e == nil)
	}
	if _, ok := semaphoreKind(kind); !ok {
		return nil, fmt.Errorf("emulator: no semaphores of type %v", kind)
	}
	return &Semaphore{kind: kind, e: e}, nil
}

// semaphoreKind reports whether a type is emulated, and whether it counts.
func semaphoreKind(kind cu.CUexternalSemaphoreHandleType) (timeline, ok bool) {
	switch kind {
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32:
		return false, true
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE:
		return true, true
	}
	return false, false
}

// firstExport is the first number given out for a semaphore: larger than file
// descriptors and NT handles of a process are.
const firstExport = 0x40000000

// aSemaphore is what methods of nil and of zero semaphores say.
var aSemaphore = absent.Kind{Name: "semaphore", Make: "Emulator.NewSemaphore", Code: cu.CUDA_ERROR_INVALID_VALUE}

// Export returns a handle to import the semaphore by: a file descriptor or an
// NT handle, by the semaphore's kind. It is a number that means something to
// this emulator only. An import uses up a file descriptor, as a driver's does;
// an NT handle can be imported any number of times.
func (s *Semaphore) Export() uintptr {
	if s == nil || s.e == nil {
		return 0
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	h := firstExport + uintptr(len(s.e.exports))
	s.e.exports = append(s.e.exports, s)
	return h
}

// Value is the value of a timeline, or 1 for a binary semaphore that is
// signalled and 0 for one that is not.
func (s *Semaphore) Value() uint64 {
	if s == nil || s.e == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Signal signals the semaphore, a timeline with a value.
func (s *Semaphore) Signal(value uint64) {
	if s == nil || s.e == nil {
		return
	}
	timeline, _ := semaphoreKind(s.kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !timeline {
		value = 1
	}
	s.value = max(s.value, value)
}

// Wait waits as the device does, but no longer than ctx allows.
func (s *Semaphore) Wait(ctx context.Context, value uint64) error {
	if s == nil || s.e == nil {
		return aSemaphore.Error(s == nil)
	}
	for tries := 0; !s.take(value); tries++ {
		if ctx != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		pause(tries)
	}
	return nil
}

// take reports whether a wait is over, and if so takes a binary signal away.
func (s *Semaphore) take(value uint64) bool {
	timeline, _ := semaphoreKind(s.kind)
	s.mu.Lock()
	defer s.mu.Unlock()
	if timeline {
		return s.value >= value
	}
	had := s.value != 0
	s.value = 0
	return had
}

// pause passes the time between two looks at memory that others change.
func pause(tries int) {
	if tries < 100 {
		runtime.Gosched()
		return
	}
	time.Sleep(20 * time.Microsecond)
}

// extSem is an imported semaphore: a CUexternalSemaphore.
type extSem struct {
	handle uintptr
	ctx    *cudaContext
	sem    *Semaphore
}

func (x *extSem) owner() *cudaContext { return x.ctx }

func (*extSem) destroy() {}

var extSemFunctions = functions{
	"cuImportExternalSemaphore":                        {cuImportExternalSemaphore, current},
	"cuDestroyExternalSemaphore":                       {cuDestroyExternalSemaphore, current},
	"cuSignalExternalSemaphoresAsync":                  {cuSignalExternalSemaphoresAsync, afterInit},
	"cuWaitExternalSemaphoresAsync":                    {cuWaitExternalSemaphoresAsync, afterInit},
	"cuGraphAddExternalSemaphoresSignalNode":           {cuGraphAddExternalSemaphoresSignalNode, afterInit},
	"cuGraphExternalSemaphoresSignalNodeGetParams":     {cuGraphExternalSemaphoresSignalNodeGetParams, afterInit},
	"cuGraphExternalSemaphoresSignalNodeSetParams":     {cuGraphExternalSemaphoresSignalNodeSetParams, afterInit},
	"cuGraphExecExternalSemaphoresSignalNodeSetParams": {cuGraphExecExternalSemaphoresSignalNodeSetParams, afterInit},
	"cuGraphAddExternalSemaphoresWaitNode":             {cuGraphAddExternalSemaphoresWaitNode, afterInit},
	"cuGraphExternalSemaphoresWaitNodeGetParams":       {cuGraphExternalSemaphoresWaitNodeGetParams, afterInit},
	"cuGraphExternalSemaphoresWaitNodeSetParams":       {cuGraphExternalSemaphoresWaitNodeSetParams, afterInit},
	"cuGraphExecExternalSemaphoresWaitNodeSetParams":   {cuGraphExecExternalSemaphoresWaitNodeSetParams, afterInit},
}

func cuImportExternalSemaphore(c call) result {
	d := at[cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC](c, 1)
	if c.Ptr(0) == nil || d == nil || d.Flags != 0 {
		return errInvalidValue
	}
	s, r := c.e.exported(d)
	if r != success {
		return r
	}
	x := &extSem{ctx: c.ctx, sem: s}
	x.handle = c.e.register(x)
	return put(c, 0, x.handle)
}

// exported finds what a handle stands for, and uses it up if it is a file
// descriptor.
func (e *Emulator) exported(d *cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC) (*Semaphore, result) {
	var h uintptr
	fd := d.Type == cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD ||
		d.Type == cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
	if _, ok := semaphoreKind(d.Type); !ok {
		return nil, errInvalidValue
	}
	if fd {
		h = uintptr(uint32(*d.Handle.Fd()))
	} else {
		h = uintptr(d.Handle.Win32().Handle)
	}
	i := h - firstExport
	if h < firstExport || i >= uintptr(len(e.exports)) || e.exports[i] == nil || e.exports[i].kind != d.Type {
		return nil, errInvalidExport
	}
	s := e.exports[i]
	if fd {
		e.exports[i] = nil
	}
	return s, success
}

// errInvalidExport is the answer to a handle that nobody exported.
const errInvalidExport = cu.CUDA_ERROR_UNKNOWN

func cuDestroyExternalSemaphore(c call) result {
	x := handleAt[extSem](c, 0)
	if x == nil {
		return errInvalidHandle
	}
	c.e.forget(x.handle)
	delete(c.e.signals, x)
	return success
}
