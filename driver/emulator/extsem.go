package emulator

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
)

// Semaphore represents a semaphore that was created by another API, such as Vulkan or Direct3D.
// With it, programs that import semaphores can be tested without that API.
//
// A binary semaphore (opaque handles) is signalled or not signalled, and a wait resets it. A
// timeline semaphore or fence has a value that only grows, and a wait returns once the value has
// reached the requested one.
type Semaphore struct {
	kind  cu.CUexternalSemaphoreHandleType
	e     *Emulator
	mu    sync.Mutex
	value uint64
}

// NewSemaphore creates a semaphore that a program can import through a handle of the given type. It
// supports file descriptors and NT handles (both opaque and timeline), and Direct3D 12 fences. For
// other types, it returns an error.
func (e *Emulator) NewSemaphore(kind cu.CUexternalSemaphoreHandleType) (*Semaphore, error) {
	if !e.exists() {
		return nil, anEmulator.Error(e == nil)
	}
	if _, ok := semaphoreKind(kind); !ok {
		return nil, fmt.Errorf("emulator: no semaphores of type %v", kind)
	}
	return &Semaphore{kind: kind, e: e}, nil
}

// semaphoreKind reports whether the emulator supports a handle type, and whether that type is for
// timeline semaphores.
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

// firstExport is the handle of the first exported semaphore. It is larger than the file descriptors
// and NT handles that a process has.
const firstExport = 0x40000000

// aSemaphore describes a semaphore in the errors from methods of a nil or zero Semaphore.
var aSemaphore = absent.Kind{Name: "semaphore", Make: "Emulator.NewSemaphore", Code: cu.CUDA_ERROR_INVALID_VALUE}

// Export returns a handle with which the program can import the semaphore: a file descriptor or an
// NT handle, depending on the semaphore's kind. Only this emulator recognizes the handle. As with a
// driver, importing a file descriptor consumes it, but an NT handle can be imported repeatedly.
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

