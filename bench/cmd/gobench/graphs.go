package main

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// graphRows adds rows for captures, updates, instantiation and large graphs. One row
// launches an executable graph from many goroutines. The rows for single nodes and launches
// are in rows.go.
func (b *bench) graphRows(to map[string]child.Row) {
	settle := func() error { return b.stream.Wait(context.Background()) }
	maps.Copy(to, map[string]child.Row{
		"launch_shared_16":        {Before: settle, Run: b.launchShared, After: settle},
		"capture_empty":           {Before: settle, Run: b.capture(func(*graph.Scope) error { return nil })},
		"capture_1000":            {Before: settle, Run: b.capture(b.recordEach)},
		"capture_1000_all":        {Before: settle, Run: b.capture(b.recordAll)},
		"capture_1000_typed":      {Before: settle, Run: b.capture(b.recordTypedBurst)},
		"capture_1000_typed_each": {Before: settle, Run: b.capture(b.recordTyped)},
		"update_1000":             {Before: settle, Run: b.update},
		"instantiate_1":           {Run: b.instantiate, After: b.closeMade},
		"chain_100000":            {Before: b.newLarge, Run: b.addLargeChain, After: b.closeLarge},
		"plan_100000":             {Before: b.newLarge, Run: b.addLargePlan, After: b.closeLarge},
	})
}

// large holds the input of the rows about large graphs.
type large struct {
	ops   []driver.Op
	nodes []graph.Node
	items []graph.Item // items of a chain of ops
	graph *graph.Graph
	plans map[int]*graph.Plan
}

// goroutines is the number of goroutines that launch one executable graph.
const goroutines = 16

func (b *bench) launchShared(n int) error {
	var errs [goroutines]error
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for range n / goroutines {
				if errs[i] = b.one.Launch(b.stream); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}

func (b *bench) capture(record func(*graph.Scope) error) func(int) error {
	return func(n int) error {
		for range n {
			g, err := graph.Capture(b.stream, graph.ModeThreadLocal, record)
			if err != nil {
				return err
			}
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	}
}

// recordTyped records the launches with a generated launcher, which accepts a scope in place of a
// stream.
func (b *bench) recordTyped(sc *graph.Scope) error { return b.launchTyped(sc) }

// recordTypedBurst records the same launches as recordTyped, through a Burst of the scope.
func (b *bench) recordTypedBurst(sc *graph.Scope) error {
	return sc.Burst(func(burst *graph.Burst) error { return b.launchTyped(burst) })
}

func (b *bench) launchTyped(on driver.Doer) error {
	t := &b.typed
	for range child.Chain {
		t.amount++
		if err := t.kernels.Step.Do(on, t.cfg, b.counter.All(), t.amount); err != nil {
			return err
		}
	}
	return nil
}

// update updates the executable graph of the steps alternately from two graphs. The first sample,
// which is not timed, records the graphs.
func (b *bench) update(n int) (err error) {
	for i := range b.updates {
		if b.updates[i] == nil {
			if b.updates[i], err = graph.Capture(b.stream, graph.ModeThreadLocal, b.recordEach); err != nil {
				return err
			}
		}
	}
	for i := range n {
		r, err := b.steps.exec.Update(b.updates[i%2])
		if err != nil {
			return err
		}
		if !r.Updated() {
			return errors.New(r.String())
		}
	}
	return nil
}

func (b *bench) instantiate(n int) error {
	g := b.one.Graph()
	for range n {
		x, err := g.Instantiate()
		if err != nil {
			return err
		}
		b.execs = append(b.execs, x)
	}
	return nil
}

func (b *bench) closeMade() (err error) {
	for _, x := range b.execs {
		err = errors.Join(err, x.Close())
	}
	b.execs = b.execs[:0]
	return err
}

func (b *bench) newLarge() (err error) {
	b.large.graph, err = graph.New(b.context)
	return err
}

func (b *bench) closeLarge() error { return b.large.graph.Close() }

func (b *bench) largeOps(n int) []driver.Op {
	for len(b.large.ops) < n {
		b.large.ops = append(b.large.ops, b.launch)
	}
	return b.large.ops[:n]
}

// addLargeChain adds a chain of items. The first sample, which is not timed, creates the
// items.
func (b *bench) addLargeChain(n int) (err error) {
	if len(b.large.items) < n {
		b.large.items = graph.Chain(b.largeOps(n))
	}
	b.large.nodes, err = b.large.graph.AddBatch(b.large.nodes[:0], b.large.items[:n])
	return err
}

// addLargePlan adds a plan. The first sample, which is not timed, creates the plan.
func (b *bench) addLargePlan(n int) (err error) {
	p := b.large.plans[n]
	if p == nil {
		if p, err = graph.NewPlan(b.context, graph.Chain(b.largeOps(n))); err != nil {
			return err
		}
		if b.large.plans == nil {
			b.large.plans = map[int]*graph.Plan{}
		}
		b.large.plans[n] = p
	}
	_, err = b.large.graph.AddPlan(p)
	return err
}
