package emulator

import (
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

var memOpFunctions = functions{
	"cuStreamWaitValue32_v2":  {func(c call) result { return memOp(c, cu.CU_STREAM_MEM_OP_WAIT_VALUE_32) }, afterInit},
	"cuStreamWaitValue64_v2":  {func(c call) result { return memOp(c, cu.CU_STREAM_MEM_OP_WAIT_VALUE_64) }, afterInit},
	"cuStreamWriteValue32_v2": {func(c call) result { return memOp(c, cu.CU_STREAM_MEM_OP_WRITE_VALUE_32) }, afterInit},
	"cuStreamWriteValue64_v2": {func(c call) result { return memOp(c, cu.CU_STREAM_MEM_OP_WRITE_VALUE_64) }, afterInit},
	"cuStreamBatchMemOp_v2":   {cuStreamBatchMemOp, afterInit},
}

// memOpNode is a batch of operations, each on a single word of memory. It runs in a stream or as a
// graph node.
type memOpNode struct {
	ctx   *cudaContext
	flags uint32
	ops   []cu.CUstreamBatchMemOpParams
}

func (n *memOpNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_BATCH_MEM_OP }

func memOp(c call, kind cu.CUstreamBatchMemOpType) result {
	s, r := streamAt(c, 0)
	if r != success {
		return r
	}
	var op cu.CUstreamBatchMemOpParams
	w := op.WaitValue() // WriteValue has the same layout
	w.Operation, w.Address, w.Flags = kind, cu.CUdeviceptr(c.Uint64(1)), c.Uint32(3)
	*w.Value64() = c.Uint64(2)
	return submitMemOps(c, s, &memOpNode{ctx: s.ctx, ops: []cu.CUstreamBatchMemOpParams{op}})
}

func cuStreamBatchMemOp(c call) result {
	s, r := streamAt(c, 0)
	n := int(c.Uint32(1))
	ops := list[cu.CUstreamBatchMemOpParams](c, 2, n)
	switch {
	case r != success:
		return r
	case n == 0:
		return success
	case n > 256 || ops == nil || c.Uint32(3) != 0:
		return errInvalidValue
	}
	node := &memOpNode{ctx: s.ctx, ops: append([]cu.CUstreamBatchMemOpParams(nil), ops...)}
	return submitMemOps(c, s, node)
}

func submitMemOps(c call, s *stream, n *memOpNode) result {
	if r := n.check(c.e); r != success && s.cap == nil {
		return r // a capture does not check memory
	}
	return s.submit(n)
}

// memOpSize returns the size in bytes of the word that an operation accesses. If it accesses none,
// memOpSize returns 0.
func memOpSize(kind cu.CUstreamBatchMemOpType) uint64 {
	switch kind {
	case cu.CU_STREAM_MEM_OP_WAIT_VALUE_32, cu.CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return 4
	case cu.CU_STREAM_MEM_OP_WAIT_VALUE_64, cu.CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return 8
	}
	return 0
}

func (n *memOpNode) check(e *Emulator) result {
	for i := range n.ops {
		op := &n.ops[i]
		kind := *op.Operation()
		size := memOpSize(kind)
		switch {
		case kind == cu.CU_STREAM_MEM_OP_BARRIER, kind == cu.CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
			continue
		case size == 0:
			return errInvalidValue
		}
		addr := uint64(op.WaitValue().Address)
		if addr%size != 0 || !e.known(addr, size) {
			return errInvalidValue
		}
	}
	return success
}

func (n *memOpNode) run(x *execution) result {
	for i := range n.ops {
		if r := n.step(x, &n.ops[i]); r != success {
			return r
		}
	}
	return success
}

func (n *memOpNode) step(x *execution, op *cu.CUstreamBatchMemOpParams) result {
	size := memOpSize(*op.Operation())
	if size == 0 {
		return success
	}
	w := op.WaitValue()
	b, err := x.e.mem.Bytes(uint64(w.Address), size)
	if err != nil {
		return x.noteMissing("stream memory operation", uint64(w.Address))
	}
	switch *op.Operation() {
	case cu.CU_STREAM_MEM_OP_WRITE_VALUE_32, cu.CU_STREAM_MEM_OP_WRITE_VALUE_64:
		x.signal(uint64(w.Address))
		storeWord(b, *w.Value64())
		x.e.mem.Written(uint64(w.Address), size)
		return success
	}
	for tries := 0; !reachedValue(loadWord(b), *w.Value64(), w.Flags, size); tries++ {
		if x.e.running.Err() != nil {
			return errLaunchFailed
		}
		pause(tries)
	}
	x.awaited(uint64(w.Address))
	return success
}

func reachedValue(have, want uint64, flags uint32, size uint64) bool {
	if size == 4 {
		have, want = uint64(uint32(have)), uint64(uint32(want))
	}
	switch cu.CUstreamWaitValue_flags(flags) &^ cu.CU_STREAM_WAIT_VALUE_FLUSH {
	case cu.CU_STREAM_WAIT_VALUE_EQ:
		return have == want
	case cu.CU_STREAM_WAIT_VALUE_AND:
		return have&want != 0
	case cu.CU_STREAM_WAIT_VALUE_NOR:
		if size == 4 {
			return ^(uint32(have) | uint32(want)) != 0
		}
		return ^(have | want) != 0
	}
	if size == 4 { // cyclic comparison: the sign of the difference decides
		return int32(uint32(have)-uint32(want)) >= 0
	}
	return int64(have-want) >= 0
}

func (c call) memOpFrom(p *cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2) (*memOpNode, result) {
	if p == nil || p.Count == 0 || p.Count > 256 || p.ParamArray == nil || p.Flags != 0 {
		return nil, errInvalidValue
	}
	ctx := find[cudaContext](c.e, uintptr(p.Ctx))
	if ctx == nil {
		return nil, errInvalidContext
	}
	n := &memOpNode{ctx: ctx, flags: p.Flags}
	n.ops = append(n.ops, unsafe.Slice(p.ParamArray, p.Count)...)
	return n, n.check(c.e)
}

func (n *memOpNode) fields() cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
	ops := append([]cu.CUstreamBatchMemOpParams(nil), n.ops...)
	return cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2{
		Ctx: cu.CUcontext(n.ctx.handle), Count: uint32(len(ops)), ParamArray: &ops[0], Flags: n.flags,
	}
}

func readMemOp(c call, i int, _ *memOpNode) (*memOpNode, result) {
	return c.memOpFrom(at[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS_v2](c, i))
}

// While a stream waits for a word, other streams, kernels or the host may write it, so all accesses
// to such words are atomic. Regions of the address space are aligned as atomic accesses require.

func loadWord(b []byte) uint64 {
	if len(b) == 4 {
		return uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(&b[0]))))
	}
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[0])))
}

func storeWord(b []byte, v uint64) {
	if len(b) == 4 {
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), uint32(v))
		return
	}
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), v)
}
