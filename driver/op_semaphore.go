package driver

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// SemaphorePoint is an action on one external semaphore. Which fields apply depends on the
// semaphore's kind. The others stay zero.
type SemaphorePoint struct {
	Semaphore *ExternalSemaphore
	// Value is the value that a timeline semaphore or fence is signalled with, or that a wait waits
	// for. The wait ends when the semaphore has this value or a larger one. Binary semaphores have
	// no value.
	Value uint64
	// Key is the key of a keyed mutex: a wait acquires it, a signal releases it.
	Key uint64
	// TimeoutMs limits a wait for a keyed mutex, in milliseconds.
	TimeoutMs uint32
	// Fence is an NvSciSyncFence in C memory. A signal fills it in, a wait waits for it.
	Fence unsafe.Pointer
	// Flags is CUDA_EXTERNAL_SEMAPHORE_SIGNAL_ or _WAIT_SKIP_NVSCIBUF_MEMSYNC.
	Flags uint32
}

// semaphores holds the common parts of signals and waits.
type semaphores struct {
	ctx   *Context
	raw   []CUexternalSemaphore
	lives []*life.Lifetime
	refs  []life.Ref
}

// SemaphoreSignal signals external semaphores in stream order.
type SemaphoreSignal struct {
	semaphores
	params []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
}

// SemaphoreWait holds back later work in the stream until external semaphores are signalled.
type SemaphoreWait struct {
	semaphores
	params []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
}

// NewSemaphoreSignal creates one operation that signals all points. Their semaphores must be of one
// context.
func NewSemaphoreSignal(points ...SemaphorePoint) (*SemaphoreSignal, error) {
	o := &SemaphoreSignal{params: make([]cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, len(points))}
	if err := o.collect("semaphore signal", points); err != nil {
		return nil, err
	}
	for i, p := range points {
		to := &o.params[i]
		to.Params.Fence.Value, to.Params.KeyedMutex.Key, to.Flags = p.Value, p.Key, p.Flags
		*to.Params.NvSciSync.Fence() = p.Fence
	}
	return o, nil
}

// NewSemaphoreWait creates one operation that waits for all points. Their semaphores must be of one
// context.
func NewSemaphoreWait(points ...SemaphorePoint) (*SemaphoreWait, error) {
	o := &SemaphoreWait{params: make([]cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, len(points))}
	if err := o.collect("semaphore wait", points); err != nil {
		return nil, err
	}
	for i, p := range points {
		to := &o.params[i]
		to.Params.Fence.Value, to.Params.KeyedMutex.Key, to.Flags = p.Value, p.Key, p.Flags
		to.Params.KeyedMutex.TimeoutMs = p.TimeoutMs
		*to.Params.NvSciSync.Fence() = p.Fence
	}
	return o, nil
}

func (o *semaphores) collect(what string, points []SemaphorePoint) error {
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
			return invalidf("%s, point %d: %v is of %v, those before of %v", what, i, s, s.ctx, o.ctx)
		}
		o.raw, o.lives, o.refs = append(o.raw, s.raw), append(o.lives, s.life), append(o.refs, s)
	}
	return nil
}

// ready makes the checks of every Enqueue.
func (o *semaphores) ready(op fmt.Stringer, s *Stream) error {
	if s == nil || s.ctx != o.ctx || s.life.Closed() {
		if err := checkStream(op, o.ctx, s); err != nil {
			return err
		}
	}
	for _, l := range o.lives {
		if l.Closed() {
			return fmt.Errorf("%v: %w", op, l.Check())
		}
	}
	return nil
}

func (o *semaphores) has(op fmt.Stringer, i int) error {
	if i < 0 || i >= len(o.raw) {
		return invalidf("%v: there is no point %d, it has %d", op, i, len(o.raw))
	}
	return nil
}

// SetValue changes the value of point i, counted from 0, to reuse the operation for the next step.
// It does not allocate. It returns an error if there is no such point.
func (o *SemaphoreSignal) SetValue(i int, v uint64) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore signal")
	}
	if err := o.has(o, i); err != nil {
		return err
	}
	o.params[i].Params.Fence.Value = v
	return nil
}

// SetValue changes the value of point i, counted from 0, to reuse the operation for the next step.
// It does not allocate. It returns an error if there is no such point.
func (o *SemaphoreWait) SetValue(i int, v uint64) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore wait")
	}
	if err := o.has(o, i); err != nil {
		return err
	}
	o.params[i].Params.Fence.Value = v
	return nil
}

// Enqueue implements Op. It makes one driver call and does not allocate.
func (o *SemaphoreSignal) Enqueue(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore signal")
	}
	if err := o.ready(o, s); err != nil {
		return err
	}
	err := s.d.CuSignalExternalSemaphoresAsync(&o.raw[0], &o.params[0], uint32(len(o.raw)), s.raw)
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// Enqueue implements Op. It makes one driver call and does not allocate.
func (o *SemaphoreWait) Enqueue(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore wait")
	}
	if err := o.ready(o, s); err != nil {
		return err
	}
	err := s.d.CuWaitExternalSemaphoresAsync(&o.raw[0], &o.params[0], uint32(len(o.raw)), s.raw)
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// NodeParams returns the parameters of a graph node for the operation. The arrays belong to o.
func (o *SemaphoreSignal) NodeParams() cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
	if o == nil || len(o.raw) == 0 {
		return cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{}
	}
	return cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.params[0], NumExtSems: uint32(len(o.raw))}
}

// NodeParams returns the parameters of a graph node for the operation. The arrays belong to o.
func (o *SemaphoreWait) NodeParams() cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS {
	if o == nil || len(o.raw) == 0 {
		return cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{}
	}
	return cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.params[0], NumExtSems: uint32(len(o.raw))}
}

// Context implements Op. It returns the semaphores' context.
func (o *SemaphoreSignal) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Context implements Op. It returns the semaphores' context.
func (o *SemaphoreWait) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Refs returns the semaphores.
func (o *SemaphoreSignal) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Refs returns the semaphores.
func (o *SemaphoreWait) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Accesses implements Op. It returns nil, because what the other API accesses is unknown.
func (o *SemaphoreSignal) Accesses() []Access { return nil }

// Accesses implements Op. It returns nil, because what the other API accesses is unknown.
func (o *SemaphoreWait) Accesses() []Access { return nil }

// String describes the operation by its number of semaphores.
func (o *SemaphoreSignal) String() string {
	if o == nil {
		return "nil semaphore signal"
	}
	return fmt.Sprintf("signal of %d external semaphores", len(o.raw))
}

// String describes the operation by its number of semaphores.
func (o *SemaphoreWait) String() string {
	if o == nil {
		return "nil semaphore wait"
	}
	return fmt.Sprintf("wait for %d external semaphores", len(o.raw))
}

func (*SemaphoreSignal) op() {}
func (*SemaphoreWait) op()   {}
