package drivertest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// The kinds of memory that copies and fills can use.
const (
	ofAlloc   = "cuMemAlloc"
	ofMap     = "cuMemMap"
	ofPool    = "cuMemAllocAsync"
	ofManaged = "cuMemAllocManaged"
	ofHost    = "cuMemHostAlloc"
)

// An exchangeWay is a way to change the memory that a node of an executable graph uses. try returns
// the result of the call. refused is the result if the driver does not support the exchange.
type exchangeWay struct {
	name    string
	try     func(k *kit, old, other driver.CUdeviceptr) string
	refused string // empty if all memory can be exchanged
}

const (
	updateRefused = "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED"
	setRefused    = "CUDA_ERROR_INVALID_VALUE"
)

var exchangeWays = []exchangeWay{
	{"cuGraphExecUpdate, source of a copy", func(k *kit, old, other driver.CUdeviceptr) string {
		return k.update(k.copyGraph(k.spare(), old), k.copyGraph(k.spare(), other))
	}, updateRefused},
	{"cuGraphExecUpdate, destination of a copy", func(k *kit, old, other driver.CUdeviceptr) string {
		return k.update(k.copyGraph(old, k.spare()), k.copyGraph(other, k.spare()))
	}, updateRefused},
	{"cuGraphExecUpdate, fill", func(k *kit, old, other driver.CUdeviceptr) string {
		return k.update(k.fillGraph(old), k.fillGraph(other))
	}, ""},
	{"cuGraphExecMemcpyNodeSetParams, source", func(k *kit, old, other driver.CUdeviceptr) string {
		g, p := k.copyGraph(k.spare(), old), copyParams(k.spare(), other)
		return k.code(k.C.Driver().CuGraphExecMemcpyNodeSetParams(k.raw(g), g.node, &p, k.C.Raw()))
	}, setRefused},
	{"cuGraphExecMemcpyNodeSetParams, destination", func(k *kit, old, other driver.CUdeviceptr) string {
		g, p := k.copyGraph(old, k.spare()), copyParams(other, k.spare())
		return k.code(k.C.Driver().CuGraphExecMemcpyNodeSetParams(k.raw(g), g.node, &p, k.C.Raw()))
	}, setRefused},
	{"cuGraphExecMemsetNodeSetParams", func(k *kit, old, other driver.CUdeviceptr) string {
		g, p := k.fillGraph(old), fillParams(other)
		return k.code(k.C.Driver().CuGraphExecMemsetNodeSetParams(k.raw(g), g.node, &p, k.C.Raw()))
	}, ""},
	{"cuGraphExecNodeSetParams, source of a copy", func(k *kit, old, other driver.CUdeviceptr) string {
		return k.setTagged(k.copyGraph(k.spare(), old), copyParams(k.spare(), other))
	}, setRefused},
	{"cuGraphExecNodeSetParams, destination of a copy", func(k *kit, old, other driver.CUdeviceptr) string {
		return k.setTagged(k.copyGraph(old, k.spare()), copyParams(other, k.spare()))
	}, setRefused},
}

// mappedByDriver reports the class of a kind of memory. Driver 580 maps the memory of
// cuMemAllocAsync as cuMemMap does. A copy cannot exchange memory of one class for memory of the
// other.
func mappedByDriver(kind string) bool { return kind == ofMap || kind == ofPool }

func (w exchangeWay) want(from, to string) string {
	if w.refused == "" || mappedByDriver(from) == mappedByDriver(to) {
		return "ok"
	}
	return w.refused
}

// This test tries each way to change the memory that a node of an executable graph uses, and prints
// a table for each way. The rows are the kinds of memory before the exchange, and the columns are
// the kinds afterwards. Each executable graph is used for one exchange. The emulator and a GPU with
// driver 580 (CUDA 13.0) must refuse to exchange a copy's memory between the two classes, and must
// refuse nothing else. The results of other drivers are only printed.
func TestWhichMemoryAnUpdateCanExchange(t *testing.T) {
	t.Run("emulator", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, gputest.Emulator(t, emulator.Config{})))
		k.exchangeAll(true)
	})
	t.Run("gpu", func(t *testing.T) {
		k := newKit(t, gputest.Context(t, gputest.GPU(t)))
		k.exchangeAll(k.C.Driver().Version() == 13000)
	})
}

// exchangeAll tries all exchanges. If strict is false, it only prints the results.
func (k *kit) exchangeAll(strict bool) {
	k.Helper()
	memory := k.memoryOfAllKinds()
	for _, way := range exchangeWays {
		k.exchange(way, memory, strict)
	}
}

func (k *kit) exchange(way exchangeWay, memory []twoOf, strict bool) {
	k.Helper()
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t", way.name)
	for _, to := range memory {
		fmt.Fprintf(w, "%s\t", to.kind)
	}
	for _, from := range memory {
		fmt.Fprintf(w, "\n%s\t", from.kind)
		for _, to := range memory {
			got, want := way.try(k, from.first, to.second), way.want(from.kind, to.kind)
			fmt.Fprintf(w, "%s\t", got)
			if strict && got != want {
				k.Errorf("%s, from memory of %s to memory of %s: %s, want %s", way.name, from.kind, to.kind, got, want)
			}
		}
	}
	w.Flush()
	k.Logf("\n%s", s.String())
}

// twoOf is two allocations of a kind.
type twoOf struct {
	kind          string
	first, second driver.CUdeviceptr
}

const exchangeBytes = 2 << 20 // granularity of mappings

