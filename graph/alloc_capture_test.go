package graph_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestScopeAllocatesAndFrees(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		out := k.Memory()
		alloc, err := driver.NewAlloc[uint32](k.C, nil, elems)
		k.OK(err)
		var left *driver.Buffer[uint32]
		g := k.Capture(func(sc *graph.Scope) error {
			tmp, err := graph.Allocate(sc, alloc)
			if err != nil {
				return err
			}
			k.CloseLater(tmp)
			if left, err = graph.Allocate(sc, alloc); err != nil {
				return err
			}
			k.CloseLater(left)
			return k.useBoth(sc, tmp, left, out)
		})
		x := k.Exec(g)
		for range 2 {
			k.Run(x)
			k.Expect(out, 11)
			k.Expect(left, 12)
			k.ExpectReason("second launch", x.Launch(k.S), driver.CUDA_ERROR_INVALID_VALUE, "left graph memory")
			k.OK(k.S.FreeGraphMemory(left))
		}
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
		k.Run(x)
	})
}

func (k *kit) useBoth(sc *graph.Scope, tmp, left, out *driver.Buffer[uint32]) error {
	set, err := driver.Fill(tmp, uint32(11))
	if err != nil {
		return err
	}
	a, err := driver.CopyDevice[uint32](out, tmp)
	if err != nil {
		return err
	}
	b, err := driver.CopyDevice[uint32](left, tmp)
	if err != nil {
		return err
	}
	free, err := driver.NewFree(tmp)
	if err != nil {
		return err
	}
	if err := errors.Join(sc.Do(set), sc.Do(a), sc.Do(b), sc.Do(k.Launch(k.Plus, left, 1)), sc.Free(free)); err != nil {
		return err
	}
	if err := sc.Free(free); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
		k.Errorf("second free in a capture: %v", err)
	}
	return nil
}

// In a capture, FreeAsync must record the free even though the capture retains the buffer.
func TestFreeAsyncInACaptureIsRecordedThere(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		out := k.Memory()
		g := k.Capture(func(sc *graph.Scope) error {
			b, err := driver.AllocAsync[uint32](sc.Stream(), elems)
			if err != nil {
				return err
			}
			set, err := driver.Fill(b, uint32(6))
			if err != nil {
				return err
			}
			move, err := driver.CopyDevice[uint32](out, b)
			if err != nil {
				return err
			}
			return errors.Join(sc.Do(set), sc.Do(move), b.FreeAsync(sc.Stream()))
		})
		if n, err := g.Len(); err != nil || n != 4 {
			t.Fatalf("%d nodes, %v", n, err)
		}
		x := k.Exec(g)
		k.Run(x)
		k.Run(x)
		k.Expect(out, 6)
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
	})
}

func TestApplyFollowsTheMemoryOfTheNewGraph(t *testing.T) {
	each(t, func(k *kit) {
		before := k.Used()
		first, b := k.Leaving(1)
		second := k.Graph()
		c, n := k.Alloc(second)
		n = k.Fill(second, c, 2, n)
		k.Add(second, k.Launch(k.Plus, c, 3), n)
		x := k.Exec(first)
		k.Run(x)
		k.Expect(b, 1)
		how, err := x.Update(second, graph.WithReinstantiate())
		k.OK(err)
		if !how.Reinstantiated {
			t.Fatalf("%v", how)
		}
		k.Run(x)
		k.Expect(b, 1)
		k.Expect(c, 5)
		k.ExpectReason("second launch", x.Launch(k.S), driver.CUDA_ERROR_INVALID_VALUE, "left graph memory")
		for _, close := range []func() error{b.Close, c.Close, first.Close, second.Close, x.Close} {
			k.OK(close())
		}
		inflight.Waiting.Wait()
		if after := k.Used(); after != before {
			t.Errorf("%d bytes are used, %d before", after, before)
		}
	})
}

