package graph_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/hostcall"
)

// For each kind of node, these tests add a node, read its parameters, and set it in the graph and
// in the executable graph. After each step they check the effect.

func TestKernelNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 5))
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](n)
		k.OK(err)
		if p.GridDimX != 1 || p.BlockDimX != elems || (p.Func == 0) == (p.Kern == 0) {
			k.Errorf("parameters %+v", p)
		}
		args, err := n.KernelArgs()
		k.OK(err)
		if len(args) != 3 || binary.NativeEndian.Uint64(args[0]) != uint64(b.Ptr()) || binary.NativeEndian.Uint32(args[2]) != 5 {
			k.Errorf("arguments %v", args)
		}
		x := k.Exec(g)
		k.Run(x)
		k.Expect(b, 6)
		k.OK(n.Set(k.Launch(k.Times, b, 2)))
		args, err = n.KernelArgs()
		k.OK(err)
		if binary.NativeEndian.Uint32(args[2]) != 2 {
			k.Errorf("arguments after Set %v", args)
		}
		k.Run(k.Exec(g))
		k.Expect(b, 12)
		k.OK(x.Set(n, k.Launch(k.Plus, b, 30)))
		k.Run(x)
		k.Expect(b, 42)
	})
}

func TestNodesOfLibraryKernelsHaveNames(t *testing.T) {
	each(t, func(k *kit) {
		if !k.C.Driver().Has(cu.FnCuKernelGetName) {
			k.Skip("the driver tells no names of library kernels (since CUDA 12.3)")
		}
		text := append([]byte(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry lone() { ret; }\n"), 0)
		d := k.C.Driver()
		var lib cu.CUlibrary
		var kern cu.CUkernel
		k.OK(d.CuLibraryLoadData(&lib, unsafe.Pointer(&text[0]), nil, nil, 0, nil, nil, 0))
		defer func() { k.OK(d.CuLibraryUnload(lib)) }()
		name := []byte("lone\x00")
		k.OK(d.CuLibraryGetKernel(&kern, lib, &name[0]))
		g := k.Graph()
		p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_KERNEL}
		q := p.Kernel()
		q.Kern, q.GridDimX, q.GridDimY, q.GridDimZ, q.BlockDimX, q.BlockDimY, q.BlockDimZ = kern, 1, 1, 1, 1, 1, 1
		n, err := g.AddNode(p, nil)
		k.OK(err)
		if s := k.Snapshot(g); s.Nodes[0].Name != "lone" {
			k.Errorf("%v: no name in %+v", n, s)
		}
		k.OK(g.Close())
	})
}

func TestCopyNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		from, other, to := k.MemoryOf(3), k.MemoryOf(4), k.Memory()
		k.CloseLater(from)
		k.CloseLater(other)
		first, err := driver.CopyDevice[uint32](to, from)
		k.OK(err)
		second, err := driver.CopyDevice[uint32](to, other)
		k.OK(err)
		half, err := driver.CopyDevice[uint32](to.View(0, elems/2), from.View(0, elems/2))
		k.OK(err)
		g := k.Graph()
		n := k.Add(g, first)
		x := k.Exec(g)
		k.Run(x)
		k.Expect(to, 3)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.OK(err)
		if p.DstDevice != to.Ptr() || p.SrcDevice != from.Ptr() || p.WidthInBytes != 4*elems {
			k.Errorf("parameters %+v", p)
		}
		k.OK(n.Set(half))
		p, err = graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.OK(err)
		if p.WidthInBytes != 2*elems {
			k.Errorf("parameters after Set %+v", p)
		}
		k.OK(x.Set(n, second))
		k.Run(x)
		k.Expect(to, 4)
		k.Run(k.Exec(g))
		k.expectHalves(to, 3, 4)
	})
}

