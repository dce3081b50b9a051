package cudatest

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

type rule struct {
	count func(a loader.Args) delta
	// stream returns the stream in which the call enqueues work. That stream may be capturing. The
	// field is nil if the call cannot be captured.
	stream func(a loader.Args) driver.CUstream
}

// delta is the effect of one call on the counts. It is passed by value, so counting does not
// allocate.
type delta struct {
	kind kind
	Amount
}

type kind uint8

const (
	nothing kind = iota
	launches
	graphLaunches
	toDevice
	toHost
	onDevice
	onHost
	unified
	fills
	hostFunctions
	allocations
	hostAllocations
	frees
	waits
	instantiations
	updates
)

func (c *Counts) amount(k kind) *Amount {
	switch k {
	case toDevice:
		return &c.HostToDevice
	case toHost:
		return &c.DeviceToHost
	case onDevice:
		return &c.DeviceToDevice
	case onHost:
		return &c.HostToHost
	case unified:
		return &c.Unified
	case allocations:
		return &c.Allocations
	case hostAllocations:
		return &c.HostAllocations
	}
	return nil
}

func (c *Counts) number(k kind) *uint64 {
	switch k {
	case launches:
		return &c.Launches
	case graphLaunches:
		return &c.GraphLaunches
	case fills:
		return &c.Fills
	case hostFunctions:
		return &c.HostFunctions
	case frees:
		return &c.Frees
	case waits:
		return &c.Waits
	case instantiations:
		return &c.Instantiations
	case updates:
		return &c.Updates
	}
	return nil
}

func (c *Counts) add(d delta) {
	if a := c.amount(d.kind); a != nil {
		a.Count += d.Count
		a.Bytes += d.Bytes
	} else if n := c.number(d.kind); n != nil {
		*n += d.Count
	}
}

// in returns a rule's stream function for calls whose argument i is the stream.
func in(i int) func(a loader.Args) driver.CUstream {
	return func(a loader.Args) driver.CUstream { return driver.CUstream(a.Word(i)) }
}

func ofConfig(a loader.Args) driver.CUstream {
	if cfg := (*cu.CUlaunchConfig)(a.Ptr(0)); cfg != nil {
		return cfg.HStream
	}
	return 0
}

// one returns a count function that counts a call as one operation of kind k.
func one(k kind) func(loader.Args) delta {
	return func(loader.Args) delta { return delta{k, Amount{Count: 1}} }
}

// sized returns a count function for calls whose argument i is a size in bytes.
func sized(k kind, i int) func(loader.Args) delta {
	return func(a loader.Args) delta { return delta{k, Amount{1, a.Uint64(i)}} }
}

// pitched counts a pitched allocation by its requested size, excluding row padding.
func pitched(a loader.Args) delta {
	return delta{allocations, Amount{1, a.Uint64(2) * a.Uint64(3)}}
}

// between returns the kind of a copy between two types of memory.
func between(dst, src cu.CUmemorytype) kind {
	const host, unknown = cu.CU_MEMORYTYPE_HOST, cu.CU_MEMORYTYPE_UNIFIED
	switch {
	case dst == unknown || src == unknown:
		return unified
	case dst == host && src == host:
		return onHost
	case dst == host:
		return toHost
	case src == host:
		return toDevice
	}
	return onDevice
}

func copied2D(a loader.Args) delta {
	p := (*cu.CUDA_MEMCPY2D)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height)}}
}

func copied3D(a loader.Args) delta {
	p := (*cu.CUDA_MEMCPY3D)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height) * uint64(p.Depth)}}
}

func copied3DPeer(a loader.Args) delta {
	p := (*cu.CUDA_MEMCPY3D_PEER)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height) * uint64(p.Depth)}}
}

// copiedBatch counts the copies in a batch. Argument 2 points to their sizes, and argument 3 is the
// number of copies.
func copiedBatch(a loader.Args) delta {
	d := delta{kind: unified}
	if sizes := (*uintptr)(a.Ptr(2)); sizes != nil {
		for _, s := range unsafe.Slice(sizes, int(a.Word(3))) {
			d.Count++
			d.Bytes += uint64(s)
		}
	}
	return d
}

func copiedBatch3D(a loader.Args) delta {
	d := delta{kind: unified}
	if ops := (*cu.CUDA_MEMCPY3D_BATCH_OP)(a.Ptr(1)); ops != nil {
		list := unsafe.Slice(ops, int(a.Word(0)))
		for i := range list {
			e := &list[i].Extent
			d.Count++
			d.Bytes += uint64(e.Width) * uint64(e.Height) * uint64(e.Depth)
		}
	}
	return d
}