func (k *kit) memoryOfAllKinds() []twoOf {
	k.Helper()
	d := k.C.Driver()
	alloc := func() (p driver.CUdeviceptr) {
		k.OK(d.CuMemAlloc(&p, exchangeBytes))
		k.Cleanup(func() { k.OK(d.CuMemFree(p)) })
		return p
	}
	pooled := func() (p driver.CUdeviceptr) {
		k.OK(d.CuMemAllocAsync(&p, exchangeBytes, k.S.Raw()))
		k.Cleanup(func() { k.OK(d.CuMemFree(p)) })
		return p
	}
	managed := func() (p driver.CUdeviceptr) {
		k.OK(d.CuMemAllocManaged(&p, exchangeBytes, uint32(cu.CU_MEM_ATTACH_GLOBAL)))
		k.Cleanup(func() { k.OK(d.CuMemFree(p)) })
		return p
	}
	host := func() (p driver.CUdeviceptr) {
		var h unsafe.Pointer
		k.OK(d.CuMemHostAlloc(&h, exchangeBytes, cu.CU_MEMHOSTALLOC_DEVICEMAP))
		k.Cleanup(func() { k.OK(d.CuMemFreeHost(h)) })
		k.OK(d.CuMemHostGetDevicePointer(&p, h, 0))
		return p
	}
	all := []twoOf{{ofAlloc, alloc(), alloc()}, {ofMap, k.mapped(), k.mapped()}, {ofPool, pooled(), pooled()}}
	if ok, err := k.C.Device().Attribute(cu.CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY); err == nil && ok != 0 {
		all = append(all, twoOf{ofManaged, managed(), managed()})
	}
	all = append(all, twoOf{ofHost, host(), host()})
	k.Wait(k.S)
	return all
}

// mapped returns memory with its own address reservation.
func (k *kit) mapped() (p driver.CUdeviceptr) {
	k.Helper()
	d := k.C.Driver()
	where := cu.CUmemLocation{Type: cu.CU_MEM_LOCATION_TYPE_DEVICE, Id: int32(k.C.Device().Raw())}
	prop := cu.CUmemAllocationProp{Type: cu.CU_MEM_ALLOCATION_TYPE_PINNED, Location: where}
	access := cu.CUmemAccessDesc{Location: where, Flags: cu.CU_MEM_ACCESS_FLAGS_PROT_READWRITE}
	var handle cu.CUmemGenericAllocationHandle
	k.OK(d.CuMemAddressReserve(&p, exchangeBytes, 0, 0, 0))
	k.Cleanup(func() { k.OK(d.CuMemAddressFree(p, exchangeBytes)) })
	k.OK(d.CuMemCreate(&handle, exchangeBytes, &prop, 0))
	k.OK(errors.Join(d.CuMemMap(p, exchangeBytes, 0, handle, 0), d.CuMemRelease(handle)))
	k.Cleanup(func() { k.OK(d.CuMemUnmap(p, exchangeBytes)) })
	k.OK(d.CuMemSetAccess(p, exchangeBytes, &access, 1))
	return p
}

// spare returns the copy operand that is not exchanged.
func (k *kit) spare() driver.CUdeviceptr { return driver.CUdeviceptr(k.Memory().Ptr()) }

// rawGraph is a graph with one node.
type rawGraph struct {
	g    cu.CUgraph
	node cu.CUgraphNode
}

func (k *kit) rawGraph() (g rawGraph) {
	k.Helper()
	d := k.C.Driver()
	k.OK(d.CuGraphCreate(&g.g, 0))
	h := g.g
	k.Cleanup(func() { k.OK(d.CuGraphDestroy(h)) })
	return g
}

func copyParams(dst, src driver.CUdeviceptr) cu.CUDA_MEMCPY3D {
	return cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: src, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: dst,
		WidthInBytes: 64, Height: 1, Depth: 1,
	}
}

func fillParams(dst driver.CUdeviceptr) cu.CUDA_MEMSET_NODE_PARAMS {
	return cu.CUDA_MEMSET_NODE_PARAMS{Dst: dst, ElementSize: 4, Width: 16, Height: 1, Value: 3}
}

func (k *kit) copyGraph(dst, src driver.CUdeviceptr) rawGraph {
	k.Helper()
	g, p := k.rawGraph(), copyParams(dst, src)
	k.OK(k.C.Driver().CuGraphAddMemcpyNode(&g.node, g.g, nil, 0, &p, k.C.Raw()))
	return g
}

func (k *kit) fillGraph(dst driver.CUdeviceptr) rawGraph {
	k.Helper()
	g, p := k.rawGraph(), fillParams(dst)
	k.OK(k.C.Driver().CuGraphAddMemsetNode(&g.node, g.g, nil, 0, &p, k.C.Raw()))
	return g
}

func (k *kit) raw(g rawGraph) (x cu.CUgraphExec) {
	k.Helper()
	d := k.C.Driver()
	k.OK(d.CuGraphInstantiate(&x, g.g, 0))
	h := x
	k.Cleanup(func() { k.OK(d.CuGraphExecDestroy(h)) })
	return x
}

func (k *kit) setTagged(g rawGraph, copies cu.CUDA_MEMCPY3D) string {
	k.Helper()
	p := cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMCPY}
	*p.Memcpy() = cu.CUDA_MEMCPY_NODE_PARAMS{CopyCtx: k.C.Raw(), CopyParams: copies}
	return k.code(k.C.Driver().CuGraphExecNodeSetParams(k.raw(g), g.node, &p))
}

func (k *kit) update(old, other rawGraph) string {
	k.Helper()
	var info cu.CUgraphExecUpdateResultInfo
	err := k.C.Driver().CuGraphExecUpdate(k.raw(old), other.g, &info)
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%s: %v", k.code(err), info.Result)
}

func (k *kit) code(err error) string {
	var e *driver.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return e.Result.String()
	}
	return err.Error()
}
