package graph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/internal/graphtest"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestNodesByTaggedParameters(t *testing.T) {
	each(t, func(k *kit) {
		b, c := k.Memory(), k.MemoryOf(1)
		g := k.Graph()
		first := k.Add(g, k.Launch(k.Plus, b, 1))
		n, err := g.AddNode(graphtest.FillParams(c, 9), []graph.Node{first}, c.Ref())
		k.OK(err)
		if typ, err := n.Type(); err != nil || typ != cu.CU_GRAPH_NODE_TYPE_MEMSET {
			k.Errorf("%v, %v", typ, err)
		}
		d := k.MemoryOf(1)
		k.OK(d.Fill(1))
		x := k.Exec(g)
		k.Run(x)
		k.Expect(c, 9)
		k.OK(x.SetParams(n, graphtest.FillParams(d, 7), d.Ref()))
		k.OK(n.SetParams(graphtest.FillParams(b, 5), b.Ref()))
		k.Run(x)
		k.Expect(d, 7)
		k.OK(c.Close()) // nothing retains c any more
		k.OK(d.Close()) // the executable graph retains d
		k.Run(x)
		k.Run(k.Exec(g))
		k.Expect(b, 5)

		// The graph must retain only the memory of the new parameters.
		e, f := k.MemoryOf(1), k.MemoryOf(1)
		before, after := e.Ref().Lifetime(), f.Ref().Lifetime()
		k.OK(n.SetParams(graphtest.FillParams(e, 6), e.Ref()))
		k.OK(n.SetParams(graphtest.FillParams(f, 6), f.Ref()))
		k.OK(e.Close())
		k.OK(f.Close())
		if open := driver.OpenObjects(); names(open, before) || !names(open, after) {
			k.Errorf("the graph retains the old memory: %t, the new memory: %t", names(open, before), names(open, after))
		}
		k.Run(k.Exec(g))
	})
}

func TestTaggedParametersThatCannotBe(t *testing.T) {
	each(t, func(k *kit) {
		b, gone := k.Memory(), k.MemoryOf(1)
		ref := gone.Ref()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		k.OK(gone.Close())
		p := graphtest.FillParams(b, 4)
		move := &cu.CUgraphNodeParams{Type: cu.CU_GRAPH_NODE_TYPE_GRAPH}
		move.Graph().Ownership = cu.CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
		for _, c := range []struct {
			name, says string
			want, err  error
		}{
			{"nil", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddNode(nil, nil))},
			{"nil set", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, n.SetParams(nil)},
			{"nil set in the executable", "nil parameters", driver.CUDA_ERROR_INVALID_VALUE, x.SetParams(n, nil)},
			{"nil reference", "reference 0", driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddNode(p, nil, nil))},
			{"closed reference", "closed", driver.ErrClosed, graphtest.Second(g.AddNode(p, nil, ref))},
			{"closed reference set", "closed", driver.ErrClosed, n.SetParams(p, ref)},
			{"another type", "it is of type", driver.CUDA_ERROR_INVALID_VALUE, n.SetParams(p)},
			{"another type in the executable", "it is of type", driver.CUDA_ERROR_INVALID_VALUE, x.SetParams(n, p)},
			{"child handed over", "AddChildMove", driver.CUDA_ERROR_INVALID_VALUE, graphtest.Second(g.AddNode(move, nil))},
		} {
			if !errors.Is(c.err, c.want) || !strings.Contains(c.err.Error(), c.says) {
				k.Errorf("%s: %v", c.name, c.err)
			}
		}
		if count, err := g.Len(); count != 1 || err != nil {
			k.Errorf("%d nodes after the refusals, %v", count, err)
		}
		k.Run(x)
		k.Expect(b, 2)
	})
}

