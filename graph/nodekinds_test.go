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
)

// Each sort of node is added, read, set on the node and set on the executable,
// and what it does is looked at each time.

func TestKernelNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.launch(k.plus, b, 5))
		p, err := graph.ParamsOf[cu.CUDA_KERNEL_NODE_PARAMS](n)
		k.ok(err)
		if p.GridDimX != 1 || p.BlockDimX != elems || (p.Func == 0) == (p.Kern == 0) {
			k.Errorf("parameters %+v", p)
		}
		args, err := n.KernelArgs()
		k.ok(err)
		if len(args) != 3 || binary.NativeEndian.Uint64(args[0]) != uint64(b.Ptr()) || binary.NativeEndian.Uint32(args[2]) != 5 {
			k.Errorf("arguments %v", args)
		}
		x := k.exec(g)
		k.run(x)
		k.expect(b, 6)
		k.ok(n.Set(k.launch(k.times, b, 2)))
		args, err = n.KernelArgs()
		k.ok(err)
		if binary.NativeEndian.Uint32(args[2]) != 2 {
			k.Errorf("arguments after Set %v", args)
		}
		k.run(k.exec(g))
		k.expect(b, 12)
		k.ok(x.Set(n, k.launch(k.plus, b, 30)))
		k.run(x)
		k.expect(b, 42)
	})
}

// A node of a library's kernel that was added with raw parameters has the name
// that the driver tells.
func TestNodesOfLibraryKernelsHaveNames(t *testing.T) {
	each(t, func(k *kit) {
		if !k.c.Driver().Has(cu.FnCuKernelGetName) {
			k.Skip("the driver tells no names of library kernels (since CUDA 12.3)")
		}
		text := append([]byte(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry lone() { ret; }\n"), 0)
		d := k.c.Driver()
		var lib cu.CUlibrary
		var kern cu.CUkernel
		k.ok(d.CuLibraryLoadData(&lib, unsafe.Pointer(&text[0]), nil, nil, 0, nil, nil, 0))
		defer func() { k.ok(d.CuLibraryUnload(lib)) }()
		name := []byte("lone\x00")
		k.ok(d.CuLibraryGetKernel(&kern, lib, &name[0]))
		g := k.graph()
		p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_KERNEL}
		q := p.Kernel()
		q.Kern, q.GridDimX, q.GridDimY, q.GridDimZ, q.BlockDimX, q.BlockDimY, q.BlockDimZ = kern, 1, 1, 1, 1, 1, 1
		n, err := g.AddNode(p, nil)
		k.ok(err)
		if s := k.snapshot(g); s.Nodes[0].Name != "lone" {
			k.Errorf("%v: no name in %+v", n, s)
		}
		k.ok(g.Close())
	})
}

func TestCopyNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		from, other, to := k.memoryOf(3), k.memoryOf(4), k.memory()
		k.closeLater(from)
		k.closeLater(other)
		first, err := driver.CopyDevice[uint32](to, from)
		k.ok(err)
		second, err := driver.CopyDevice[uint32](to, other)
		k.ok(err)
		half, err := driver.CopyDevice[uint32](to.View(0, elems/2), from.View(0, elems/2))
		k.ok(err)
		g := k.graph()
		n := k.add(g, first)
		x := k.exec(g)
		k.run(x)
		k.expect(to, 3)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.ok(err)
		if p.DstDevice != to.Ptr() || p.SrcDevice != from.Ptr() || p.WidthInBytes != 4*elems {
			k.Errorf("parameters %+v", p)
		}
		k.ok(n.Set(half))
		p, err = graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.ok(err)
		if p.WidthInBytes != 2*elems {
			k.Errorf("parameters after Set %+v", p)
		}
		k.ok(x.Set(n, second))
		k.run(x)
		k.expect(to, 4)
		k.run(k.exec(g))
		k.expectHalves(to, 3, 4)
	})
}

// expectHalves is expect for memory whose halves differ.
func (k *kit) expectHalves(b *driver.Buffer[uint32], low, high uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if want := map[bool]uint32{true: low, false: high}[i < len(got)/2]; v != want {
			k.Fatalf("element %d is %d, want %d", i, v, want)
		}
	}
}

func (k *kit) hostMemory() *driver.HostBuffer[uint32] {
	k.Helper()
	h, err := driver.AllocHost[uint32](k.c, elems)
	k.ok(err)
	k.closeLater(h)
	return h
}

func TestCopiesWithTheHostAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b, up, down, down2 := k.memory(), k.hostMemory(), k.hostMemory(), k.hostMemory()
		for i := range up.Slice() {
			up.Slice()[i] = uint32(i)
		}
		upload, err := driver.Upload[uint32](b, up)
		k.ok(err)
		download, err := driver.Download[uint32](down, b)
		k.ok(err)
		download2, err := driver.Download[uint32](down2, b)
		k.ok(err)
		g := k.graph()
		in := k.add(g, upload)
		out := k.add(g, download, in)
		x := k.exec(g)
		k.run(x)
		if !slices.Equal(down.Slice(), up.Slice()) {
			k.Errorf("%v", down.Slice())
		}
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](out)
		k.ok(err)
		if p.DstMemoryType != cu.CU_MEMORYTYPE_HOST || p.DstHost != down.HostPtr() || p.SrcDevice != b.Ptr() {
			k.Errorf("parameters %+v", p)
		}
		up.Slice()[0] = 99
		k.ok(x.Set(out, download2))
		k.run(x)
		if down.Slice()[0] != 0 || down2.Slice()[0] != 99 {
			k.Errorf("%d, %d", down.Slice()[0], down2.Slice()[0])
		}
		up.Slice()[0] = 100
		k.ok(out.Set(download2))
		k.run(k.exec(g))
		if down.Slice()[0] != 0 || down2.Slice()[0] != 100 {
			k.Errorf("%d, %d", down.Slice()[0], down2.Slice()[0])
		}
	})
}

// rows is memory of four rows of eight elements, of which a copy takes the left
// half of the two in the middle.
const rowBytes, rows, boxBytes, boxRows = 32, 4, 16, 2

func box(m driver.Memory) driver.Region {
	return driver.Region{Memory: m, Pitch: rowBytes, Y: 1}
}

func inBox(i int) bool { return i/8 >= 1 && i/8 < 3 && i%8 < 4 }

// expectBox compares memory with one value inside the box and ones outside.
func (k *kit) expectBox(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, elems)
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if w := map[bool]uint32{true: want, false: 1}[inBox(i)]; v != w {
			k.Fatalf("element %d is %d, want %d", i, v, w)
		}
	}
}

func TestTwoDimensionalCopies(t *testing.T) {
	each(t, func(k *kit) {
		a, c, to, host := k.memoryOf(5), k.memoryOf(6), k.memory(), k.hostMemory()
		k.closeLater(a)
		k.closeLater(c)
		for i := range host.Slice() {
			host.Slice()[i] = 7
		}
		g := k.graph()
		copyFrom := func(m driver.Memory) *driver.CopyOp {
			op, err := driver.Copy2D(box(to), box(m), boxBytes, boxRows)
			k.ok(err)
			return op
		}
		n := k.add(g, copyFrom(a))
		x := k.exec(g)
		k.run(x)
		k.expectBox(to, 5)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.ok(err)
		if p.Height != boxRows || p.WidthInBytes != boxBytes || p.SrcPitch != rowBytes {
			k.Errorf("parameters %+v", p)
		}
		k.ok(n.Set(copyFrom(c)))
		k.run(k.exec(g))
		k.expectBox(to, 6)
		// CUDA sets only copies of one row in an executable graph.
		err = x.Set(n, copyFrom(c))
		if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "one row") {
			k.Errorf("set of a 2D copy in the executable: %v", err)
		}
		k.ok(n.Set(copyFrom(host)))
		k.run(k.exec(g))
		k.expectBox(to, 7)
	})
}

func TestThreeDimensionalCopies(t *testing.T) {
	each(t, func(k *kit) {
		// Two layers of two rows of eight elements; the second layer's rows are
		// copied to the first layer's of the other.
		a, c, to := k.memoryOf(5), k.memoryOf(6), k.memory()
		k.closeLater(a)
		k.closeLater(c)
		whole := func(m driver.Memory) driver.Region {
			return driver.Region{Memory: m, Pitch: rowBytes, Rows: 2}
		}
		op := func(m driver.Memory) *driver.CopyOp {
			o, err := driver.Copy3D(whole(to), whole(m), boxBytes, 2, 2)
			k.ok(err)
			return o
		}
		g := k.graph()
		n := k.add(g, op(a))
		k.run(k.exec(g))
		check := func(want uint32) {
			k.Helper()
			got := make([]uint32, elems)
			k.ok(to.CopyTo(got))
			for i, v := range got {
				if w := map[bool]uint32{true: want, false: 1}[i%8 < 4]; v != w {
					k.Fatalf("element %d is %d, want %d", i, v, w)
				}
			}
		}
		check(5)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](n)
		k.ok(err)
		if p.Depth != 2 || p.Height != 2 {
			k.Errorf("parameters %+v", p)
		}
		k.ok(n.Set(op(c)))
		k.run(k.exec(g))
		check(6)
	})
}