func TestMemoryNodesNeedADriverThatHasThem(t *testing.T) {
	lib := hiding{emulator.New(emulator.Config{}), []string{"cuGraphAddMemAllocNode", "cuGraphAddMemFreeNode", "cuDeviceGetGraphMemAttribute", "cuDeviceGraphMemTrim", "cuDeviceSetGraphMemAttribute"}}
	k := newKit(t, gputest.Context(t, gputest.Driver(t, lib)))
	op, err := driver.NewAlloc[uint32](k.C, nil, elems)
	k.OK(err)
	g := k.Graph()
	_, _, err = graph.AddAlloc(g, op)
	k.notSupported("allocation", err, "allocation node", "11.4")
	dev := k.C.Device()
	_, err = dev.GraphMemStats()
	k.notSupported("statistics", err, "memory of graphs", "11.4")
	k.notSupported("reset", dev.ResetGraphMemStats(), "memory of graphs")
	k.notSupported("trim", dev.TrimGraphMem(), "trim")
}

func (k *kit) notSupported(what string, err error, words ...string) {
	k.Helper()
	if !errors.Is(err, driver.ErrNotSupported) {
		k.Errorf("%s: got %v", what, err)
		return
	}
	k.ExpectReason(what, err, driver.CUDA_ERROR_NOT_SUPPORTED, words...)
}

func TestGraphMemoryStatistics(t *testing.T) {
	each(t, func(k *kit) {
		dev := k.C.Device()
		before := k.Used()
		k.OK(dev.ResetGraphMemStats())
		g, b := k.Leaving(1)
		x := k.Exec(g)
		k.Run(x)
		s, err := dev.GraphMemStats()
		k.OK(err)
		if s.Used < before+elems*4 || s.UsedHigh < s.Used || s.Reserved < s.Used || s.ReservedHigh < s.Reserved {
			t.Errorf("after a launch: %+v, %d were used before", s, before)
		}
		k.OK(k.S.FreeGraphMemory(b))
		if now := k.Used(); now != before {
			t.Errorf("%d bytes are used after the free, %d before", now, before)
		}
		k.OK(dev.ResetGraphMemStats())
		after, err := dev.GraphMemStats()
		k.OK(err)
		if after.UsedHigh != after.Used || after.ReservedHigh != after.Reserved || after.Reserved > s.Reserved {
			t.Errorf("after reset and trim: %+v", after)
		}
		var none driver.Device
		if _, err := none.GraphMemStats(); !errors.Is(err, driver.CUDA_ERROR_INVALID_DEVICE) {
			t.Errorf("no device: %v", err)
		}
		if none.ResetGraphMemStats() == nil || none.TrimGraphMem() == nil {
			t.Error("no device took a reset or a trim")
		}
	})
}

// Allocations and frees of zero elements must become empty nodes, because CUDA has no memory nodes
// of zero bytes.
func TestMemoryOfNoElementsIsAllocatedAndFreed(t *testing.T) {
	each(t, func(k *kit) {
		op, err := driver.NewAlloc[uint32](k.C, nil, 0)
		k.OK(err)
		g := k.Graph()
		b, alloc, err := graph.AddAlloc(g, op)
		k.OK(err)
		k.CloseLater(b)
		free := k.free(g, b, alloc)
		for _, n := range []graph.Node{alloc, free} {
			typ, err := n.Type()
			k.OK(err)
			if typ != cu.CU_GRAPH_NODE_TYPE_EMPTY {
				k.Errorf("%v is %v, want an empty node", n, typ)
			}
		}
		deps, err := free.Dependencies()
		k.OK(err)
		if n, err := g.Len(); err != nil || n != 2 || len(deps) != 1 || deps[0] != alloc {
			k.Errorf("%d nodes (%v), the free depends on %v", n, err, deps)
		}
		k.Run(k.Exec(g))
	})
}

func TestMemoryOfACaptureThatEndedIsRefused(t *testing.T) {
	each(t, func(k *kit) {
		op, err := driver.NewAlloc[uint32](k.C, nil, elems)
		k.OK(err)
		var scope *graph.Scope
		var b *driver.Buffer[uint32]
		g := k.Capture(func(sc *graph.Scope) error {
			scope = sc
			b, err = graph.Allocate(sc, op)
			return err
		})
		k.CloseLater(b)
		free, err := driver.NewFree(b)
		k.OK(err)
		if _, err := graph.Allocate(scope, op); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("Allocate: %v", err)
		}
		if err := scope.Free(free); !errors.Is(err, graph.ErrEnded) {
			t.Errorf("Free: %v", err)
		}
		k.Run(k.Exec(g))
	})
}
