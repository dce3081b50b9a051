package driver

import (
	"fmt"
	"runtime"
	"unicode/utf16"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// ExternalSemaphore is a semaphore, fence or keyed mutex exported by another API (Vulkan, Direct3D,
// NvSci). CUDA cannot create one itself.
type ExternalSemaphore struct {
	life *life.Lifetime
	ctx  *Context
	raw  cu.CUexternalSemaphore
	kind cu.CUexternalSemaphoreHandleType
}

// ImportSemaphoreFD imports a semaphore from a file descriptor of type
// CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD or _TIMELINE_SEMAPHORE_FD (Linux). If it succeeds,
// the driver owns the descriptor.
func (c *Context) ImportSemaphoreFD(kind cu.CUexternalSemaphoreHandleType, fd int) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	switch kind {
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
	default:
		return nil, invalidf("external semaphores of type %v are not imported by a file descriptor", kind)
	}
	if fd < 0 || int(int32(fd)) != fd {
		return nil, invalidf("cannot import an external semaphore: %d is not a file descriptor", fd)
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	*d.Handle.Fd() = int32(fd)
	return c.importSemaphore(&d, fmt.Sprintf("file descriptor %d", fd))
}

// ImportSemaphoreHandle imports a semaphore from an NT or global (KMT) handle of a Win32 or
// Direct3D type (Windows). The program still owns the handle. It may close an NT handle after the
// import.
func (c *Context) ImportSemaphoreHandle(kind cu.CUexternalSemaphoreHandleType, handle uintptr) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if err := win32Semaphore(kind); err != nil {
		return nil, err
	}
	if handle == 0 {
		return nil, invalidf("cannot import an external semaphore: the handle is 0")
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	*(*uintptr)(unsafe.Pointer(&d.Handle)) = handle
	return c.importSemaphore(&d, fmt.Sprintf("handle %#x", handle))
}

// ImportSemaphoreName imports a Win32 or Direct3D semaphore (Windows) by the name it was created
// with. The semaphore's type must use NT handles.
func (c *Context) ImportSemaphoreName(kind cu.CUexternalSemaphoreHandleType, name string) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if err := win32Semaphore(kind); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, invalidf("cannot import an external semaphore: the name is empty")
	}
	wide := utf16.Encode([]rune(name + "\x00"))
	var pin runtime.Pinner // the garbage collector does not see pointers in the descriptor
	defer pin.Unpin()
	pin.Pin(&wide[0])
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: kind}
	d.Handle.Win32().Name = unsafe.Pointer(&wide[0])
	return c.importSemaphore(&d, fmt.Sprintf("name %q", name))
}

func win32Semaphore(kind cu.CUexternalSemaphoreHandleType) error {
	switch kind {
	case cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX, cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT,
		cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
		return nil
	}
	return invalidf("external semaphores of type %v are not imported by a Windows handle", kind)
}

// ImportSemaphoreNvSci imports an NvSciSyncObj (Tegra and DRIVE systems). The object must outlive
// the semaphore.
func (c *Context) ImportSemaphoreNvSci(object unsafe.Pointer) (*ExternalSemaphore, error) {
	if c == nil || c.core == nil {
		return nil, absentError(c == nil, "context")
	}
	if object == nil {
		return nil, invalidf("cannot import an external semaphore: the NvSciSyncObj is nil")
	}
	d := cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC{Type: cu.CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC}
	*d.Handle.NvSciSyncObj() = object
	return c.importSemaphore(&d, "an NvSciSyncObj")
}

func (c *Context) importSemaphore(d *cu.CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, by string) (*ExternalSemaphore, error) {
	l, err := newLifetime(c, "external semaphore")
	if err != nil {
		return nil, err
	}
	s := &ExternalSemaphore{life: l, ctx: c, kind: d.Type}
	if err := c.core.bound.CuImportExternalSemaphore(&s.raw, d); err != nil {
		return nil, l.Abandon(fmt.Errorf("import by %s as %v, which must be a handle that another API exported for this device: %w", by, d.Type, err))
	}
	raw := s.raw
	life.Own(s, l, uint64(raw), func(d *cu.Driver) error { return d.CuDestroyExternalSemaphore(raw) })
	return s, nil
}

// Raw returns the driver's handle.
func (s *ExternalSemaphore) Raw() cu.CUexternalSemaphore {
	if s == nil {
		return 0
	}
	return s.raw
}

// Kind returns the type of the handle that the semaphore was imported from.
func (s *ExternalSemaphore) Kind() cu.CUexternalSemaphoreHandleType {
	if s == nil {
		return 0
	}
	return s.kind
}

// Context returns the context that the semaphore was imported into.
func (s *ExternalSemaphore) Context() *Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// Lifetime returns the semaphore's ownership record.
func (s *ExternalSemaphore) Lifetime() *life.Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}

// String describes the semaphore.
func (s *ExternalSemaphore) String() string {
	if s == nil {
		return "nil external semaphore"
	}
	return fmt.Sprintf("%v (%v)", s.life, s.kind)
}

// Close releases the import. First wait for work that uses the semaphore.
func (s *ExternalSemaphore) Close() error {
	if s == nil {
		return nil
	}
	err := s.life.Close()
	runtime.KeepAlive(s)
	return err
}

