package dataflow_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/dataflow"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/uses"
)

// randomWork generates operations on parts of a few buffers: kernels with and without declarations,
// copies, fills, and boxes of pitched memory.
type randomWork struct {
	*kit
	*rand.Rand
	bufs []*driver.Buffer[uint32]
}

func newRandomWork(k *kit, seed uint64) *randomWork {
	k.Helper()
	w := &randomWork{k, rand.New(rand.NewPCG(seed, 7)), nil}
	for range 4 {
		w.bufs = append(w.bufs, k.Memory())
	}
	return w
}

func (w *randomWork) part(n int) driver.View[uint32] {
	at := w.IntN(elems - n + 1)
	return w.bufs[w.IntN(len(w.bufs))].View(at, at+n)
}

func (w *randomWork) op() driver.Op {
	w.Helper()
	for {
		op, err := w.try()
		if errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) { // an overlapping copy within one buffer
			continue
		}
		w.OK(err)
		return op
	}
}

func (w *randomWork) try() (driver.Op, error) {
	n := 1 + w.IntN(8)
	switch w.IntN(7) {
	case 0:
		return w.Plus.Prepare(config, w.part(n), uint32(n), uint32(w.IntN(5)))
	case 1:
		return w.Times.Prepare(config, driver.InOut(w.part(n)), uint32(n), uint32(1+w.IntN(5)))
	case 2:
		return w.sumOf(w.part(n), w.part(n), w.part(n))
	case 3:
		return driver.Fill[uint32](w.part(n), uint32(w.IntN(9)))
	case 4:
		return driver.Fill2D[uint32](w.part(24), uint32(w.IntN(9)), 8, 1+w.IntN(4), 3)
	case 5:
		return driver.CopyDevice[uint32](w.part(n), w.part(n))
	}
	i, j := w.IntN(2), 2+w.IntN(2)
	width := uintptr(4 * (1 + w.IntN(3)))
	return driver.Copy2D(
		driver.Region{Memory: w.bufs[i], Pitch: 32, X: uintptr(4 * w.IntN(4)), Y: uintptr(w.IntN(2))},
		driver.Region{Memory: w.bufs[j], Pitch: 16, X: uintptr(4 * w.IntN(2)), Y: uintptr(w.IntN(5))}, width, 3)
}

// sumOf returns an error if one thread of the kernel would write elements that another thread
// reads.
func (w *randomWork) sumOf(d, a, b driver.View[uint32]) (driver.Op, error) {
	for _, v := range []driver.View[uint32]{a, b} {
		if d.Ptr() < v.Ptr()+driver.CUdeviceptr(v.Bytes()) && v.Ptr() < d.Ptr()+driver.CUdeviceptr(d.Bytes()) {
			return nil, driver.CUDA_ERROR_INVALID_VALUE
		}
	}
	return w.Sum.Prepare(config, driver.Out(d), driver.In(a), driver.In(b), uint32(d.Len()))
}

func (w *randomWork) ops(n int) []driver.Op {
	w.Helper()
	ops := make([]driver.Op, n)
	for i := range ops {
		ops[i] = w.op()
	}
	return ops
}

func (w *randomWork) reset() {
	w.Helper()
	for i, b := range w.bufs {
		v := make([]uint32, elems)
		for j := range v {
			v[j] = uint32(100*i + j)
		}
		w.OK(b.CopyFrom(v))
	}
}

func (w *randomWork) contents() []uint32 {
	w.Helper()
	var all []uint32
	for _, b := range w.bufs {
		v := make([]uint32, elems)
		w.OK(b.CopyTo(v))
		all = append(all, v...)
	}
	return all
}

func (w *randomWork) inOrder(ops []driver.Op) []uint32 {
	w.Helper()
	w.reset()
	for _, op := range ops {
		w.OK(w.S.Do(op))
	}
	w.Wait(w.S)
	return w.contents()
}

func (k *kit) flow(ops ...driver.Op) *dataflow.Flow {
	k.Helper()
	f := dataflow.New(k.C)
	for _, op := range ops {
		_, err := f.Add(op)
		k.OK(err)
	}
	return f
}

func (k *kit) build(f *dataflow.Flow) *graph.Graph {
	k.Helper()
	g, err := f.Build()
	k.OK(err)
	k.CloseLater(g)
	return g
}

