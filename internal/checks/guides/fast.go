package guides

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/view"
)

// [prepared]

// steps enqueues the same launch n times, each time with a different number. Prepare has already
// checked the arguments, and ArgOf checks the type of one argument. Each step then needs only a
// store and one driver call, and allocates nothing.
func steps(s *driver.Stream, launch *driver.Launch, n int) error {
	a, err := driver.ArgOf[float32](launch, 2)
	if err != nil {
		return err
	}
	for i := range n {
		if err := a.Set(float32(i)); err != nil {
			return err
		}
		if err := s.Do(launch); err != nil {
			return err
		}
	}
	return nil
}

// [end]

// [chain]

// chain builds a graph with many nodes in few native calls.
func chain(ctx *driver.Context, ops []driver.Op) (*graph.Graph, []graph.Node, error) {
	g, err := graph.New(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := g.AddBatch(nil, graph.Chain(ops))
	if err != nil {
		return nil, nil, errors.Join(err, g.Close())
	}
	return g, nodes, nil
}

// [end]

// [plan]

// again builds a new graph from the same plan in each round. NewPlan checks the list and computes
// the layout only once.
func again(ctx *driver.Context, s *driver.Stream, items []graph.Item, rounds int) error {
	plan, err := graph.NewPlan(ctx, items)
	if err != nil {
		return err
	}
	defer plan.Close()
	for range rounds {
		if err := once(ctx, s, plan); err != nil {
			return err
		}
	}
	return nil
}

func once(ctx *driver.Context, s *driver.Stream, plan *graph.Plan) error {
	g, err := graph.New(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	if _, err := g.AddPlan(plan); err != nil {
		return err
	}
	exec, err := g.Instantiate()
	if err != nil {
		return err
	}
	defer exec.Close()
	return exec.Run(context.Background(), s)
}

// [end]

// [setbatch]

// setAll updates the arguments of many nodes of an executable graph in one batch.
func setAll(exec *graph.Exec, changes []graph.Change, launches []*driver.Launch, a float32) error {
	for _, l := range launches {
		if err := driver.SetArg(l, 2, a); err != nil {
			return err
		}
	}
	return exec.SetBatch(changes)
}

// [end]

// [bindings]

// replay launches a graph n times, each time with a different argument for one of its nodes.
// Bindings.Launch sets the new value and launches in one native call.
func replay(s *driver.Stream, exec *graph.Exec, node graph.Node, launch *driver.Launch, n int) error {
	bound := exec.Bindings()
	factor, err := graph.BindName[float32](bound, node, launch, "a")
	if err != nil {
		return err
	}
	for i := range n {
		if err := factor.Set(float32(i)); err != nil {
			return err
		}
		if err := bound.Launch(s); err != nil {
			return err
		}
	}
	return nil
}

// [end]

// [burst]

// recorded captures n launches that differ only in one numeric argument.
func recorded(s *driver.Stream, launch *driver.Launch, n int) (*graph.Graph, error) {
	a, err := driver.ArgOf[float32](launch, 2)
	if err != nil {
		return nil, err
	}
	return graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Burst(func(b *graph.Burst) error {
			for i := range n {
				if err := a.Set(float32(i)); err != nil {
					return err
				}
				if err := b.Do(launch); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// [end]

// [async]

// temporary allocates memory in stream order and frees it after use. The pool keeps freed
// memory for the next allocation.
func temporary(ctx *driver.Context, s *driver.Stream, n int, use func(*driver.Buffer[float32]) error) error {
	pool, err := ctx.CurrentPool()
	if err != nil {
		return err
	}
	if err := pool.SetReleaseThreshold(64 << 20); err != nil { // bytes; set once per pool
		return err
	}
	b, err := driver.AllocAsync[float32](s, n)
	if err != nil {
		return err
	}
	defer b.Close() // frees in stream order, without waiting
	return use(b)
}

// [end]

// [profile]

// slowest prints how much of a graph's run time is on its critical path, and the time of each node.
func slowest(w io.Writer, s *driver.Stream, g *graph.Graph) error {
	p, err := g.Profile(context.Background(), s)
	if err != nil {
		return err
	}
	path, total := view.CriticalPath(p)
	fmt.Fprintf(w, "%d nodes on the critical path take %v of %v\n", len(path), total, p.Profile.Run)
	return view.WriteTable(w, p) // a table with the time of each node
}

// [end]

// [events]

// timed measures how long the device takes for the work that f enqueues on s.
func timed(ctx *driver.Context, s *driver.Stream, f func() error) (seconds float64, err error) {
	begin, err := ctx.NewEvent(driver.WithTiming())
	if err != nil {
		return 0, err
	}
	defer begin.Close()
	end, err := ctx.NewEvent(driver.WithTiming())
	if err != nil {
		return 0, err
	}
	defer end.Close()
	if err := s.Record(begin); err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	if err := s.Record(end); err != nil {
		return 0, err
	}
	if err := end.Wait(context.Background()); err != nil {
		return 0, err
	}
	took, err := end.Elapsed(begin)
	return took.Seconds(), err
}

// [end]