// expectHalves checks that all elements are low in the first half of b and high in the second half.
func (k *kit) expectHalves(b *driver.Buffer[uint32], low, high uint32) {
	k.Helper()
	k.Wait(k.S)
	got := make([]uint32, b.Len())
	k.OK(b.CopyTo(got))
	for i, v := range got {
		if want := map[bool]uint32{true: low, false: high}[i < len(got)/2]; v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

func (k *kit) hostMemory() *driver.HostBuffer[uint32] {
	k.Helper()
	h, err := driver.AllocHost[uint32](k.C, elems)
	k.OK(err)
	k.CloseLater(h)
	return h
}

func TestCopiesWithTheHostAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b, up, down, down2 := k.Memory(), k.hostMemory(), k.hostMemory(), k.hostMemory()
		for i := range up.Slice() {
			up.Slice()[i] = uint32(i)
		}
		upload, err := driver.Upload[uint32](b, up)
		k.OK(err)
		download, err := driver.Download[uint32](down, b)
		k.OK(err)
		download2, err := driver.Download[uint32](down2, b)
		k.OK(err)
		g := k.Graph()
		in := k.Add(g, upload)
		out := k.Add(g, download, in)
		x := k.Exec(g)
		k.Run(x)
		if !slices.Equal(down.Slice(), up.Slice()) {
			k.Errorf("%v", down.Slice())
		}
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](out)
		k.OK(err)
		if p.DstMemoryType != cu.CU_MEMORYTYPE_HOST || p.DstHost != down.HostPtr() || p.SrcDevice != b.Ptr() {
			k.Errorf("parameters %+v", p)
		}
		up.Slice()[0] = 99
		k.OK(x.Set(out, download2))
		k.Run(x)
		if down.Slice()[0] != 0 || down2.Slice()[0] != 99 {
			k.Errorf("%d, %d", down.Slice()[0], down2.Slice()[0])
		}
		up.Slice()[0] = 100
		k.OK(out.Set(download2))
		k.Run(k.Exec(g))
		if down.Slice()[0] != 0 || down2.Slice()[0] != 100 {
			k.Errorf("%d, %d", down.Slice()[0], down2.Slice()[0])
		}
	})
}

// The buffer has rows of rowBytes bytes. A copy transfers the left half of its middle two rows.
const rowBytes, rows, boxBytes, boxRows = 32, 4, 16, 2

func box(m driver.Memory) driver.Region {
	return driver.Region{Memory: m, Pitch: rowBytes, Y: 1}
}

func inBox(i int) bool { return i/8 >= 1 && i/8 < 3 && i%8 < 4 }

// expectBox checks that all elements are want inside the copied box and 1 outside.
func (k *kit) expectBox(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.Wait(k.S)
	got := make([]uint32, elems)
	k.OK(b.CopyTo(got))
	for i, v := range got {
		if w := map[bool]uint32{true: want, false: 1}[inBox(i)]; v != w {
			k.Fatalf("element %d is %d, want %d", i, v, w)
		}
	}
}

func TestTwoDimensionalCopies(t *testing.T) {
	each(t, func(k *kit) {
		a, c, to, host := k.MemoryOf(5), k.MemoryOf(6), k.Memory(), k.hostMemory()
		k.CloseLater(a)
		k.CloseLater(c)
		for i := range host.Slice() {
			host.Slice()[i] = 7
		}
		g := k.Graph()
		copyFrom := func(m driver.Memory) *driver.CopyOp {
			op, err := driver.Copy2D(box(to), box(m), boxBytes, boxRows)
			k.OK(err)
			return op
		}
		n := k.Add(g, copyFrom(a))
		x := k.Exec(g)
		k.Run(x)
		k.expectBox(to, 5)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.OK(err)
		if p.Height != boxRows || p.WidthInBytes != boxBytes || p.SrcPitch != rowBytes {
			k.Errorf("parameters %+v", p)
		}
		k.OK(n.Set(copyFrom(c)))
		k.Run(k.Exec(g))
		k.expectBox(to, 6)
		// In an executable graph, CUDA can only set copies of one row.
		err = x.Set(n, copyFrom(c))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "one row") {
			k.Errorf("set of a 2D copy in the executable: %v", err)
		}
		k.OK(n.Set(copyFrom(host)))
		k.Run(k.Exec(g))
		k.expectBox(to, 7)
	})
}