func TestFlowGivesWhatTheOrderGives(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(20) {
			w := newRandomWork(k, seed)
			ops := w.ops(40)
			want := w.inOrder(ops)
			x := k.Exec(k.build(k.flow(ops...)))
			for range 3 {
				w.reset()
				k.Run(x)
				if got := w.contents(); !slices.Equal(got, want) {
					t.Fatalf("seed %d: the memory is %v, in order it was %v", seed, got, want)
				}
			}
		}
	})
}

// conflicts reports whether a flow must keep the order of two operations. It compares their
// accesses byte by byte.
func conflicts(a, b driver.Op) bool {
	for _, x := range a.Uses().Accesses {
		for _, y := range b.Uses().Accesses {
			if (x.Mode|y.Mode)&driver.Writes != 0 && common(bytesOf(x), bytesOf(y)) {
				return true
			}
		}
	}
	return false
}

func bytesOf(a driver.Access) map[uint64]bool {
	all := make(map[uint64]bool)
	r := a.Rows
	if r == nil {
		r = &uses.Rows{Width: a.Bytes, Count: 1, Layers: 1}
	}
	for z := range r.Layers {
		for y := range r.Count {
			for x := range r.Width {
				all[a.Addr+z*r.Layer+y*r.Pitch+x] = true
			}
		}
	}
	return all
}

func common(a, b map[uint64]bool) bool {
	for i := range a {
		if b[i] {
			return true
		}
	}
	return false
}

// A flow must have an edge exactly where two operations conflict and no path of other edges orders
// them.
func TestFlowHasExactlyTheNeededEdges(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(10) {
			ops := newRandomWork(k, seed).ops(60)
			before := make([]map[int]bool, len(ops))
			items, err := k.flow(ops...).Items()
			k.OK(err)
			for i, it := range items {
				var want []int
				before[i] = make(map[int]bool)
				for j := i - 1; j >= 0; j-- {
					if before[i][j] || !conflicts(ops[j], ops[i]) {
						continue
					}
					want = append(want, j)
					before[i][j] = true
					for l := range before[j] {
						before[i][l] = true
					}
				}
				slices.Reverse(want)
				if !slices.Equal(it.After, want) {
					t.Fatalf("seed %d: step %d, %v, runs after %v, want %v", seed, i, ops[i], it.After, want)
				}
			}
		}
	})
}

func TestFlowOrdersByDeclarations(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		host, err := driver.AllocHost[uint32](k.C, elems)
		k.OK(err)
		k.CloseLater(host)
		down, err := driver.Download[uint32](host, a)
		k.OK(err)
		var seen uint32
		look, err := driver.NewHostFunc(k.C, func() { seen = host.Slice()[0] })
		k.OK(err)
		f := dataflow.New(k.C)
		add := func(op driver.Op, uses ...driver.Declared) dataflow.Step {
			t.Helper()
			s, err := f.Add(op, uses...)
			k.OK(err)
			return s
		}
		write := add(k.Launch(k.Plus, a, 4))
		other := add(k.Launch(k.Plus, b, 1))
		copied := add(down)
		looked := add(look, driver.In(host))
		last := add(k.Launch(k.Times, b, 3), driver.Out(host.View(0, 1)))
		k.OK(last.After(write))
		for s, want := range map[dataflow.Step][]int{
			write: nil, other: nil, copied: {write.Index()}, looked: {copied.Index()},
			last: {other.Index(), looked.Index()},
		} {
			if got := s.Dependencies(); !slices.Equal(got, want) {
				t.Errorf("step %d runs after %v, want %v", s.Index(), got, want)
			}
		}
		looked.SetName("look")
		g, err := graph.New(k.C)
		k.OK(err)
		k.CloseLater(g)
		first := k.Add(g, k.Launch(k.Plus, a, 10))
		items, err := f.Items()
		k.OK(err)
		for i := range items {
			if len(items[i].After) == 0 {
				items[i].Deps = []graph.Node{first}
			}
		}
		nodes, err := g.AddBatch(nil, items)
		k.OK(err)
		if name := nodes[looked.Index()].Name(); name != "look" {
			t.Errorf("the node's name is %q", name)
		}
		k.Run(k.Exec(g))
		k.Expect(a, 15)
		k.Expect(b, 6)
		if seen != 15 {
			t.Errorf("the host function saw %d", seen)
		}
	})
}

