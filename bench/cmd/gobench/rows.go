package main

import (
	"context"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func (b *bench) rows() map[string]child.Row {
	newGraph := func() (err error) { b.graph, err = graph.New(b.context); return err }
	dropGraph := func() error { return b.graph.Close() }
	settle := func() error { return b.stream.Wait(context.Background()) }
	rows := map[string]child.Row{
		"ctx_get_current":     {Run: b.getCurrent},
		"node_add":            {Before: newGraph, Run: b.addNodes, After: dropGraph},
		"node_add_batch":      {Before: newGraph, Run: b.addPlan, After: dropGraph},
		"node_add_chain":      {Before: newGraph, Run: b.addChain, After: dropGraph},
		"node_update":         {Before: b.replayed, Run: b.updateNodes},
		"node_update_batch":   {Before: b.replayed, Run: b.updateBatch},
		"launch":              {Run: b.do(b.launch), After: settle},
		"launch_step":         {Run: b.launchStep, After: settle},
		"launch_step_args":    {Run: b.launchStepArgs, After: settle},
		"graph_launch_1":      {Run: b.replay(b.one), After: settle},
		"graph_launch_1000":   {Run: b.replay(b.thousand), After: settle},
		"recapture":           {Before: settle, Run: b.recapture(b.recordEach)},
		"recapture_burst":     {Before: settle, Run: b.recapture(b.recordBurst)},
		"recapture_all":       {Before: settle, Run: b.recapture(b.recordAll)},
		"set_10":              {Before: settle, Run: b.setBound, After: settle},
		"set_10_each":         {Before: settle, Run: b.setEach, After: settle},
		"set_10_batch":        {Before: settle, Run: b.setBatch, After: settle},
		"scalar_set":          {Run: b.setScalar, After: settle},
		"event_record":        {Run: b.record(b.event), After: settle},
		"event_record_timing": {Run: b.record(b.timed), After: settle},
		"copy_4k":             {Run: b.do(b.copy), After: settle},
		"table":               {Run: b.resolve},
	}
	b.waitRows(rows)
	b.graphRows(rows)
	return rows
}

// getCurrent calls the raw layer, because no typed object queries the current context.
func (b *bench) getCurrent(n int) error {
	for range n {
		if err := b.driver.CuCtxGetCurrent(&b.currentContext); err != nil {
			return err
		}
	}
	return nil
}

// addNodes builds a chain node by node.
func (b *bench) addNodes(n int) (err error) {
	deps := b.previous[:0]
	for range n {
		if b.previous[0], err = b.graph.Add(b.launch, deps...); err != nil {
			return err
		}
		deps = b.previous[:1]
	}
	return nil
}

// addChain builds the same chain with one native call. The first sample, which is not timed,
// creates the items. The first n items of a chain are also a chain.
func (b *bench) addChain(n int) (err error) {
	if b.items == nil {
		b.items = graph.Chain(b.batch)
	}
	b.added, err = b.graph.AddBatch(b.added[:0], b.items[:n])
	return err
}

// addPlan builds the same chain from a plan, like a program that builds the chain repeatedly. The
// first sample of each length, which is not timed, creates the plan.
func (b *bench) addPlan(n int) (err error) {
	p := b.plans[n]
	if p == nil {
		if p, err = graph.NewPlan(b.context, graph.Chain(b.batch[:n])); err != nil {
			return err
		}
		b.plans[n] = p
	}
	_, err = b.graph.AddPlan(p)
	return err
}

// replayed launches the graph and waits. The parameters are set between launches.
func (b *bench) replayed() error {
	return b.thousand.Run(context.Background(), b.stream)
}

// updateNodes calls exec.Set for each node of the chain.
func (b *bench) updateNodes(n int) error {
	for i := range n {
		if err := b.thousand.Set(b.nodes[i%child.Chain], b.launch); err != nil {
			return err
		}
	}
	return nil
}

// updateBatch updates the same nodes in one batch.
func (b *bench) updateBatch(n int) error {
	return b.thousand.SetBatch(b.changes[:n])
}

func (b *bench) do(op driver.Op) func(int) error {
	return func(n int) error {
		for range n {
			if err := b.stream.Do(op); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *bench) replay(exec *graph.Exec) func(int) error {
	return func(n int) error {
		for range n {
			if err := exec.Launch(b.stream); err != nil {
				return err
			}
		}
		return nil
	}
}

func (b *bench) record(e *driver.Event) func(int) error {
	return func(n int) error {
		for range n {
			if err := b.stream.Record(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// resolve resolves the function table of another Driver on the open library.
func (b *bench) resolve(n int) error {
	for range n {
		if _, err := driver.New(b.driver.Library()); err != nil {
			return err
		}
	}
	return nil
}
