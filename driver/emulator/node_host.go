package emulator

// hostParams is CUDA_HOST_NODE_PARAMS with the user's data as a number. The data need not be a
// pointer, and a variable of a pointer type may only contain pointers.
type hostParams struct{ fn, userData uintptr }

func hostNodeFrom(p *hostParams) (*hostNode, result) {
	if p == nil || p.fn == 0 {
		return nil, errInvalidValue
	}
	return &hostNode{p.fn, p.userData}, success
}

func cuGraphAddHostNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		n, r := hostNodeFrom(at[hostParams](c, 4))
		return n, r
	})
}

func cuGraphHostNodeGetParams(c call) result {
	_, n, r := nodeOf[*hostNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, hostParams{n.fn, n.userData})
}

func cuGraphHostNodeSetParams(c call) result {
	n, _, r := nodeOf[*hostNode](c, 0)
	if r != success {
		return r
	}
	p, r := hostNodeFrom(at[hostParams](c, 1))
	if r != success {
		return r
	}
	n.params = p
	return success
}
