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

// SemaphoreOp signals external semaphores in stream order, or holds back later work in the stream
// until they are signalled.
type SemaphoreOp struct {
	ctx   *Context
	raw   []CUexternalSemaphore
	lives []*life.Lifetime
	refs  []life.Ref

	// One of the two, with a value for each semaphore.
	signals []cu.CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS
	waits   []cu.CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS
}

// NewSemaphoreSignal creates one operation that signals all points. Their semaphores must be of one
// context.
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
	return o, nil
}

// NewSemaphoreWait creates one operation that waits for all points. Their semaphores must be of one
// context.
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
			return invalidf("%s, point %d: %v is of %v, those before of %v", what, i, s, s.ctx, o.ctx)
		}
		o.raw, o.lives, o.refs = append(o.raw, s.raw), append(o.lives, s.life), append(o.refs, s)
	}
	return nil
}

// ready makes the checks of every Enqueue.
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

// IsWait reports whether the operation waits for the semaphores instead of signalling them.
func (o *SemaphoreOp) IsWait() bool { return o != nil && len(o.waits) > 0 }

// SetValue changes the value of point i, counted from 0, to reuse the operation for the next step.
// It does not allocate. It returns an error if there is no such point.
func (o *SemaphoreOp) SetValue(i int, v uint64) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore operation")
	}
	if i < 0 || i >= len(o.raw) {
		return invalidf("%v: there is no point %d, it has %d", o, i, len(o.raw))
	}
	if o.IsWait() {
		o.waits[i].Params.Fence.Value = v
	} else {
		o.signals[i].Params.Fence.Value = v
	}
	return nil
}

// Enqueue implements Op. It makes one driver call and does not allocate.
func (o *SemaphoreOp) Enqueue(s *Stream) (err error) {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "semaphore operation")
	}
	if err := o.ready(s); err != nil {
		return err
	}
	if o.IsWait() {
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

// SignalParams returns the parameters of a graph node for a signal. The arrays belong to o.
func (o *SemaphoreOp) SignalParams() cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
	if o == nil || len(o.signals) == 0 {
		return cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{}
	}
	return cu.CUDA_EXT_SEM_SIGNAL_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.signals[0], NumExtSems: uint32(len(o.raw))}
}

// WaitParams returns the parameters of a graph node for a wait. The arrays belong to o.
func (o *SemaphoreOp) WaitParams() cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS {
	if o == nil || len(o.waits) == 0 {
		return cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{}
	}
	return cu.CUDA_EXT_SEM_WAIT_NODE_PARAMS{ExtSemArray: &o.raw[0], ParamsArray: &o.waits[0], NumExtSems: uint32(len(o.raw))}
}

// Context implements Op. It returns the semaphores' context.
func (o *SemaphoreOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Refs returns the semaphores.
func (o *SemaphoreOp) Refs() []life.Ref {
	if o == nil {
		return nil
	}
	return o.refs
}

// Accesses implements Op. It returns nil, because what the other API accesses is unknown.
func (o *SemaphoreOp) Accesses() []Access { return nil }

// String describes the operation by its number of semaphores.
func (o *SemaphoreOp) String() string {
	switch {
	case o == nil:
		return "nil semaphore operation"
	case o.IsWait():
		return fmt.Sprintf("wait for %d external semaphores", len(o.raw))
	}
	return fmt.Sprintf("signal of %d external semaphores", len(o.raw))
}

func (*SemaphoreOp) op() {}