func TestFlowRefusesWhatItCannotOrder(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		l := k.Launch(k.Plus, a, 1)
		f := k.flow(l)
		k.OK(driver.SetArg(l, 2, uint32(9)))
		k.build(f) // the argument is a number, not memory
		k.OK(driver.SetArg(l, 0, b))
		_, err := f.Build()
		graphtest.Refused(t, "a build after the memory changed", err, "step 0")
		closed := k.MemoryOf(1)
		k.OK(closed.Close())
		first, err := f.Add(l)
		k.OK(err)
		_, err = f.Add(l, driver.In(closed))
		graphtest.Refused(t, "a use of closed memory", err, "closed")
		_, err = f.Add(l, driver.Declared{})
		graphtest.Refused(t, "a use of nothing", err, "nil")
		_, err = f.Add(nil)
		graphtest.Refused(t, "no operation", err, "nil operation")
		_, err = dataflow.New(nil).Add(l)
		graphtest.Refused(t, "no context", err, "make one with dataflow.New")
		second, err := f.Add(l)
		k.OK(err)
		graphtest.Refused(t, "an order among earlier steps", first.After(second), "last")
		graphtest.Refused(t, "a step after itself", second.After(second), "other step")
		graphtest.Refused(t, "a step of another flow", second.After(dataflow.Step{}), "other step")
		var none *dataflow.Flow
		_, err = none.Build()
		graphtest.Refused(t, "nil", err, "nil flow")
	})
}

func TestFlowOfManyStepsIsTwoChains(t *testing.T) {
	each(t, func(k *kit) {
		a, b := k.Memory(), k.Memory()
		ops := [2]driver.Op{k.Launch(k.Plus, a, 1), k.Launch(k.Plus, b, 1)}
		f := dataflow.New(k.C)
		for i := range 2000 {
			s, err := f.Add(ops[i%2])
			k.OK(err)
			var want []int
			if i >= 2 {
				want = []int{i - 2}
			}
			if got := s.Dependencies(); !slices.Equal(got, want) {
				t.Fatalf("step %d runs after %v, want %v", i, got, want)
			}
		}
		k.Run(k.Exec(k.build(f)))
		k.Expect(a, 1001)
		k.Expect(b, 1001)
	})
}

func TestFlowsHaveNoConflictUntilAnEdgeIsMissing(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(6) {
			ops := newRandomWork(k, seed).ops(30)
			f := k.flow(ops...)
			g := k.Graph()
			items, err := f.Items()
			k.OK(err)
			nodes, err := g.AddBatch(nil, items)
			k.OK(err)
			k.Clean(g)
			for i, it := range items {
				for _, a := range it.After {
					k.OK(g.RemoveEdges(graphtest.EdgesOf(nodes[a:a+1], nodes[i:i+1])...))
					if c := k.Check(g); !slices.Contains(graphtest.Pairs(c, nodes), fmt.Sprint(a, "-", i)) {
						t.Fatalf("seed %d: without the edge from %d (%v) to %d (%v): %v", seed, a, ops[a], i, ops[i], c)
					}
					k.OK(g.AddEdges(graphtest.EdgesOf(nodes[a:a+1], nodes[i:i+1])...))
				}
			}
			k.Clean(g)
		}
	})
}

// In graphs with arbitrary edges, Check must find exactly the pairs that conflict and are not
// ordered.
func TestCheckFindsExactlyTheConflicts(t *testing.T) {
	each(t, func(k *kit) {
		for seed := range uint64(10) {
			w := newRandomWork(k, seed)
			ops := w.ops(40)
			g := k.Graph()
			var nodes []graph.Node
			before := make([]map[int]bool, len(ops))
			var want []string
			for i, op := range ops {
				before[i] = make(map[int]bool)
				var deps []graph.Node
				for j := range i {
					if w.IntN(12) > 0 {
						continue
					}
					deps = append(deps, nodes[j])
					before[i][j] = true
					for l := range before[j] {
						before[i][l] = true
					}
				}
				nodes = append(nodes, k.Add(g, op, deps...))
				for j := range i {
					if !before[i][j] && conflicts(ops[j], op) {
						want = append(want, fmt.Sprint(j, "-", i))
					}
				}
			}
			slices.Sort(want)
			if got := graphtest.Pairs(k.Check(g), nodes); !slices.Equal(got, want) {
				t.Fatalf("seed %d: conflicts %v, want %v", seed, got, want)
			}
		}
	})
}