func TestCopiesWithArrays(t *testing.T) {
	each(t, func(k *kit) {
		a, err := k.c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Height: rows, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1})
		k.ok(err)
		from, to, host := k.memoryOf(5), k.memory(), k.hostMemory()
		k.closeLater(from)
		in, err := driver.Copy2D(driver.Region{Memory: a}, driver.Region{Memory: from, Pitch: rowBytes}, rowBytes, rows)
		k.ok(err)
		out, err := driver.Copy2D(box(to), driver.Region{Memory: a, Y: 1}, boxBytes, boxRows)
		k.ok(err)
		toHost, err := driver.Copy2D(driver.Region{Memory: host, Pitch: rowBytes}, driver.Region{Memory: a}, rowBytes, rows)
		k.ok(err)
		g := k.graph()
		n := k.add(g, in)
		last := k.add(g, out, n)
		p, err := graph.ParamsOf[cu.CUDA_MEMCPY3D](last)
		k.ok(err)
		if p.SrcMemoryType != cu.CU_MEMORYTYPE_ARRAY || p.SrcArray != a.Raw() {
			k.Errorf("parameters %+v", p)
		}
		k.ok(a.Close()) // the graph keeps it
		x := k.exec(g)
		k.run(x)
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
		a, err := k.c.NewArray(desc)
		k.ok(err)
		k.closeLater(a)
		b, err := k.c.NewArray(desc)
		k.ok(err)
		k.closeLater(b)
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
			k.ok(err)
			ops = append(ops, op)
		}
		g := k.graph()
		_, err = g.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		k.run(k.exec(g))
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

// fillNodes fills elements of one size: all, and a box of several rows.
func fillNodes[T uint8 | uint16 | uint32](k *kit, v, w T) {
	k.Helper()
	const n, pitch, width, height = 24, 8, 3, 2
	b, err := driver.Alloc[T](k.c, n)
	k.ok(err)
	k.closeLater(b)
	size := uint32(b.Bytes()) / n
	look := func(want func(i int) T) {
		k.Helper()
		got := make([]T, n)
		k.ok(b.CopyTo(got))
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
		k.ok(err)
		return op
	}
	boxed := func(v T) *driver.FillOp {
		op, err := driver.Fill2D[T](b, v, pitch, width, height)
		k.ok(err)
		return op
	}
	g := k.graph()
	node := k.add(g, flat(v))
	p, err := graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](node)
	k.ok(err)
	if p.Dst != b.Ptr() || p.ElementSize != size || p.Width != n || p.Height != 1 {
		k.Errorf("parameters %+v", p)
	}
	x := k.exec(g)
	k.run(x)
	look(all(v))
	k.ok(x.Set(node, flat(w)))
	k.run(x)
	look(all(w))
	k.ok(node.Set(boxed(v)))
	p, err = graph.ParamsOf[cu.CUDA_MEMSET_NODE_PARAMS](node)
	k.ok(err)
	if p.Pitch != pitch*uintptr(size) || p.Width != width || p.Height != height {
		k.Errorf("parameters of several rows %+v", p)
	}
	y := k.exec(g)
	k.run(y)
	look(inner(v, w))
	k.ok(y.Set(node, boxed(w+1)))
	k.run(y)
	look(inner(w+1, w))
	if err := x.Set(node, boxed(v)); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "rows") {
		k.Errorf("several rows where there was one: %v", err)
	}
}

func TestHostNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		var calls [3]int
		f := func(i int) *driver.HostFunc {
			h, err := driver.NewHostFunc(k.c, func() { calls[i]++ })
			k.ok(err)
			return h
		}
		first, second, third := f(0), f(1), f(2)
		g := k.graph()
		n := k.add(g, first)
		p, err := graph.ParamsOf[cu.CUDA_HOST_NODE_PARAMS](n)
		k.ok(err)
		if p != first.NodeParams() {
			k.Errorf("parameters %+v", p)
		}
		x := k.exec(g)
		k.ok(x.Set(n, second))
		k.run(x)
		k.ok(n.Set(third))
		k.run(k.exec(g))
		if calls != [3]int{0, 1, 1} {
			k.Errorf("calls %v", calls)
		}
	})
}

func TestEventNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		var events [3]*driver.Event
		for i := range events {
			e, err := k.c.NewEvent(driver.WithTiming())
			k.ok(err)
			k.closeLater(e)
			events[i] = e
		}
		g := k.graph()
		n := k.add(g, driver.RecordOp(events[0]))
		w := k.add(g, driver.WaitOp(events[0]), n)
		for _, node := range []graph.Node{n, w} {
			if e, err := graph.ParamsOf[driver.CUevent](node); err != nil || e != events[0].Raw() {
				k.Errorf("%v is about %v, %v", node, e, err)
			}
		}
		x := k.exec(g)
		k.ok(x.Set(n, driver.RecordOp(events[1])))
		k.ok(x.Set(w, driver.WaitOp(events[1])))
		k.run(x)
		k.recorded(events[1], true)
		k.recorded(events[0], false)
		k.ok(n.Set(driver.RecordOp(events[2])))
		k.ok(w.Set(driver.WaitOp(events[2])))
		for _, node := range []graph.Node{n, w} {
			if e, err := graph.ParamsOf[driver.CUevent](node); err != nil || e != events[2].Raw() {
				k.Errorf("%v is about %v, %v", node, e, err)
			}
		}
		k.run(k.exec(g))
		k.recorded(events[2], true)
	})
}

// recorded looks whether an event with timing happened: else it has no time.
func (k *kit) recorded(e *driver.Event, want bool) {
	k.Helper()
	if _, err := e.Elapsed(e); (err == nil) != want {
		k.Errorf("%v: recorded %v, want %v (%v)", e, err == nil, want, err)
	}
}

func TestMemoryOperationNodesAreAddedReadAndSet(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		wide, err := driver.Alloc[uint64](k.c, 4)
		k.ok(err)
		k.closeLater(wide)
		k.ok(wide.Fill(0))
		op := func(v uint32) *driver.MemOp {
			o, err := driver.NewMemOp(k.c,
				driver.WriteWord[uint32](b, 3, v, 0),
				driver.WriteWord[uint64](wide, 1, uint64(v)<<32, 0),
				driver.WaitWord[uint32](b, 3, v, cu.CU_STREAM_WAIT_VALUE_EQ))
			k.ok(err)
			return o
		}
		g := k.graph()
		n := k.add(g, op(17))
		k.add(g, k.launch(k.plus, b, 1), n)
		p, err := graph.ParamsOf[cu.CUDA_BATCH_MEM_OP_NODE_PARAMS](n)
		k.ok(err)
		if p.Count != 3 || p.Ctx != k.c.Raw() || p.ParamArray.WriteValue().Address != b.Ptr()+12 ||
			*p.ParamArray.WriteValue().Value64()&0xffffffff != 17 {
			k.Errorf("parameters %+v", p)
		}
		x := k.exec(g)
		look := func(want uint32) {
			k.Helper()
			got, gotWide := make([]uint32, elems), make([]uint64, 4)
			k.ok(b.CopyTo(got))
			k.ok(wide.CopyTo(gotWide))
			if got[3] != want+1 || gotWide[1] != uint64(want)<<32 {
				k.Errorf("%d and %#x, want %d", got[3], gotWide[1], want)
			}
		}
		k.run(x)
		look(17)
		k.ok(x.Set(n, op(21)))
		k.run(x)
		look(21)
		k.ok(n.Set(op(33)))
		k.run(k.exec(g))
		look(33)
		fewer, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 1, 0))
		k.ok(err)
		if err := x.Set(n, fewer); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "steps") {
			k.Errorf("another number of steps in the executable: %v", err)
		}
	})
}

func TestMemoryOperationsInBatchesAndPlans(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		write, err := driver.NewMemOp(k.c, driver.WriteWord[uint32](b, 0, 10, 0))
		k.ok(err)
		ops := []driver.Op{write, k.launch(k.plus, b, 1)}
		g := k.graph()
		nodes, err := g.AddBatch(nil, graph.Chain(ops))
		k.ok(err)
		k.addPlan(g, k.chainPlan(ops...), nodes[1])
		k.run(k.exec(g))
		got := make([]uint32, elems)
		k.ok(b.CopyTo(got))
		if got[0] != 11 || got[1] != 3 {
			k.Errorf("%v", got[:2])
		}
	})
}
