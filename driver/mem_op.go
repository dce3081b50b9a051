package driver

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// MemOp is a batch of memory operations that the stream performs without a kernel, such as writing
// a word or waiting for one. See [NewMemOp].
type MemOp struct {
	ctx    *Context
	params []cu.CUstreamBatchMemOpParams
	lives  []*life.Lifetime
	refs   []life.Ref
	uses   []Access
	flags  uint32
	node   cu.CUDA_BATCH_MEM_OP_NODE_PARAMS
}

// MemStep is one step of a MemOp: see WriteWord, WaitWord and MemBarrier.
type MemStep func(*MemOp) error

// Word is the constraint for element types that memory operations accept.
type Word interface {
	~int32 | ~uint32 | ~int64 | ~uint64
}

// NewMemOp returns an operation that performs the steps in order.
func NewMemOp(c *Context, steps ...MemStep) (*MemOp, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(steps) == 0 {
		return nil, invalidf("memory operation without a step")
	}
	o := &MemOp{ctx: c}
	for i, step := range steps {
		if err := step(o); err != nil {
			return nil, fmt.Errorf("memory operation, step %d: %w", i, err)
		}
	}
	o.node = cu.CUDA_BATCH_MEM_OP_NODE_PARAMS{Ctx: c.Raw(), Count: uint32(len(o.params)), ParamArray: &o.params[0], Flags: o.flags}
	return o, nil
}

// WriteWord returns a step that writes v to element i of dst. Unless flags say otherwise, code that
// observes v also sees all earlier work in the stream.
func WriteWord[T Word](dst MemoryOf[T], i int, v T, flags cu.CUstreamWriteValue_flags) MemStep {
	return func(o *MemOp) error {
		addr, err := word(o, dst, i, Writes)
		if err != nil {
			return err
		}
		var p cu.CUstreamBatchMemOpParams
		w := p.WriteValue()
		w.Operation, w.Address, w.Flags = cu.CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, uint32(flags)
		*w.Value64() = uint64(v)
		if elem.Size[T]() == 8 {
			w.Operation = cu.CU_STREAM_MEM_OP_WRITE_VALUE_64
		} else {
			*w.Value64() = uint64(uint32(v))
		}
		o.params = append(o.params, p)
		return nil
	}
}

// WaitWord returns a step that delays later work in the stream until element i of src satisfies a
// comparison with v. flags select the comparison: CU_STREAM_WAIT_VALUE_GEQ and so on.
func WaitWord[T Word](src MemoryOf[T], i int, v T, flags cu.CUstreamWaitValue_flags) MemStep {
	return func(o *MemOp) error {
		addr, err := word(o, src, i, Reads)
		if err != nil {
			return err
		}
		var p cu.CUstreamBatchMemOpParams
		w := p.WaitValue()
		w.Operation, w.Address, w.Flags = cu.CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, uint32(flags)
		*w.Value64() = uint64(v)
		if elem.Size[T]() == 8 {
			w.Operation = cu.CU_STREAM_MEM_OP_WAIT_VALUE_64
		} else {
			*w.Value64() = uint64(uint32(v))
		}
		o.params = append(o.params, p)
		return nil
	}
}

// MemBarrier returns a step that is a memory barrier of the type in flags.
func MemBarrier(flags cu.CUstreamMemoryBarrier_flags) MemStep {
	return func(o *MemOp) error {
		var p cu.CUstreamBatchMemOpParams
		b := p.MemoryBarrier()
		b.Operation, b.Flags = cu.CU_STREAM_MEM_OP_BARRIER, uint32(flags)
		o.params = append(o.params, p)
		return nil
	}
}

// word returns the address of element i and adds the element to o's references and accesses.
func word[T any](o *MemOp, m MemoryOf[T], i int, mode AccessMode) (CUdeviceptr, error) {
	s, err := spanOfAll(m)
	if err != nil {
		return 0, err
	}
	if n := count[T](s.bytes); i < 0 || i >= n {
		return 0, invalidf("element %d of %d", i, n)
	}
	if err := o.ctx.canReach(s); err != nil {
		return 0, err
	}
	size := elem.Size[T]()
	addr := s.ptr + CUdeviceptr(uintptr(i)*size)
	o.lives = append(o.lives, s.a.life)
	o.refs = append(o.refs, s.a)
	o.uses = append(o.uses, Access{Addr: uint64(addr), Bytes: uint64(size), Mode: mode, Arg: int32(len(o.params)), What: fmt.Sprintf("step %d", len(o.params))})
	return addr, nil
}

// Enqueue implements [Op].
func (o *MemOp) Enqueue(s *Stream) error {
	if o == nil || s == nil || s.ctx != o.ctx || s.life.Closed() {
		if err := o.refuse(s); err != nil {
			return err
		}
	}
	for _, l := range o.lives {
		if l.Closed() {
			return fmt.Errorf("%v: %w", o, l.Check())
		}
	}
	err := o.send(s)
	runtime.KeepAlive(o)
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("%v: %w", o, err)
	}
	return nil
}

// send prefers the function introduced in CUDA 11.7, because the older one works only if a driver
// option is set.
func (o *MemOp) send(s *Stream) error {
	if s.d.Has(cu.FnCuStreamBatchMemOp) {
		return s.d.CuStreamBatchMemOp(s.raw, uint32(len(o.params)), &o.params[0], o.flags)
	}
	return s.d.CuStreamBatchMemOp_v8000(s.raw, uint32(len(o.params)), &o.params[0], o.flags)
}

func (o *MemOp) refuse(s *Stream) error {
	if o == nil || o.ctx == nil {
		return absentError(o == nil, "memory operation")
	}
	return checkStream(o, o.ctx, s)
}

// Context returns the context in which the operation runs.
func (o *MemOp) Context() *Context {
	if o == nil {
		return nil
	}
	return o.ctx
}

// Uses returns the memory, and how the operation accesses its words.
func (o *MemOp) Uses() uses.Set {
	if o == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: o.refs, Accesses: o.uses, Node: &o.node}
}

// String describes the operation.
func (o *MemOp) String() string {
	if o == nil {
		return "nil memory operation"
	}
	return fmt.Sprintf("memory operation of %d steps", len(o.params))
}
