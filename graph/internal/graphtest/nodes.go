package graphtest

import (
	"context"
	"errors"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph"
)

// Alloc adds a node that allocates memory for Elems elements.
func (k *Kit) Alloc(g *graph.Graph, deps ...graph.Node) (*driver.Buffer[uint32], graph.Node) {
	k.Helper()
	op, err := driver.NewAlloc[uint32](k.C, nil, Elems)
	k.OK(err)
	b, n, err := graph.AddAlloc(g, op, deps...)
	k.OK(err)
	k.CloseLater(b)
	return b, n
}

// Fill adds a node that fills memory with v.
func (k *Kit) Fill(g *graph.Graph, b driver.MemoryOf[uint32], v uint32, deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.Fill(b, v)
	k.OK(err)
	return k.Add(g, op, deps...)
}

func (k *Kit) CopyNode(g *graph.Graph, dst, src driver.MemoryOf[uint32], deps ...graph.Node) graph.Node {
	k.Helper()
	op, err := driver.CopyDevice(dst, src)
	k.OK(err)
	return k.Add(g, op, deps...)
}

// ExpectReason checks that err matches code and contains the given words.
func (k *Kit) ExpectReason(what string, err error, code driver.CUresult, words ...string) {
	k.Helper()
	if !errors.Is(err, code) {
		k.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			k.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

// Leaving returns a graph that allocates memory, fills it with v and does not free it.
func (k *Kit) Leaving(v uint32) (*graph.Graph, *driver.Buffer[uint32]) {
	k.Helper()
	g := k.Graph()
	b, n := k.Alloc(g)
	k.Fill(g, b, v, n)
	return g, b
}

// Words returns device memory with the values v.
func (k *Kit) Words(v ...uint32) *driver.Buffer[uint32] {
	k.Helper()
	b, err := driver.AllocFrom(k.C, v)
	k.OK(err)
	k.CloseLater(b)
	return b
}

func (k *Kit) Cond(g *graph.Graph, opts ...graph.CondOption) graph.Cond {
	k.Helper()
	c, err := g.NewCond(opts...)
	k.OK(err)
	return c
}

// Op returns a function that checks the error of a call that creates an operation, and returns the
// operation.
func Op[T any](k *Kit) func(o T, err error) T {
	return func(o T, err error) T {
		k.Helper()
		k.OK(err)
		return o
	}
}

func (k *Kit) Op(l *driver.Launch, err error) *driver.Launch {
	k.Helper()
	k.OK(err)
	return l
}

func (k *Kit) AddIf(g *graph.Graph, c graph.Cond, deps ...graph.Node) (graph.Node, *graph.Graph) {
	k.Helper()
	n, body, err := g.AddIf(c, deps...)
	k.OK(err)
	return n, body
}

func (k *Kit) AddWhile(g *graph.Graph, c graph.Cond, deps ...graph.Node) (graph.Node, *graph.Graph) {
	k.Helper()
	n, body, err := g.AddWhile(c, deps...)
	k.OK(err)
	return n, body
}

// Bound returns an exec that first runs plus and then times on b, with the graph's nodes and
// launches.
func (k *Kit) Bound(b *driver.Buffer[uint32]) (x *graph.Exec, plus, times graph.Node, ops [2]*driver.Launch) {
	k.Helper()
	g := k.Graph()
	ops = [2]*driver.Launch{k.Launch(k.Plus, b, 0), k.Launch(k.Times, b, 1)}
	plus = k.Add(g, ops[0])
	times = k.Add(g, ops[1], plus)
	return k.Exec(g), plus, times, ops
}

func Bind[T any](k *Kit, bs *graph.Bindings, n graph.Node, l *driver.Launch, name string) graph.Param[T] {
	k.Helper()
	p, err := graph.BindName[T](bs, n, l, name)
	k.OK(err)
	return p
}

func (k *Kit) SumOf(d, a, b *driver.Buffer[uint32]) *driver.Launch {
	k.Helper()
	l, err := k.Sum.Prepare(Config, d, a, b, uint32(Elems))
	k.OK(err)
	return l
}

// FillParams returns the tagged parameters of a fill of all of b.
func FillParams(b *driver.Buffer[uint32], v uint32) *cu.CUgraphNodeParams {
	p := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_MEMSET}
	m := p.Memset()
	m.Dst, m.Value, m.ElementSize, m.Width, m.Height = b.Ptr(), v, 4, Elems, 1
	m.Pitch, m.Ctx = 4*Elems, b.Context().Raw()
	return p
}

// Used trims unused graph memory and returns the number of bytes that graphs still have allocated.
func (k *Kit) Used() uint64 {
	k.Helper()
	k.OK(k.C.Synchronize(context.Background()))
	k.OK(k.C.Device().TrimGraphMem())
	s, err := k.C.Device().GraphMemStats()
	k.OK(err)
	return s.Used
}