func TestTaggedParametersNeedTheirCUDA(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12010}, func(t *testing.T, c *driver.Context) {
		k := newKit(t, c)
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.Launch(k.Plus, b, 1))
		x := k.Exec(g)
		for name, err := range map[string]error{
			"AddNode":        graphtest.Second(g.AddNode(graphtest.FillParams(b, 4), nil)),
			"Node.SetParams": n.SetParams(graphtest.FillParams(b, 4)),
			"Exec.SetParams": x.SetParams(n, graphtest.FillParams(b, 4)),
		} {
			if !errors.Is(err, driver.ErrNotSupported) || !strings.Contains(err.Error(), "12.2") {
				k.Errorf("%s: %v", name, err)
			}
		}
	})
}

// For every kind of operation, tagged parameters must create the same node as the function for its
// type.
func TestEveryOperationByTaggedParameters(t *testing.T) {
	each(t, func(k *kit) {
		b, to := k.Memory(), k.Memory()
		e, err := k.C.NewEvent()
		k.OK(err)
		k.CloseLater(e)
		called := 0
		call, err := driver.NewHostFunc(k.C, func() { called++ })
		k.OK(err)
		fill, err := driver.Fill(b.All().View(0, 8), 4)
		k.OK(err)
		nothing, err := driver.Fill(b.All().View(0, 0), 4)
		k.OK(err)
		noCopy, err := driver.CopyDevice[uint32](to.All().View(0, 0), b.All().View(0, 0))
		k.OK(err)
		copied, err := driver.CopyDevice[uint32](to, b)
		k.OK(err)
		write, err := driver.NewMemOp(k.C, driver.WriteWord[uint32](b, 9, 50, 0))
		k.OK(err)
		g := k.Graph()
		last := k.Add(g, k.Launch(k.Plus, b, 1))
		for _, op := range []driver.Op{fill, nothing, noCopy, write, driver.RecordOp(e), driver.WaitOp(e), call, copied, k.Launch(k.Times, b, 2)} {
			last, err = graph.AddTagged(g, op, last)
			k.OK(err)
		}
		k.Run(k.Exec(g))
		got, moved := make([]uint32, elems), make([]uint32, elems)
		k.OK(b.CopyTo(got))
		k.OK(to.CopyTo(moved))
		if called != 1 || moved[0] != 4 || moved[9] != 50 || moved[31] != 2 || got[0] != 8 || got[31] != 4 {
			k.Errorf("called %d, copied %v, left %v", called, moved, got)
		}
	})
}

func (k *kit) with(b *driver.Buffer[uint32], v uint32, change func(c *driver.LaunchConfig)) *driver.Launch {
	k.Helper()
	c := config
	change(&c)
	l, err := k.Plus.Prepare(c, b, uint32(elems), v)
	k.OK(err)
	return l
}

func cooperative(c *driver.LaunchConfig) { c.Cooperative = true }
func clustered(c *driver.LaunchConfig)   { c.Grid, c.Cluster = driver.D1(2), driver.D1(2) }
func urgent(c *driver.LaunchConfig)      { c.Priority = -3 }

func (k *kit) attribute(n graph.Node, id cu.CUlaunchAttributeID) cu.CUlaunchAttributeValue {
	k.Helper()
	v, err := n.Attribute(id)
	k.OK(err)
	return v
}

const (
	cooperativeAttr = cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
	clusterAttr     = cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
	priorityAttr    = cu.CU_LAUNCH_ATTRIBUTE_PRIORITY
)

func TestLaunchAttributesReachTheNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		n := k.Add(g, k.with(b, 1, cooperative))
		if v := k.attribute(n, cooperativeAttr); *v.Cooperative() != 1 {
			k.Error("not cooperative")
		}
		n = k.Add(g, k.with(b, 1, urgent), n)
		if v := k.attribute(n, priorityAttr); *v.Priority() != -3 {
			k.Errorf("priority %d", *v.Priority())
		}
		n = k.Add(g, k.with(b, 1, clustered), n)
		if v := k.attribute(n, clusterAttr); v.ClusterDim().X != 2 {
			k.Errorf("cluster %+v", *v.ClusterDim())
		}
		// The two blocks of the last launch race on the same elements.
		gputest.ExpectRace(k, func(f emulator.Finding) bool {
			at := f.Address - uint64(b.Ptr())
			return f.Kernel == "plus" && f.Space == "global" && f.Block == [3]uint32{1, 0, 0} && at < uint64(b.Bytes())
		})
		k.Run(k.Exec(g, graph.WithNodePriorities()))
		k.expectAtLeast(b, 4)
	})
}

