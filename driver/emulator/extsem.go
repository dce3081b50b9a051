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

// Semaphore is the external side of a semaphore that a program imports, as another API like Vulkan
// or Direct3D would make it. With it, such programs run and can be tested where no other API is
// available.
//
// A binary semaphore (opaque handles) is signalled or not, and a wait resets it. A timeline
// semaphore or fence has a value that only grows, and a wait returns when the value is reached.
type Semaphore struct {
	kind  cu.CUexternalSemaphoreHandleType
	e     *Emulator
	mu    sync.Mutex
	value uint64
}

// NewSemaphore makes a semaphore of the kind that a handle type stands for: file descriptors
// (opaque and timeline), NT handles (opaque and timeline) and Direct3D 12 fences. It does not
// support other types.
func (e *Emulator) NewSemaphore(kind cu.CUexternalSemaphoreHandleType) (*Semaphore, error) {
	if !e.exists() {
		return nil, anEmulator.Error(e == nil)
	}
	if _, ok := semaphoreKind(kind); !ok {
		return nil, fmt.Errorf("emulator: no semaphores of type %v", kind)
	}
	return &Semaphore{kind: kind, e: e}, nil
}

// semaphoreKind reports whether a handle type is emulated, and whether it stands for a timeline.
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

// firstExport is the first number used for an exported semaphore. It is larger than the file
// descriptors and NT handles of a process.
const firstExport = 0x40000000

// aSemaphore describes the errors of methods on nil and zero semaphores.
var aSemaphore = absent.Kind{Name: "semaphore", Make: "Emulator.NewSemaphore", Code: cu.CUDA_ERROR_INVALID_VALUE}

// Export returns a handle for importing the semaphore: a file descriptor or an NT handle, depending
// on the semaphore's kind. The number is meaningful to this emulator only. An import uses up a file
// descriptor, as with a driver. An NT handle can be imported any number of times.
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

// Value returns the value of a timeline. For a binary semaphore it returns 1 if the semaphore is
// signalled and 0 if not.
func (s *Semaphore) Value() uint64 {
	if s == nil || s.e == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Signal signals the semaphore. For a timeline, it sets the value.
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

// Wait waits as the device does, until ctx ends at the latest.
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

// take reports whether a wait is over. If so, it resets a binary semaphore.
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

// pause waits between two polls of memory that others change.
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

// exported resolves an exported handle, and uses it up if it is a file descriptor.
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

// errInvalidExport is the result for a handle that was never exported.
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