// SemaphorePoint describes how to signal a semaphore or wait for one. Each kind of semaphore uses
// only some of the fields.
type SemaphorePoint struct {
	Semaphore *ExternalSemaphore
	// Value applies to timeline semaphores and fences, but not to binary semaphores. A signal
	// sets the semaphore to Value. A wait ends when the semaphore has reached Value or exceeded
	// it.
	Value     uint64
	Key       uint64         // for a keyed mutex: a wait acquires this key, a signal releases it
	TimeoutMs uint32         // limit for a wait for a keyed mutex, in milliseconds
	Fence     unsafe.Pointer // an NvSciSyncFence in C memory: a signal sets it, a wait waits for it
	Flags     uint32         // 0 or CUDA_EXTERNAL_SEMAPHORE_{SIGNAL,WAIT}_SKIP_NVSCIBUF_MEMSYNC
}

// SemaphoreOp is an operation that signals or waits for external semaphores.
type SemaphoreOp struct {
	ctx   *Context
	raw   []cu.CUexternalSemaphore
	lives []*life.Lifetime
	refs  []life.Ref

	// Parameters, one for each semaphore. Only one of the two slices is set.
	signals []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
	waits   []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS

	// Parameters of the graph node. Only one of the two is set.
	signal cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS
	wait   cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS
}

// NewSemaphoreSignal returns an operation that signals the semaphore of each point. All semaphores
// must belong to one context.
func NewSemaphoreSignal(points ...SemaphorePoint) (*SemaphoreOp, error) {
	o := &SemaphoreOp{signals: make([]cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, len(points))}
	if err := o.collect("semaphore signal", points); err != nil {
		return nil, err
	}
	for i, p := range points {
		to := &o.signals[i]
		to.Params.Fence.Value, to.Params.KeyedMutex.Key, to.Flags = p.Value, p.Key, p.Flags
		*to.Params.NvSciSync.Fence() = p.Fence
	}
	o.signal = cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.signals[0], NumExtSems: uint32(len(o.raw))}
	return o, nil
}

// NewSemaphoreWait returns an operation that waits for the semaphore of each point. All semaphores
// must belong to one context.
func NewSemaphoreWait(points ...SemaphorePoint) (*SemaphoreOp, error) {
	o := &SemaphoreOp{waits: make([]cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, len(points))}
	if err := o.collect("semaphore wait", points); err != nil {
		return nil, err
	}
	for i, p := range points {
		to := &o.waits[i]
		to.Params.Fence.Value, to.Params.KeyedMutex.Key, to.Flags = p.Value, p.Key, p.Flags
		to.Params.KeyedMutex.TimeoutMs = p.TimeoutMs
		*to.Params.NvSciSync.Fence() = p.Fence
	}
	o.wait = cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.waits[0], NumExtSems: uint32(len(o.raw))}
	return o, nil
}

func (o *SemaphoreOp) collect(what string, points []SemaphorePoint) error {
	if len(points) == 0 {
		return invalidf("%s without a semaphore", what)
	}
	for i, p := range points {
		s := p.Semaphore
		if s == nil || s.life == nil {
			return fmt.Errorf("%s, point %d: %w", what, i, absentError(s == nil, "external semaphore"))
		}
		if err := s.life.Check(); err != nil {
			return fmt.Errorf("%s, point %d: %w", what, i, err)
		}
		if o.ctx == nil {
			o.ctx = s.ctx
		} else if !o.ctx.sameAs(s.ctx) {
			return invalidf("%s, point %d: %v is of %v, the earlier ones are of %v", what, i, s, s.ctx, o.ctx)
		}
		o.raw, o.lives, o.refs = append(o.raw, s.raw), append(o.lives, s.life), append(o.refs, s)
	}
	return nil
}

// ready returns an error if the operation cannot be enqueued in s.
func (o *SemaphoreOp) ready(s *Stream) error {
	if s == nil || s.ctx != o.ctx || s.life.Closed() {
		if err := checkStream(o, o.ctx, s); err != nil {
			return err
		}
	}
	for _, l := range o.lives {
		if l.Closed() {
			return fmt.Errorf("%v: %w", o, l.Check())
		}
	}
	return nil
}

func (o *SemaphoreOp) isWait() bool { return len(o.waits) > 0 }

// SetValue changes the value of point i, counted from 0. It does not allocate.
func (o *SemaphoreOp) SetValue(i int, v uint64) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore operation")
	}
	if i < 0 || i >= len(o.raw) {
		return invalidf("%v: there is no point %d, it has %d", o, i, len(o.raw))
	}
	if o.isWait() {
		o.waits[i].Params.Fence.Value = v
	} else {
		o.signals[i].Params.Fence.Value = v
	}
	return nil
}

// Enqueue implements [Op].
func (o *SemaphoreOp) Enqueue(s *Stream) (err error) {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore operation")
	}
	if err := o.ready(s); err != nil {
		return err
	}
	if o.isWait() {
		err = s.d.CuWaitExternalSemaphoresAsync(&o.raw[0], &o.waits[0], uint32(len(o.raw)), s.raw)
	} else {
		err = s.d.CuSignalExternalSemaphoresAsync(&o.raw[0], &o.signals[0], uint32(len(o.raw)), s.raw)
	}
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// Context returns the semaphores' context.
func (o *SemaphoreOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Uses returns the semaphores. Memory accesses by the other API are unknown.
func (o *SemaphoreOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	if o.isWait() {
		return uses.Set{Refs: o.refs, Node: &o.wait}
	}
	return uses.Set{Refs: o.refs, Node: &o.signal}
}

// String describes the operation.
func (o *SemaphoreOp) String() string {
	switch {
	case o == nil:
		return "nil semaphore operation"
	case o.isWait():
		return fmt.Sprintf("wait for %d external semaphores", len(o.raw))
	}
	return fmt.Sprintf("signal of %d external semaphores", len(o.raw))
}
