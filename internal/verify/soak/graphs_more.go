package main

import (
	"errors"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/graph/cache"
)

// loop runs steps several times in the body of a WHILE node, in a graph that is built by hand.
func (w *graphWorker) loop() error {
	w.soak.counts.graphs.conditional.Add(1)
	rounds := 1 + w.random.IntN(20)
	steps := w.steps(2)
	g, err := w.loopGraph(steps, uint32(rounds))
	if err != nil {
		return err
	}
	var all []step
	for range rounds {
		all = append(all, steps...)
	}
	return with(g, func(x *graph.Exec) error { return w.replay(x, all) })
}

func (w *graphWorker) loopGraph(steps []step, rounds uint32) (*graph.Graph, error) {
	ops, err := w.ops(steps)
	if err != nil {
		return nil, err
	}
	g, err := graph.New(w.soak.context)
	if err != nil {
		return nil, err
	}
	if err := w.addLoop(g, ops, rounds); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (w *graphWorker) addLoop(g *graph.Graph, ops []driver.Op, rounds uint32) error {
	c, err := g.NewCond()
	if err != nil {
		return err
	}
	bound, err := c.Within(w.counter, rounds)
	if err != nil {
		return err
	}
	start, err := bound.Start()
	if err != nil {
		return err
	}
	next, err := bound.Next()
	if err != nil {
		return err
	}
	first, err := g.Add(start)
	if err != nil {
		return err
	}
	_, body, err := g.AddWhile(c, first)
	if err != nil {
		return err
	}
	_, err = body.AddBatch(nil, graph.Chain(append(ops, next)))
	return err
}

// decision captures an IF-ELSE whose condition depends on a word in memory, and replays both
// branches.
func (w *graphWorker) decision() error {
	w.soak.counts.graphs.conditional.Add(1)
	steps := w.steps(2)
	ops, err := w.ops(steps)
	if err != nil {
		return err
	}
	g, err := graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error {
		c, err := sc.NewCond()
		if err != nil {
			return err
		}
		look, err := c.SetWhen(graph.When(w.choice, graph.Greater, 10))
		if err != nil {
			return err
		}
		if err := sc.Do(look); err != nil {
			return err
		}
		return sc.IfElse(c,
			func(then *graph.Scope) error { return then.Do(ops[0]) },
			func(otherwise *graph.Scope) error { return otherwise.Do(ops[1]) })
	})
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error {
		for i, v := range []uint32{11, 10} {
			if err := w.choice.Set(w.stream, v); err != nil {
				return err
			}
			if err := w.replay(x, steps[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// bound changes arguments through bindings, in the same native call as the launch.
func (w *graphWorker) bound() error {
	steps := w.some()
	g, nodes, err := w.hand(steps)
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error {
		l, err := w.op(steps[0])
		if err != nil {
			return err
		}
		bs := x.Bindings()
		factor, err := graph.Bind[uint32](bs, nodes[0], l, 1)
		if err != nil {
			return err
		}
		summand, err := graph.Bind[uint32](bs, nodes[0], l, 2)
		if err != nil {
			return err
		}
		for range 8 {
			steps[0] = w.steps(1)[0]
			factor.Set(steps[0].factor)
			summand.Set(steps[0].summand)
			if err := bs.Launch(w.stream); err != nil {
				return err
			}
			w.soak.counts.graphs.updates.Add(1)
			w.soak.counts.graphs.replays.Add(1)
			w.want = ofAll(steps, w.want)
		}
		return nil
	})
}

// burst records many launches with a Burst.
func (w *graphWorker) burst() error {
	w.soak.counts.graphs.captures.Add(1)
	steps := w.steps(100)
	ops, err := w.ops(steps)
	if err != nil {
		return err
	}
	g, err := graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error { return sc.Do(ops...) })
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error { return w.replay(x, steps) })
}

// memory runs a graph that allocates memory, computes in it and frees it.
func (w *graphWorker) memory() error {
	w.soak.counts.graphs.memory.Add(1)
	g, err := graph.New(w.soak.context)
	if err != nil {
		return err
	}
	v := w.random.Uint32()
	if err := w.addMemory(g, v); err != nil {
		return errors.Join(err, g.Close())
	}
	return with(g, func(x *graph.Exec) error {
		if err := w.replay(x, nil); err != nil {
			return err
		}
		w.want = v
		return nil
	})
}

// addMemory adds an allocation, a fill of that memory, a copy to the worker's memory, and a free.
func (w *graphWorker) addMemory(g *graph.Graph, v uint32) error {
	op, err := driver.NewAlloc[uint32](w.soak.context, nil, graphWords)
	if err != nil {
		return err
	}
	b, n, err := graph.AddAlloc(g, op)
	if err != nil {
		return err
	}
	fill, err := driver.Fill(b, v)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	out, err := driver.CopyDevice[uint32](w.data, b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	free, err := driver.NewFree(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	nodes, err := g.AddBatch(nil, graph.Chain([]driver.Op{fill, out}, n))
	if err == nil {
		_, err = g.AddFree(free, nodes[1])
	}
	return errors.Join(err, b.Close())
}

// cached captures work on memory from the cache that all workers share.
func (w *graphWorker) cached() error {
	w.soak.counts.graphs.memory.Add(1)
	v := w.random.Uint32()
	g, err := graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error { return w.recordCached(sc, v) })
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error {
		err := w.replay(x, nil)
		w.want = v
		return err
	})
}

func (w *graphWorker) recordCached(sc *graph.Scope, v uint32) error {
	b, err := cache.Alloc[uint32](w.soak.cache, sc.Stream(), graphWords)
	if err != nil {
		return err
	}
	fill, err := driver.Fill(b, v)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	out, err := driver.CopyDevice[uint32](w.data, b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	return errors.Join(sc.Do(fill, out), w.soak.cache.Free(sc.Stream(), b))
}
