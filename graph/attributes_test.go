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
	"github.com/purecuda/cuda/internal/gputest"
)

// with is a launch of plus with more in its configuration.
func (k *kit) with(b *driver.Buffer[uint32], v uint32, change func(c *driver.LaunchConfig)) *driver.Launch {
	k.Helper()
	c := config
	change(&c)
	l, err := k.plus.Prepare(c, b, uint32(elems), v)
	k.ok(err)
	return l
}

func cooperative(c *driver.LaunchConfig) { c.Cooperative = true }
func clustered(c *driver.LaunchConfig)   { c.Grid, c.Cluster = driver.D1(2), driver.D1(2) }
func urgent(c *driver.LaunchConfig)      { c.Priority = -3 }

func (k *kit) attribute(n graph.Node, id cu.CUlaunchAttributeID) cu.CUlaunchAttributeValue {
	k.Helper()
	v, err := n.Attribute(id)
	k.ok(err)
	return v
}

const (
	cooperativeAttr = cu.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
	clusterAttr     = cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
	priorityAttr    = cu.CU_LAUNCH_ATTRIBUTE_PRIORITY
)

func TestLaunchAttributesReachTheNode(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		n := k.add(g, k.with(b, 1, cooperative))
		if v := k.attribute(n, cooperativeAttr); *v.Cooperative() != 1 {
			k.Error("not cooperative")
		}
		n = k.add(g, k.with(b, 1, urgent), n)
		if v := k.attribute(n, priorityAttr); *v.Priority() != -3 {
			k.Errorf("priority %d", *v.Priority())
		}
		n = k.add(g, k.with(b, 1, clustered), n)
		if v := k.attribute(n, clusterAttr); v.ClusterDim().X != 2 {
			k.Errorf("cluster %+v", *v.ClusterDim())
		}
		// Two blocks of the last race on the same elements.
		gputest.ExpectRace(k, func(f emulator.Finding) bool {
			at := f.Address - uint64(b.Ptr())
			return f.Kernel == "plus" && f.Space == "global" && f.Block == [3]uint32{1, 0, 0} && at < uint64(b.Bytes())
		})
		k.run(k.exec(g, graph.WithNodePriorities()))
		k.expectAtLeast(b, 4)
	})
}

// expectAtLeast is expect where blocks add to the same elements.
func (k *kit) expectAtLeast(b *driver.Buffer[uint32], want uint32) {
	k.Helper()
	k.wait(k.s)
	got := make([]uint32, b.Len())
	k.ok(b.CopyTo(got))
	for i, v := range got {
		if v < want {
			k.Fatalf("element %d is %d, want at least %d", i, v, want)
		}
	}
}

// A node that is set to a launch has that one's attributes, and none that are
// left over from the launch before.
func TestAttributesFollowTheLaunch(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		plain := k.launch(k.plus, b, 1)
		n := k.add(g, plain)
		untouched := k.add(g, plain, n)
		normal := k.attribute(untouched, priorityAttr)
		for _, change := range []func(c *driver.LaunchConfig){cooperative, urgent, clustered} {
			k.ok(n.Set(k.with(b, 1, change)))
			k.ok(n.Set(plain))
			coop, cluster, priority := k.attribute(n, cooperativeAttr), k.attribute(n, clusterAttr), k.attribute(n, priorityAttr)
			was := k.attribute(untouched, clusterAttr)
			if *coop.Cooperative() != 0 || *cluster.ClusterDim() != *was.ClusterDim() || *priority.Priority() != *normal.Priority() {
				k.Errorf("left over: cooperative %d, cluster %+v, priority %d", *coop.Cooperative(), *cluster.ClusterDim(), *priority.Priority())
			}
		}
		k.ok(n.Set(k.with(b, 1, clustered)))
		k.ok(n.Set(k.with(b, 1, func(c *driver.LaunchConfig) { c.Grid, c.Cluster = driver.D1(3), driver.D1(3) })))
		k.ok(n.Set(k.with(b, 1, cooperative)))
		k.ok(n.Set(k.with(b, 1, urgent)))
		coop, priority := k.attribute(n, cooperativeAttr), k.attribute(n, priorityAttr)
		if *coop.Cooperative() != 0 || *priority.Priority() != -3 {
			k.Errorf("cooperative %d, priority %d", *coop.Cooperative(), *priority.Priority())
		}
		k.run(k.exec(g))
	})
}

func TestAttributesAreSetAndCopied(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g, other := k.graph(), k.graph()
		n, m := k.add(g, k.launch(k.plus, b, 1)), k.add(g, k.launch(k.plus, b, 1))
		far := k.add(other, k.launch(k.plus, b, 1))
		var v cu.CUlaunchAttributeValue
		*v.Priority() = -2
		k.ok(n.SetAttribute(priorityAttr, v))
		k.ok(m.CopyAttributes(n))
		k.ok(far.CopyAttributes(m))
		for _, node := range []graph.Node{n, m, far} {
			if v := k.attribute(node, priorityAttr); *v.Priority() != -2 {
				k.Errorf("%v: priority %d", node, *v.Priority())
			}
		}
		empty, err := g.AddEmpty()
		k.ok(err)
		for name, err := range map[string]error{
			"Attribute":         second(empty.Attribute(priorityAttr)),
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

// Setting a node of an executable graph does not reach its attributes, so a launch
// that needs others is refused instead of running without them.
func TestAnExecutableRefusesLaunchesWithOtherAttributes(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		g := k.graph()
		plain, coop := k.launch(k.plus, b, 1), k.with(b, 2, cooperative)
		n := k.add(g, plain)
		m := k.add(g, coop, n)
		x := k.exec(g)
		for _, op := range []*driver.Launch{coop, k.with(b, 1, clustered)} {
			for name, err := range map[string]error{"Set": x.Set(n, op), "SetBatch": x.SetBatch([]graph.Change{{Node: n, Op: op}})} {
				if !errors.Is(err, driver.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) || !strings.Contains(err.Error(), "anew") {
					k.Errorf("%s of %v: %v", name, op, err)
				}
			}
		}
		more := k.with(b, 10, cooperative)
		k.ok(x.Set(m, more))
		k.ok(x.SetBatch([]graph.Change{{Node: m, Op: more}, {Node: n, Op: plain}}))
		k.run(x)
		k.expect(b, 12)
	})
}

// A graph in a node has the lock of the outermost one, wherever it stands itself
// in the order of graphs.
func TestTwoGraphsAndAPartAreLockedInOneOrder(t *testing.T) {
	each(t, func(k *kit) {
		b := k.memory()
		l := k.launch(k.plus, b, 1)
		child, outer, other := k.graph(), k.graph(), k.graph()
		k.add(child, l)
		n, m := k.add(outer, l), k.add(other, l)
		in, err := outer.AddChild(child)
		k.ok(err)
		part, err := in.ChildGraph()
		k.ok(err)
		inner := k.add(part, l)
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
				k.ok(err)
			case <-time.After(time.Minute):
				k.Fatal("they wait for each other")
			}
		}
	})
}
