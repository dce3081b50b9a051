package cudatest

import (
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/loader"
)

// rule says what a call of a function counts as.
type rule struct {
	count func(a loader.Args) delta
	// stream is the one that may be capturing; nil if the call is no work of
	// a stream.
	stream func(a loader.Args) driver.CUstream
}

// delta is what one call does. It is a small value, so that counting allocates
// nothing.
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

// amount is the number that a kind is counted in.
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

// number is the number that a kind without bytes is counted in.
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

// add adds what one call did.
func (c *Counts) add(d delta) {
	if a := c.amount(d.kind); a != nil {
		a.Count += d.Count
		a.Bytes += d.Bytes
	} else if n := c.number(d.kind); n != nil {
		*n += d.Count
	}
}

// in is the stream in argument i.
func in(i int) func(a loader.Args) driver.CUstream {
	return func(a loader.Args) driver.CUstream { return driver.CUstream(a.Word(i)) }
}

// ofConfig is the stream of a launch configuration.
func ofConfig(a loader.Args) driver.CUstream {
	if cfg := (*driver.CUlaunchConfig)(a.Ptr(0)); cfg != nil {
		return cfg.HStream
	}
	return 0
}

// one is a call that counts as one of a kind.
func one(k kind) func(loader.Args) delta {
	return func(loader.Args) delta { return delta{k, Amount{Count: 1}} }
}

// sized is one of a kind with the bytes that argument i has.
func sized(k kind, i int) func(loader.Args) delta {
	return func(a loader.Args) delta { return delta{k, Amount{1, a.Uint64(i)}} }
}

// pitched counts what was asked for, without the padding of rows.
func pitched(a loader.Args) delta {
	return delta{allocations, Amount{1, a.Uint64(2) * a.Uint64(3)}}
}

// between is the kind of a copy by the kinds of memory that it names.
func between(dst, src driver.CUmemorytype) kind {
	const host, unknown = driver.CU_MEMORYTYPE_HOST, driver.CU_MEMORYTYPE_UNIFIED
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
	p := (*driver.CUDA_MEMCPY2D)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height)}}
}

func copied3D(a loader.Args) delta {
	p := (*driver.CUDA_MEMCPY3D)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height) * uint64(p.Depth)}}
}

func copied3DPeer(a loader.Args) delta {
	p := (*driver.CUDA_MEMCPY3D_PEER)(a.Ptr(0))
	if p == nil {
		return delta{}
	}
	return delta{between(p.DstMemoryType, p.SrcMemoryType), Amount{1, uint64(p.WidthInBytes) * uint64(p.Height) * uint64(p.Depth)}}
}

// copiedBatch counts the copies of a batch: sizes in argument 2, their number in
// argument 3.
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
	if ops := (*driver.CUDA_MEMCPY3D_BATCH_OP)(a.Ptr(1)); ops != nil {
		list := unsafe.Slice(ops, int(a.Word(0)))
		for i := range list {
			e := &list[i].Extent
			d.Count++
			d.Bytes += uint64(e.Width) * uint64(e.Height) * uint64(e.Depth)
		}
	}
	return d
}