// expectAtLeast checks only a lower bound, because several blocks add to the same elements
// concurrently.
func (k *kit) expectAtLeast(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.Wait(k.S)
	got := make([]uint32, b.Len())
	k.OK(b.CopyTo(got))
	for i, v := range got {
		if v < want {
			k.Fatalf("element %d is %d, want at least %d", i, v, want)
		}
	}
}

// A node that is set to a launch must have exactly that launch's attributes, and none from the
// previous launch.
func TestAttributesFollowTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		plain := k.Launch(k.Plus, b, 1)
		n := k.Add(g, plain)
		untouched := k.Add(g, plain, n)
		normal := k.attribute(untouched, priorityAttr)
		for _, change := range []func(c *driver.LaunchConfig){cooperative, urgent, clustered} {
			k.OK(n.Set(k.with(b, 1, change)))
			k.OK(n.Set(plain))
			coop, cluster, priority := k.attribute(n, cooperativeAttr), k.attribute(n, clusterAttr), k.attribute(n, priorityAttr)
			was := k.attribute(untouched, clusterAttr)
			if *coop.Cooperative() != 0 || *cluster.ClusterDim() != *was.ClusterDim() || *priority.Priority() != *normal.Priority() {
				k.Errorf("left over: cooperative %d, cluster %+v, priority %d", *coop.Cooperative(), *cluster.ClusterDim(), *priority.Priority())
			}
		}
		k.OK(n.Set(k.with(b, 1, clustered)))
		k.OK(n.Set(k.with(b, 1, func(c *driver.LaunchConfig) { c.Grid, c.Cluster = driver.D1(3), driver.D1(3) })))
		k.OK(n.Set(k.with(b, 1, cooperative)))
		k.OK(n.Set(k.with(b, 1, urgent)))
		coop, priority := k.attribute(n, cooperativeAttr), k.attribute(n, priorityAttr)
		if *coop.Cooperative() != 0 || *priority.Priority() != -3 {
			k.Errorf("cooperative %d, priority %d", *coop.Cooperative(), *priority.Priority())
		}
		k.Run(k.Exec(g))
	})
}

func TestAttributesAreSetAndCopied(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g, other := k.Graph(), k.Graph()
		n, m := k.Add(g, k.Launch(k.Plus, b, 1)), k.Add(g, k.Launch(k.Plus, b, 1))
		far := k.Add(other, k.Launch(k.Plus, b, 1))
		var v cu.CUlaunchAttributeValue
		*v.Priority() = -2
		k.OK(n.SetAttribute(priorityAttr, v))
		k.OK(m.CopyAttributes(n))
		k.OK(far.CopyAttributes(m))
		for _, node := range []graph.Node{n, m, far} {
			if v := k.attribute(node, priorityAttr); *v.Priority() != -2 {
				k.Errorf("%v: priority %d", node, *v.Priority())
			}
		}
		empty, err := g.AddEmpty()
		k.OK(err)
		for name, err := range map[string]error{
			"Attribute":         graphtest.Second(empty.Attribute(priorityAttr)),
			"SetAttribute":      empty.SetAttribute(priorityAttr, v),
			"CopyAttributes":    empty.CopyAttributes(n),
			"CopyAttributes to": n.CopyAttributes(empty),
		} {
			if !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "it is of type") {
				k.Errorf("%s: %v", name, err)
			}
		}
		if err := n.CopyAttributes(graph.Node{}); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) {
			k.Errorf("of no node: %v", err)
		}
	})
}