func TestThreeDimensionalCopies(t *testing.T) {
	each(t, func(k *kit) {
		// The buffers have two layers of two rows of eight elements. The copy writes the rows of
		// one buffer's second layer to the first layer of another buffer.
		a, c, to := k.MemoryOf(5), k.MemoryOf(6), k.Memory()
		k.CloseLater(a)
		k.CloseLater(c)
		whole := func(m driver.Memory) driver.Region {
			return driver.Region{Memory: m, Pitch: rowBytes, Rows: 2}
		}
		op := func(m driver.Memory) *driver.CopyOp {
			o, err := driver.Copy3D(whole(to), whole(m), boxBytes, 2, 2)
			k.OK(err)
			return o
		}
		g := k.Graph()
		n := k.Add(g, op(a))
		k.Run(k.Exec(g))
		check := func(want uint32) {
			k.Helper()
			got := make([]uint32, elems)
			k.OK(to.CopyTo(got))
			for i, v := range got {
				if w := map[bool]uint32{true: want, false: 1}[i%8 < 4]; v != w {
					k.Fatalf("element %d is %d, want %d", i, v, w)
				}
			}
		}
		check(5)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.OK(err)
		if p.Depth != 2 || p.Height != 2 {
			k.Errorf("parameters %+v", p)
		}
		k.OK(n.Set(op(c)))
		k.Run(k.Exec(g))
		check(6)
	})
}

func TestCopiesWithArrays(t *testing.T) {
	each(t, func(k *kit) {
		a, err := k.C.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Height: rows, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1})
		k.OK(err)
		from, to, host := k.MemoryOf(5), k.Memory(), k.hostMemory()
		k.CloseLater(from)
		in, err := driver.Copy2D(driver.Region{Memory: a}, driver.Region{Memory: from, Pitch: rowBytes}, rowBytes, rows)
		k.OK(err)
		out, err := driver.Copy2D(box(to), driver.Region{Memory: a, Y: 1}, boxBytes, boxRows)
		k.OK(err)
		toHost, err := driver.Copy2D(driver.Region{Memory: host, Pitch: rowBytes}, driver.Region{Memory: a}, rowBytes, rows)
		k.OK(err)
		g := k.Graph()
		n := k.Add(g, in)
		last := k.Add(g, out, n)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](last)
		k.OK(err)
		if p.SrcMemoryType != cu.CU_MEMORYTYPE_ARRAY || p.SrcArray != a.Raw() {
			k.Errorf("parameters %+v", p)
		}
		k.OK(a.Close()) // the graph must retain a
		x := k.Exec(g)
		k.Run(x)
		k.expectBox(to, 5)
		if err := last.Set(toHost); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("set to an array that was closed: %v", err)
		}
		if _, err := driver.Copy2D(driver.Region{Memory: host, Pitch: rowBytes}, driver.Region{Memory: a}, rowBytes, rows); !errors.Is(err, driver.ErrClosed) {
			k.Errorf("copy of an array that was closed: %v", err)
		}
	})
}

func TestArraysCopyToTheHostAndOneAnother(t *testing.T) {
	each(t, func(k *kit) {
		desc := cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Height: 2, Depth: 2, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1}
		a, err := k.C.NewArray(desc)
		k.OK(err)
		k.CloseLater(a)
		b, err := k.C.NewArray(desc)
		k.OK(err)
		k.CloseLater(b)
		up, down := k.hostMemory(), k.hostMemory()
		for i := range up.Slice() {
			up.Slice()[i] = uint32(i)
		}
		flat := func(h *driver.HostBuffer[uint32]) driver.Region {
			return driver.Region{Memory: h, Pitch: rowBytes, Rows: 2}
		}
		var ops []driver.Op
		for _, pair := range [][2]driver.Region{{{Memory: a}, flat(up)}, {{Memory: b}, {Memory: a}}, {flat(down), {Memory: b}}} {
			op, err := driver.Copy3D(pair[0], pair[1], rowBytes, 2, 2)
			k.OK(err)
			ops = append(ops, op)
		}
		g := k.Graph()
		_, err = g.AddBatch(nil, graph.Chain(ops))
		k.OK(err)
		k.Run(k.Exec(g))
		if !slices.Equal(down.Slice(), up.Slice()) {
			k.Errorf("%v", down.Slice())
		}
		_, err = driver.Copy3D(driver.Region{Memory: b, Layer: 1}, driver.Region{Memory: a}, rowBytes, 2, 2)
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("a box outside the array: %v", err)
		}
	})
}

func TestFillNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		fillNodes[uint8](k, 0x21, 0x43)
		fillNodes[uint16](k, 0x4321, 0x8765)
		fillNodes[uint32](k, 0x87654321, 7)
	})
}

// fillNodes tests fills with elements of one size, of the whole buffer and of a box of several
// rows.
func fillNodes[T uint8 | uint16 | uint32](k *kit, v, w T) {
	k.Helper()
	const n, pitch, width, height = 24, 8, 3, 2
	b, err := driver.Alloc[T](k.C, n)
	k.OK(err)
	k.CloseLater(b)
	size := uint32(b.Bytes()) / n
	look := func(want func(i int) T) {
		k.Helper()
		got := make([]T, n)
		k.OK(b.CopyTo(got))
		for i := range got {
			if got[i] != want(i) {
				k.Fatalf("elements of %d bytes: %v", size, got)
			}
		}
	}
	all := func(v T) func(int) T { return func(int) T { return v } }
	inner := func(in, out T) func(int) T {
		return func(i int) T {
			if i/pitch < height && i%pitch < width {
				return in
			}
			return out
		}
	}
	flat := func(v T) *driver.FillOp {
		op, err := driver.Fill[T](b, v)
		k.OK(err)
		return op
	}
	boxed := func(v T) *driver.FillOp {
		op, err := driver.Fill2D[T](b, v, pitch, width, height)
		k.OK(err)
		return op
	}
	g := k.Graph()
	node := k.Add(g, flat(v))
	p, err := graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](node)
	k.OK(err)
	if p.Dst != b.Ptr() || p.ElementSize != size || p.Width != n || p.Height != 1 {
		k.Errorf("parameters %+v", p)
	}
	x := k.Exec(g)
	k.Run(x)
	look(all(v))
	k.OK(x.Set(node, flat(w)))
	k.Run(x)
	look(all(w))
	k.OK(node.Set(boxed(v)))
	p, err = graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](node)
	k.OK(err)
	if p.Pitch != pitch*uintptr(size) || p.Width != width || p.Height != height {
		k.Errorf("parameters of several rows %+v", p)
	}
	y := k.Exec(g)
	k.Run(y)
	look(inner(v, w))
	k.OK(y.Set(node, boxed(w+1)))
	k.Run(y)
	look(inner(w+1, w))
	if err := x.Set(node, boxed(v)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "rows") {
		k.Errorf("several rows where there was one: %v", err)
	}
}

func TestHostNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		var calls [3]int
		f := func(i int) *driver.HostFunc {
			h, err := driver.NewHostFunc(k.C, func() { calls[i]++ })
			k.OK(err)
			return h
		}
		first, second, third := f(0), f(1), f(2)
		g := k.Graph()
		n := k.Add(g, first)
		p, err := graph.ParamsOf[cu.CUDA_HOST_NODE_PARAMS](n)
		k.OK(err)
		if p != first.Uses().Node.(*hostcall.Call).NodeParams() {
			k.Errorf("parameters %+v", p)
		}
		x := k.Exec(g)
		k.OK(x.Set(n, second))
		k.Run(x)
		k.OK(n.Set(third))
		k.Run(k.Exec(g))
		if calls != [3]int{0, 1, 1} {
			k.Errorf("calls %v", calls)
		}
	})
}

func TestEventNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		var events [3]*driver.Event
		for i := range events {
			e, err := k.C.NewEvent(driver.WithTiming())
			k.OK(err)
			k.CloseLater(e)
			events[i] = e
		}
		g := k.Graph()
		n := k.Add(g, driver.RecordOp(events[0]))
		w := k.Add(g, driver.WaitOp(events[0]), n)
		for _, node := range []graph.Node{n, w} {
			if e, err := graph.ParamsOf[driver.CUevent](node); err != nil || e != events[0].Raw() {
				k.Errorf("%v is about %v, %v", node, e, err)
			}
		}
		x := k.Exec(g)
		k.OK(x.Set(n, driver.RecordOp(events[1])))
		k.OK(x.Set(w, driver.WaitOp(events[1])))
		k.Run(x)
		k.recorded(events[1], true)
		k.recorded(events[0], false)
		k.OK(n.Set(driver.RecordOp(events[2])))
		k.OK(w.Set(driver.WaitOp(events[2])))
		for _, node := range []graph.Node{n, w} {
			if e, err := graph.ParamsOf[driver.CUevent](node); err != nil || e != events[2].Raw() {
				k.Errorf("%v is about %v, %v", node, e, err)
			}
		}
		k.Run(k.Exec(g))
		k.recorded(events[2], true)
	})
}

// recorded checks whether an event with timing was recorded. An unrecorded event returns no time.
func (k *kit) recorded(e *driver.Event, want bool) {
	k.Helper()
	if _, err := e.Elapsed(e); (err == nil) != want {
		k.Errorf("%v: recorded %v, want %v (%v)", e, err == nil, want, err)
	}
}

func TestMemoryOperationNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		wide, err := driver.Alloc[uint64](k.C, 4)
		k.OK(err)
		k.CloseLater(wide)
		k.OK(wide.Fill(0))
		op := func(v uint32) *driver.MemOp {
			o, err := driver.NewMemOp(k.C,
				driver.WriteWord[uint32](b, 3, v, 0),
				driver.WriteWord[uint64](wide, 1, uint64(v)<<32, 0),
				driver.WaitWord[uint32](b, 3, v, cu.CU_STREAM_WAIT_VALUE_EQ))
			k.OK(err)
			return o
		}
		g := k.Graph()
		n := k.Add(g, op(17))
		k.Add(g, k.Launch(k.Plus, b, 1), n)
		p, err := graph.ParamsOf[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS](n)
		k.OK(err)
		if p.Count != 3 || p.Ctx != k.C.Raw() || p.ParamArray.WriteValue().Address != b.Ptr()+12 ||
			*p.ParamArray.WriteValue().Value64()&0xffffffff != 17 {
			k.Errorf("parameters %+v", p)
		}
		x := k.Exec(g)
		look := func(want uint32) {
			k.Helper()
			got, gotWide := make([]uint32, elems), make([]uint64, 4)
			k.OK(b.CopyTo(got))
			k.OK(wide.CopyTo(gotWide))
			if got[3] != want+1 || gotWide[1] != uint64(want)<<32 {
				k.Errorf("%d and %#x, want %d", got[3], gotWide[1], want)
			}
		}
		k.Run(x)
		look(17)
		k.OK(x.Set(n, op(21)))
		k.Run(x)
		look(21)
		k.OK(n.Set(op(33)))
		k.Run(k.Exec(g))
		look(33)
		fewer, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 1, 0))
		k.OK(err)
		if err := x.Set(n, fewer); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "steps") {
			k.Errorf("another number of steps in the executable: %v", err)
		}
	})
}

func TestMemoryOperationsInBatchesAndPlans(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 0, 10, 0))
		k.OK(err)
		ops := []driver.Op{write, k.Launch(k.Plus, b, 1)}
		g := k.Graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.OK(err)
		k.AddPlan(g, k.ChainPlan(ops...), nodes[1])
		k.Run(k.Exec(g))
		got := make([]uint32, elems)
		k.OK(b.CopyTo(got))
		if got[0] != 11 || got[1] != 3 {
			k.Errorf("%v", got[:2])
		}
	})
}