// rules has the functions that are counted as more than a call.
var rules = map[driver.Function]rule{
	driver.FnCuLaunch:                  {one(launches), nil},
	driver.FnCuLaunchGrid:              {one(launches), nil},
	driver.FnCuLaunchGridAsync:         {one(launches), in(3)},
	driver.FnCuLaunchKernel:            {one(launches), in(8)},
	driver.FnCuLaunchKernelEx:          {one(launches), ofConfig},
	driver.FnCuLaunchCooperativeKernel: {one(launches), in(8)},
	driver.FnCuGraphLaunch:             {one(graphLaunches), in(1)},
	driver.FnCuLaunchHostFunc:          {one(hostFunctions), in(0)},
	driver.FnCuStreamAddCallback:       {one(hostFunctions), in(0)},

	driver.FnCuMemcpy:                    {sized(unified, 2), nil},
	driver.FnCuMemcpyAsync:               {sized(unified, 2), in(3)},
	driver.FnCuMemcpyHtoD:                {sized(toDevice, 2), nil},
	driver.FnCuMemcpyHtoDAsync:           {sized(toDevice, 2), in(3)},
	driver.FnCuMemcpyDtoH:                {sized(toHost, 2), nil},
	driver.FnCuMemcpyDtoHAsync:           {sized(toHost, 2), in(3)},
	driver.FnCuMemcpyDtoD:                {sized(onDevice, 2), nil},
	driver.FnCuMemcpyDtoDAsync:           {sized(onDevice, 2), in(3)},
	driver.FnCuMemcpyPeer:                {sized(onDevice, 4), nil},
	driver.FnCuMemcpyPeerAsync:           {sized(onDevice, 4), in(5)},
	driver.FnCuMemcpyHtoA:                {sized(toDevice, 3), nil},
	driver.FnCuMemcpyHtoAAsync:           {sized(toDevice, 3), in(4)},
	driver.FnCuMemcpyAtoH:                {sized(toHost, 3), nil},
	driver.FnCuMemcpyAtoHAsync:           {sized(toHost, 3), in(4)},
	driver.FnCuMemcpyDtoA:                {sized(onDevice, 3), nil},
	driver.FnCuMemcpyAtoD:                {sized(onDevice, 3), nil},
	driver.FnCuMemcpyAtoA:                {sized(onDevice, 4), nil},
	driver.FnCuMemcpy2D:                  {copied2D, nil},
	driver.FnCuMemcpy2DUnaligned:         {copied2D, nil},
	driver.FnCuMemcpy2DAsync:             {copied2D, in(1)},
	driver.FnCuMemcpy3D:                  {copied3D, nil},
	driver.FnCuMemcpy3DAsync:             {copied3D, in(1)},
	driver.FnCuMemcpy3DPeer:              {copied3DPeer, nil},
	driver.FnCuMemcpy3DPeerAsync:         {copied3DPeer, in(1)},
	driver.FnCuMemcpyBatchAsync:          {copiedBatch, in(7)},
	driver.FnCuMemcpyBatchAsync_v12080:   {copiedBatch, in(8)},
	driver.FnCuMemcpy3DBatchAsync:        {copiedBatch3D, in(3)},
	driver.FnCuMemcpy3DBatchAsync_v12080: {copiedBatch3D, in(4)},

	driver.FnCuMemsetD8:         {one(fills), nil},
	driver.FnCuMemsetD16:        {one(fills), nil},
	driver.FnCuMemsetD32:        {one(fills), nil},
	driver.FnCuMemsetD2D8:       {one(fills), nil},
	driver.FnCuMemsetD2D16:      {one(fills), nil},
	driver.FnCuMemsetD2D32:      {one(fills), nil},
	driver.FnCuMemsetD8Async:    {one(fills), in(3)},
	driver.FnCuMemsetD16Async:   {one(fills), in(3)},
	driver.FnCuMemsetD32Async:   {one(fills), in(3)},
	driver.FnCuMemsetD2D8Async:  {one(fills), in(5)},
	driver.FnCuMemsetD2D16Async: {one(fills), in(5)},
	driver.FnCuMemsetD2D32Async: {one(fills), in(5)},

	driver.FnCuMemAlloc:              {sized(allocations, 1), nil},
	driver.FnCuMemAllocManaged:       {sized(allocations, 1), nil},
	driver.FnCuMemAllocPitch:         {pitched, nil},
	driver.FnCuMemAllocAsync:         {sized(allocations, 1), in(2)},
	driver.FnCuMemAllocFromPoolAsync: {sized(allocations, 1), in(3)},
	driver.FnCuMemHostAlloc:          {sized(hostAllocations, 1), nil},
	driver.FnCuMemAllocHost:          {sized(hostAllocations, 1), nil},
	driver.FnCuMemFree:               {one(frees), nil},
	driver.FnCuMemFreeHost:           {one(frees), nil},
	driver.FnCuMemFreeAsync:          {one(frees), in(1)},

	driver.FnCuCtxSynchronize:    {one(waits), nil},
	driver.FnCuCtxSynchronize_v2: {one(waits), nil},
	driver.FnCuStreamSynchronize: {one(waits), nil},
	driver.FnCuEventSynchronize:  {one(waits), nil},

	driver.FnCuGraphInstantiate_v10000:    {one(instantiations), nil},
	driver.FnCuGraphInstantiate_v11000:    {one(instantiations), nil},
	driver.FnCuGraphInstantiateWithFlags:  {one(instantiations), nil},
	driver.FnCuGraphInstantiateWithParams: {one(instantiations), nil},
	driver.FnCuGraphExecUpdate:            {one(updates), nil},
	driver.FnCuGraphExecUpdate_v10020:     {one(updates), nil},
}