// Setting a node of an executable graph does not change the node's attributes. So a launch with
// other attributes must be rejected instead of running without them.
func TestAnExecutableRefusesLaunchesWithOtherAttributes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		g := k.Graph()
		plain, coop := k.Launch(k.Plus, b, 1), k.with(b, 2, cooperative)
		n := k.Add(g, plain)
		m := k.Add(g, coop, n)
		x := k.Exec(g)
		for _, op := range []*driver.Launch{coop, k.with(b, 1, clustered)} {
			for name, err := range map[string]error{"Set": x.Set(n, op), "SetBatch": x.SetBatch([]graph.Change{{Node: n, Op: op}})} {
				if !errors.Is(err, driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) || !strings.Contains(err.Error(), "anew") {
					k.Errorf("%s of %v: %v", name, op, err)
				}
			}
		}
		more := k.with(b, 10, cooperative)
		k.OK(x.Set(m, more))
		k.OK(x.SetBatch([]graph.Change{{Node: m, Op: more}, {Node: n, Op: plain}}))
		k.Run(x)
		k.Expect(b, 12)
	})
}

// A nested graph must share the lock and the place in the lock order of its outermost graph.
func TestTwoGraphsAndAPartAreLockedInOneOrder(t *testing.T) {
	each(t, func(k *kit) {
		b := k.Memory()
		l := k.Launch(k.Plus, b, 1)
		child, outer, other := k.Graph(), k.Graph(), k.Graph()
		k.Add(child, l)
		n, m := k.Add(outer, l), k.Add(other, l)
		in, err := outer.AddChild(child)
		k.OK(err)
		part, err := in.ChildGraph()
		k.OK(err)
		inner := k.Add(part, l)
		pairs := [][2]graph.Node{{n, m}, {m, inner}, {inner, m}, {m, n}}
		done := make(chan error, len(pairs))
		for _, p := range pairs {
			go func() {
				var err error
				for i := 0; i < 2000 && err == nil; i++ {
					err = p[0].CopyAttributes(p[1])
				}
				done <- err
			}()
		}
		for range pairs {
			select {
			case err := <-done:
				k.OK(err)
			case <-time.After(time.Minute):
				k.Fatal("they wait for each other")
			}
		}
	})
}

func TestSemaphoresInStreamsAndCaptures(t *testing.T) {
	k := graphtest.WithOther(t, emulator.Config{})
	b := k.Memory()
	theirs, ours := k.Semaphore(graphtest.OpaqueFD)
	back, answer := k.Semaphore(graphtest.TimelineFD)
	ops := []driver.Op{k.Await(ours, 0), k.Launch(k.Plus, b, 1), k.Signal(answer, 5)}
	for _, op := range ops {
		k.OK(k.S.Do(op))
	}
	theirs.Signal(0)
	k.Expect(b, 2)
	if theirs.Value() != 0 || back.Value() != 5 {
		k.Errorf("values %d and %d", theirs.Value(), back.Value())
	}
	g := k.Capture(func(sc *graph.Scope) error {
		return errors.Join(sc.Do(ops[0]), sc.Do(ops[1]), sc.Do(ops[2]))
	})
	k.Types(g, []graph.Type{cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL})
	x := k.Exec(g)
	theirs.Signal(0)
	k.Run(x)
	k.Expect(b, 3)
	h := k.Graph()
	_, err := h.AddBatch(nil, graph.Chain(ops))
	k.OK(err)
	_, err = graph.AddTagged(h, ops[2])
	k.OK(err)
	_, err = graph.AddTagged(h, ops[0])
	k.OK(err)
	k.AddPlan(h, k.ChainPlan(ops[1], ops[2]))
	theirs.Signal(0)
	x = k.Exec(h)
	k.OK(x.Launch(k.S))
	for theirs.Value() != 0 {
		time.Sleep(time.Millisecond)
	}
	theirs.Signal(0) // signals the second wait
	k.Wait(k.S)
}
