package guides

import (
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func TestPreparedSteps(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		ok(t, steps(v.stream, must(v.add(0))(t), 5))
		v.holds(t, 0+1+2+3+4)
	})
}

func TestChainIsBuilt(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		g, nodes, err := chain(v.ctx, []driver.Op{must(driver.Fill(v.y, 1))(t), must(v.add(1))(t), must(v.add(2))(t)})
		ok(t, err)
		exec := must(g.Instantiate())(t)
		ok(t, exec.Launch(v.stream))
		v.holds(t, 4)
		if len(nodes) != 3 {
			t.Errorf("%d nodes", len(nodes))
		}
		ok(t, exec.Close())
		ok(t, g.Close())
		if _, _, err := chain(v.ctx, []driver.Op{nil}); err == nil {
			t.Error("a chain of nothing was built")
		}
	})
}

func TestPlanIsBuiltAgain(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		ok(t, again(v.ctx, v.stream, []graph.Item{{Op: must(v.add(1))(t)}, {Op: must(v.add(2))(t), After: []int{0}}}, 3))
		v.holds(t, 9)
	})
}

// launches returns an executable graph of n launches, each with its own factor.
func launches(t *testing.T, v *vectors, n int) (*graph.Exec, []graph.Change, []*driver.Launch) {
	t.Helper()
	var ops []driver.Op
	var ls []*driver.Launch
	for range n {
		l := must(v.add(0))(t)
		ops, ls = append(ops, l), append(ls, l)
	}
	g, nodes, err := chain(v.ctx, ops)
	ok(t, err)
	t.Cleanup(func() { ok(t, g.Close()) })
	var changes []graph.Change
	for i, n := range nodes {
		changes = append(changes, graph.Change{Node: n, Op: ops[i]})
	}
	return kept(t, must(g.Instantiate())(t)), changes, ls
}

func TestManyNodesAreSet(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		exec, changes, ls := launches(t, v, 4)
		ok(t, setAll(exec, changes, ls, 3))
		ok(t, exec.Launch(v.stream))
		v.holds(t, 12)
	})
}

func TestBoundFactorTravels(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		exec, changes, ls := launches(t, v, 1)
		ok(t, replay(v.stream, exec, changes[0].Node, ls[0], 5))
		v.holds(t, 0+1+2+3+4)
	})
}

func TestBurstIsRecorded(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		g := must(recorded(v.stream, must(v.add(0))(t), 5))(t)
		exec := must(g.Instantiate())(t)
		ok(t, exec.Launch(v.stream))
		v.holds(t, 0+1+2+3+4)
		var out strings.Builder
		ok(t, slowest(&out, v.stream, g))
		if !strings.Contains(out.String(), "nodes on the critical path") || strings.Count(out.String(), "saxpy") < 5 {
			t.Error(out.String())
		}
		ok(t, exec.Close())
		ok(t, g.Close())
	})
}

func TestTemporaryMemoryIsUsed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		ok(t, temporary(v.ctx, v.stream, elements, func(b *driver.Buffer[float32]) error {
			fill, err := driver.Fill(b, 6)
			if err != nil {
				return err
			}
			if err := v.stream.Do(fill); err != nil {
				return err
			}
			return v.saxpy.Launch(v.stream, v.config(), b, v.y, float32(1), uint32(elements))
		}))
		v.holds(t, 6)
	})
}

func TestWorkIsTimed(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		begin := time.Now()
		seconds := must(timed(v.ctx, v.stream, func() error { return steps(v.stream, must(v.add(0))(t), 100) }))(t)
		if wall := time.Since(begin).Seconds(); seconds < 0 || seconds > wall {
			t.Errorf("%v s on the device in %v s", seconds, wall)
		}
		v.holds(t, 4950)
	})
}
