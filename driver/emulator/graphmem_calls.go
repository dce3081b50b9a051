package emulator

import (
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

var graphMemFunctions = functions{
	"cuGraphAddMemAllocNode":       {cuGraphAddMemAllocNode, afterInit},
	"cuGraphMemAllocNodeGetParams": {cuGraphMemAllocNodeGetParams, afterInit},
	"cuGraphAddMemFreeNode":        {cuGraphAddMemFreeNode, afterInit},
	"cuGraphMemFreeNodeGetParams":  {cuGraphMemFreeNodeGetParams, afterInit},
	"cuDeviceGraphMemTrim":         {cuDeviceGraphMemTrim, afterInit},
	"cuDeviceGetGraphMemAttribute": {cuDeviceGetGraphMemAttribute, afterInit},
	"cuDeviceSetGraphMemAttribute": {cuDeviceSetGraphMemAttribute, afterInit},
}

func cuGraphAddMemAllocNode(c call) result {
	p := at[cu.CUDA_MEM_ALLOC_NODE_PARAMS](c, 4)
	if p == nil {
		return errInvalidValue
	}
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) {
		n, r := c.allocFrom(&p.PoolProps, accessDescs(p.AccessDescs, p.AccessDescCount), p.Bytesize, &p.Dptr)
		if r != success {
			return nil, r
		}
		n.graph = g
		return n, success
	})
}

func cuGraphMemAllocNodeGetParams(c call) result {
	_, n, r := nodeOf[*allocNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, cu.CUDA_MEM_ALLOC_NODE_PARAMS{
		PoolProps: n.props, Bytesize: uintptr(n.size), Dptr: cu.CUdeviceptr(n.addr),
		AccessDescs: unsafe.SliceData(n.descs), AccessDescCount: uintptr(len(n.descs)),
	})
}

func cuGraphAddMemFreeNode(c call) result {
	return addNode(c, -1, 3, func(g *graph) (nodeParams, result) {
		return checked(c.freeFrom(g, cu.CUdeviceptr(c.Uint64(4))))
	})
}

func cuGraphMemFreeNodeGetParams(c call) result {
	_, n, r := nodeOf[*freeNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, cu.CUdeviceptr(n.alloc.addr))
}

// cuDeviceGraphMemTrim releases the memory that no launch uses.
func cuDeviceGraphMemTrim(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	for _, n := range c.e.graphAllocs {
		if n.ctx.dev == d && !n.live {
			n.dropBuffer()
		}
	}
	return success
}

func (g *graphMemory) counter(a cu.CUgraphMem_attribute) *uint64 {
	counters := []*uint64{&g.used, &g.usedHigh, &g.reserved, &g.reservedHigh}
	if int(a) >= len(counters) {
		return nil
	}
	return counters[a]
}

func cuDeviceGetGraphMemAttribute(c call) result {
	d := deviceAt(c, 0)
	if d == nil {
		return errInvalidDevice
	}
	v := d.graph.counter(cu.CUgraphMem_attribute(c.Uint32(1)))
	if v == nil {
		return errInvalidValue
	}
	return put(c, 2, *v)
}

// cuDeviceSetGraphMemAttribute can only reset the high-water marks.
func cuDeviceSetGraphMemAttribute(c call) result {
	d := deviceAt(c, 0)
	a := cu.CUgraphMem_attribute(c.Uint32(1))
	marks := []cu.CUgraphMem_attribute{cu.CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, cu.CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH}
	switch {
	case d == nil:
		return errInvalidDevice
	case !slices.Contains(marks, a) || c.Ptr(2) == nil || *at[uint64](c, 2) != 0:
		return errInvalidValue
	}
	*d.graph.counter(a) = *d.graph.counter(a - 1)
	return success
}