// rules has an entry for each function that changes a field other than Calls.
var rules = map[cu.Function]rule{
	cu.FnCuLaunch:                  {one(launches), nil},
	cu.FnCuLaunchGrid:              {one(launches), nil},
	cu.FnCuLaunchGridAsync:         {one(launches), in(3)},
	cu.FnCuLaunchKernel:            {one(launches), in(8)},
	cu.FnCuLaunchKernelEx:          {one(launches), ofConfig},
	cu.FnCuLaunchCooperativeKernel: {one(launches), in(8)},
	cu.FnCuGraphLaunch:             {one(graphLaunches), in(1)},
	cu.FnCuLaunchHostFunc:          {one(hostFunctions), in(0)},
	cu.FnCuStreamAddCallback:       {one(hostFunctions), in(0)},

	cu.FnCuMemcpy:                    {sized(unified, 2), nil},
	cu.FnCuMemcpyAsync:               {sized(unified, 2), in(3)},
	cu.FnCuMemcpyHtoD:                {sized(toDevice, 2), nil},
	cu.FnCuMemcpyHtoDAsync:           {sized(toDevice, 2), in(3)},
	cu.FnCuMemcpyDtoH:                {sized(toHost, 2), nil},
	cu.FnCuMemcpyDtoHAsync:           {sized(toHost, 2), in(3)},
	cu.FnCuMemcpyDtoD:                {sized(onDevice, 2), nil},
	cu.FnCuMemcpyDtoDAsync:           {sized(onDevice, 2), in(3)},
	cu.FnCuMemcpyPeer:                {sized(onDevice, 4), nil},
	cu.FnCuMemcpyPeerAsync:           {sized(onDevice, 4), in(5)},
	cu.FnCuMemcpyHtoA:                {sized(toDevice, 3), nil},
	cu.FnCuMemcpyHtoAAsync:           {sized(toDevice, 3), in(4)},
	cu.FnCuMemcpyAtoH:                {sized(toHost, 3), nil},
	cu.FnCuMemcpyAtoHAsync:           {sized(toHost, 3), in(4)},
	cu.FnCuMemcpyDtoA:                {sized(onDevice, 3), nil},
	cu.FnCuMemcpyAtoD:                {sized(onDevice, 3), nil},
	cu.FnCuMemcpyAtoA:                {sized(onDevice, 4), nil},
	cu.FnCuMemcpy2D:                  {copied2D, nil},
	cu.FnCuMemcpy2DUnaligned:         {copied2D, nil},
	cu.FnCuMemcpy2DAsync:             {copied2D, in(1)},
	cu.FnCuMemcpy3D:                  {copied3D, nil},
	cu.FnCuMemcpy3DAsync:             {copied3D, in(1)},
	cu.FnCuMemcpy3DPeer:              {copied3DPeer, nil},
	cu.FnCuMemcpy3DPeerAsync:         {copied3DPeer, in(1)},
	cu.FnCuMemcpyBatchAsync:          {copiedBatch, in(7)},
	cu.FnCuMemcpyBatchAsync_v12080:   {copiedBatch, in(8)},
	cu.FnCuMemcpy3DBatchAsync:        {copiedBatch3D, in(3)},
	cu.FnCuMemcpy3DBatchAsync_v12080: {copiedBatch3D, in(4)},

	cu.FnCuMemsetD8:         {one(fills), nil},
	cu.FnCuMemsetD16:        {one(fills), nil},
	cu.FnCuMemsetD32:        {one(fills), nil},
	cu.FnCuMemsetD2D8:       {one(fills), nil},
	cu.FnCuMemsetD2D16:      {one(fills), nil},
	cu.FnCuMemsetD2D32:      {one(fills), nil},
	cu.FnCuMemsetD8Async:    {one(fills), in(3)},
	cu.FnCuMemsetD16Async:   {one(fills), in(3)},
	cu.FnCuMemsetD32Async:   {one(fills), in(3)},
	cu.FnCuMemsetD2D8Async:  {one(fills), in(5)},
	cu.FnCuMemsetD2D16Async: {one(fills), in(5)},
	cu.FnCuMemsetD2D32Async: {one(fills), in(5)},

	cu.FnCuMemAlloc:              {sized(allocations, 1), nil},
	cu.FnCuMemAllocManaged:       {sized(allocations, 1), nil},
	cu.FnCuMemAllocPitch:         {pitched, nil},
	cu.FnCuMemAllocAsync:         {sized(allocations, 1), in(2)},
	cu.FnCuMemAllocFromPoolAsync: {sized(allocations, 1), in(3)},
	cu.FnCuMemHostAlloc:          {sized(hostAllocations, 1), nil},
	cu.FnCuMemAllocHost:          {sized(hostAllocations, 1), nil},
	cu.FnCuMemFree:               {one(frees), nil},
	cu.FnCuMemFreeHost:           {one(frees), nil},
	cu.FnCuMemFreeAsync:          {one(frees), in(1)},

	cu.FnCuCtxSynchronize:    {one(waits), nil},
	cu.FnCuCtxSynchronize_v2: {one(waits), nil},
	cu.FnCuStreamSynchronize: {one(waits), nil},
	cu.FnCuEventSynchronize:  {one(waits), nil},

	cu.FnCuGraphInstantiate_v10000:    {one(instantiations), nil},
	cu.FnCuGraphInstantiate_v11000:    {one(instantiations), nil},
	cu.FnCuGraphInstantiateWithFlags:  {one(instantiations), nil},
	cu.FnCuGraphInstantiateWithParams: {one(instantiations), nil},
	cu.FnCuGraphExecUpdate:            {one(updates), nil},
	cu.FnCuGraphExecUpdate_v10020:     {one(updates), nil},
}