// Value returns the value of a timeline. For a binary semaphore, it returns 1 if the semaphore is
// signalled and 0 otherwise.
func (s *Semaphore) Value() uint64 {
	if s == nil || s.e == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// Signal signals the semaphore. It raises a timeline semaphore to the given value, but never lowers
// it.
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

// Wait waits for the semaphore as the device does. If ctx ends first, Wait returns its error.
func (s *Semaphore) Wait(ctx context.Context, value uint64) error {
	if s == nil || s.e == nil {
		return aSemaphore.Error(s == nil)
	}
	for tries := 0; !s.tryWait(value); tries++ {
		if ctx != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		pause(tries)
	}
	return nil
}

// tryWait reports whether a binary semaphore is signalled, or a timeline semaphore has reached the
// value. It resets a binary semaphore.
func (s *Semaphore) tryWait(value uint64) bool {
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

// pause waits between two polls of a value that another goroutine changes.
func pause(tries int) {
	if tries < 100 {
		runtime.Gosched()
		return
	}
	time.Sleep(20 * time.Microsecond)
}

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
	"cuGraphAddExternalSemaphoresSignalNode":           {reader[*semSignalNode](readSignal).add, afterInit},
	"cuGraphExternalSemaphoresSignalNodeGetParams":     {getNode((*semSignalNode).fields), afterInit},
	"cuGraphExternalSemaphoresSignalNodeSetParams":     {reader[*semSignalNode](readSignal).set, afterInit},
	"cuGraphExecExternalSemaphoresSignalNodeSetParams": {reader[*semSignalNode](readSignal).setStep, afterInit},
	"cuGraphAddExternalSemaphoresWaitNode":             {reader[*semWaitNode](readSemWait).add, afterInit},
	"cuGraphExternalSemaphoresWaitNodeGetParams":       {getNode((*semWaitNode).fields), afterInit},
	"cuGraphExternalSemaphoresWaitNodeSetParams":       {reader[*semWaitNode](readSemWait).set, afterInit},
	"cuGraphExecExternalSemaphoresWaitNodeSetParams":   {reader[*semWaitNode](readSemWait).setStep, afterInit},
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

// exported returns the semaphore whose exported handle is in d. Importing a file descriptor
// consumes it.
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

// semNode signals external semaphores or waits for them, in a stream or as a graph node. P is
// CUDA's parameter struct for one semaphore.
type semNode[P any] struct {
	sems   []*extSem
	params []P
}

type (
	signalParams   = cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
	waitParams     = cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
	semSignalNode  struct{ semNode[signalParams] }
	semWaitNode    struct{ semNode[waitParams] }
	signalNodeArgs = cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS
	waitNodeArgs   = cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS
)

func (*semSignalNode) kind() cu.CUgraphNodeType {
	return cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
}

func (*semWaitNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT }

func (n *semSignalNode) run(x *execution) result {
	for i, s := range n.sems {
		x.signal(s)
		s.sem.Signal(n.params[i].Params.Fence.Value)
	}
	return success
}

func (n *semWaitNode) run(x *execution) result {
	for i, s := range n.sems {
		if s.sem.Wait(x.e.running, n.params[i].Params.Fence.Value) != nil {
			return errLaunchFailed // the emulator was closed
		}
		x.awaited(s)
	}
	return success
}

func (n *semNode[P]) read(e *Emulator, sems *cu.CUexternalSemaphore, params *P, count uint32) result {
	if sems == nil || params == nil || count == 0 {
		return errInvalidValue
	}
	n.params = append([]P(nil), unsafe.Slice(params, count)...)
	for _, h := range unsafe.Slice(sems, count) {
		x := find[extSem](e, uintptr(h))
		if x == nil {
			return errInvalidHandle
		}
		n.sems = append(n.sems, x)
	}
	return success
}

func (n *semNode[P]) handles() []cu.CUexternalSemaphore {
	list := make([]cu.CUexternalSemaphore, len(n.sems))
	for i, x := range n.sems {
		list[i] = cu.CUexternalSemaphore(x.handle)
	}
	return list
}

func (e *Emulator) signalFrom(p *signalNodeArgs) (*semSignalNode, result) {
	n := new(semSignalNode)
	if p == nil {
		return nil, errInvalidValue
	}
	return n, n.read(e, p.ExtSemArray, p.ParamsArray, p.NumExtSems)
}

func (e *Emulator) waitFrom(p *waitNodeArgs) (*semWaitNode, result) {
	n := new(semWaitNode)
	if p == nil {
		return nil, errInvalidValue
	}
	return n, n.read(e, p.ExtSemArray, p.ParamsArray, p.NumExtSems)
}

// The functions for streams take (semaphores, parameters, count, stream).

func cuSignalExternalSemaphoresAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := new(semSignalNode)
	if r := n.read(c.e, at[cu.CUexternalSemaphore](c, 0), at[signalParams](c, 1), c.Uint32(2)); r != success {
		return r
	}
	return s.submit(n)
}

func cuWaitExternalSemaphoresAsync(c call) result {
	s, r := streamAt(c, 3)
	if r != success {
		return r
	}
	n := new(semWaitNode)
	if r := n.read(c.e, at[cu.CUexternalSemaphore](c, 0), at[waitParams](c, 1), c.Uint32(2)); r != success {
		return r
	}
	return s.submit(n)
}

func readSignal(c call, i int, _ *semSignalNode) (*semSignalNode, result) {
	return c.e.signalFrom(at[signalNodeArgs](c, i))
}

func readSemWait(c call, i int, _ *semWaitNode) (*semWaitNode, result) {
	return c.e.waitFrom(at[waitNodeArgs](c, i))
}

func (n *semSignalNode) fields() signalNodeArgs {
	return signalNodeArgs{ExtSemArray: &n.handles()[0], ParamsArray: &n.params[0], NumExtSems: uint32(len(n.sems))}
}

func (n *semWaitNode) fields() waitNodeArgs {
	return waitNodeArgs{ExtSemArray: &n.handles()[0], ParamsArray: &n.params[0], NumExtSems: uint32(len(n.sems))}
}
