package emulator

import "github.com/purecuda/cuda/driver/cu"

func cuGraphInstantiateV1(c call) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	x, bad := c.instantiate(g, 0)
	if bad == nil {
		return put(c, 0, x.handle)
	}
	if out := at[uintptr](c, 2); out != nil && bad.node != nil {
		*out = bad.node.handle
	}
	if log := list[byte](c, 3, int(c.Word(4))); log != nil {
		n := copy(log[:len(log)-1], bad.reason.String())
		log[n] = 0
	}
	return bad.result
}

func cuGraphInstantiateWithFlags(c call) result {
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil:
		return errInvalidValue
	}
	x, bad := c.instantiate(g, c.Uint64(2))
	if bad != nil {
		return bad.result
	}
	return put(c, 0, x.handle)
}

func cuGraphInstantiateWithParams(c call) result {
	p := at[cu.CUDA_GRAPH_INSTANTIATE_PARAMS](c, 2)
	g, r := graphAt(c, 1)
	switch {
	case r != success:
		return r
	case c.Ptr(0) == nil || p == nil:
		return errInvalidValue
	}
	p.HErrNode_out, p.Result_out = 0, cu.CUDA_GRAPH_INSTANTIATE_SUCCESS
	x, bad := c.instantiate(g, p.Flags)
	if bad != nil {
		p.Result_out = bad.reason
		if bad.node != nil {
			p.HErrNode_out = cu.CUgraphNode(bad.node.handle)
		}
		return bad.result
	}
	if p.Flags&uint64(cu.CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0 {
		if _, r := c.streamOf(uintptr(p.HUploadStream)); r != success {
			x.destroy()
			p.Result_out = cu.CUDA_GRAPH_INSTANTIATE_ERROR
			return r
		}
	}
	return put(c, 0, x.handle)
}
