package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

type graphCounts struct {
	captures, built, updates, replays, callbacks, conditional, memory, dropped atomic.Int64
}

func (c *graphCounts) String() string {
	if c.replays.Load() == 0 {
		return ""
	}
	return fmt.Sprintf("\n%d captures, %d graphs by hand, %d updates, %d replays, %d callbacks, %d graphs with conditional nodes, %d with memory of their own, %d captures that were given up",
		c.captures.Load(), c.built.Load(), c.updates.Load(), c.replays.Load(), c.callbacks.Load(), c.conditional.Load(), c.memory.Load(), c.dropped.Load())
}

// graphWorker is one goroutine's part of a soak with graphs. All words of its device memory have
// the same value, which the worker also computes on the host.
type graphWorker struct {
	soak    *soak
	stream  *driver.Stream
	side    *driver.Stream // second stream, for forked captures
	random  *rand.Rand
	data    *driver.Buffer[uint32]
	host    *driver.HostBuffer[uint32]
	count   *driver.HostFunc
	counter *driver.Buffer[uint32] // loop counter
	choice  *graph.Scalar[uint32]
	calls   atomic.Int64 // number of calls of the function in count
	fired   int64        // expected number of calls
	want    uint32
	round   int
}

const graphWords = 1024

type step struct{ factor, summand uint32 }

func (s step) of(v uint32) uint32 { return v*s.factor + s.summand }

func ofAll(steps []step, v uint32) uint32 {
	for _, s := range steps {
		v = s.of(v)
	}
	return v
}

// workGraphs runs rounds of random graph work until ctx ends.
func (s *soak) workGraphs(ctx context.Context, i int) (err error) {
	w := &graphWorker{soak: s, stream: s.streams[i], random: rand.New(rand.NewPCG(2, uint64(i)))}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.open(); err != nil {
		return err
	}
	rounds := w.rounds()
	if len(rounds) == 0 {
		return fmt.Errorf("-kinds %s: none of them is known", s.kinds)
	}
	for ; ctx.Err() == nil; w.round++ {
		if err := rounds[w.random.IntN(len(rounds))](); err != nil {
			return fmt.Errorf("round %d: %w", w.round, err)
		}
		if w.round%16 == 0 {
			if err := w.verify(); err != nil {
				return fmt.Errorf("round %d: %w", w.round, err)
			}
		}
	}
	return w.verify()
}

// rounds returns the rounds that a worker may choose: those whose kinds the soak runs.
func (w *graphWorker) rounds() []func() error {
	kinds := map[string][]func() error{
		"captures":  {w.captured, w.forked, w.burst},
		"nodes":     {w.byHand, w.withChild},
		"updates":   {w.updated, w.nodeByNode, w.bound},
		"callbacks": {w.callback},
		"loops":     {w.loop},
		"decisions": {w.decision},
		"memory":    {w.memory},
		"cache":     {w.cached},
		"failures":  {w.failing, w.panicked},
	}
	var rounds []func() error
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if w.soak.kinds == "" || slices.Contains(strings.Split(w.soak.kinds, ","), kind) {
			rounds = append(rounds, kinds[kind]...)
		}
	}
	return rounds
}

func (w *graphWorker) open() (err error) {
	if w.side, err = w.soak.context.NewStream(); err != nil {
		return err
	}
	if w.data, err = driver.Alloc[uint32](w.soak.context, graphWords); err != nil {
		return err
	}
	if w.host, err = driver.AllocHost[uint32](w.soak.context, graphWords); err != nil {
		return err
	}
	if w.count, err = driver.NewHostFunc(w.soak.context, func() { w.calls.Add(1) }); err != nil {
		return err
	}
	if w.counter, err = driver.Alloc[uint32](w.soak.context, 1); err != nil {
		return err
	}
	if w.choice, err = graph.NewScalar[uint32](w.soak.context, 0); err != nil {
		return err
	}
	return w.data.Fill(0)
}

func (w *graphWorker) close() error {
	err := w.stream.Wait(context.Background())
	return errors.Join(err, w.side.Close(), w.data.Close(), w.host.Close(), w.counter.Close(), w.choice.Close())
}

func (w *graphWorker) steps(n int) []step {
	steps := make([]step, n)
	for i := range steps {
		steps[i] = step{w.random.Uint32() | 1, w.random.Uint32()}
	}
	return steps
}

func (w *graphWorker) some() []step { return w.steps(1 + w.random.IntN(20)) }

func (w *graphWorker) op(s step) (*driver.Launch, error) {
	cfg := driver.LaunchConfig{Grid: driver.Blocks(graphWords, blockSize), Block: driver.D1(blockSize)}
	return w.soak.affine.Prepare(cfg, w.data, s.factor, s.summand, uint32(graphWords))
}

func (w *graphWorker) ops(steps []step) ([]driver.Op, error) {
	ops := make([]driver.Op, len(steps))
	for i, s := range steps {
		l, err := w.op(s)
		if err != nil {
			return nil, err
		}
		ops[i] = l
	}
	return ops, nil
}

// mode returns a capture mode that allows other goroutines to allocate.
func (w *graphWorker) mode() graph.Mode {
	if w.random.IntN(2) == 0 {
		return graph.ModeThreadLocal
	}
	return graph.ModeRelaxed
}

func (w *graphWorker) capture(steps []step) (*graph.Graph, error) {
	w.soak.counts.graphs.captures.Add(1)
	ops, err := w.ops(steps)
	if err != nil {
		return nil, err
	}
	return graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error { return doAll(sc, ops) })
}

func doAll(sc *graph.Scope, ops []driver.Op) error {
	for _, op := range ops {
		if err := sc.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// replay launches x several times and updates w.want, the value that the memory must have.
func (w *graphWorker) replay(x *graph.Exec, steps []step) error {
	for range 1 + w.random.IntN(4) {
		if err := x.Launch(w.stream); err != nil {
			return err
		}
		w.soak.counts.graphs.replays.Add(1)
		w.want = ofAll(steps, w.want)
	}
	return nil
}

// with instantiates g and calls the function use with the result. It then closes both, usually
// while the executable graph still runs.
func with(g *graph.Graph, use func(x *graph.Exec) error) error {
	x, err := g.Instantiate()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	return errors.Join(use(x), x.Close(), g.Close())
}

func (w *graphWorker) captured() error {
	steps := w.some()
	g, err := w.capture(steps)
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error { return w.replay(x, steps) })
}

// forked captures work on two streams. The second stream's work runs after the first stream's work.
func (w *graphWorker) forked() error {
	w.soak.counts.graphs.captures.Add(1)
	steps := w.steps(3)
	ops, err := w.ops(steps)
	if err != nil {
		return err
	}
	g, err := graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error {
		if err := sc.Do(ops[0]); err != nil {
			return err
		}
		f, err := sc.Fork(w.side)
		if err != nil {
			return err
		}
		if err := f.Do(ops[1]); err != nil {
			return err
		}
		if err := sc.Join(f); err != nil {
			return err
		}
		return sc.Do(ops[2])
	})
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error { return w.replay(x, steps) })
}

// hand builds a graph of steps node by node and returns its nodes.
func (w *graphWorker) hand(steps []step) (*graph.Graph, []graph.Node, error) {
	w.soak.counts.graphs.built.Add(1)
	ops, err := w.ops(steps)
	if err != nil {
		return nil, nil, err
	}
	g, err := graph.New(w.soak.context)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := g.AddBatch(nil, graph.Chain(ops))
	if err != nil {
		return nil, nil, errors.Join(err, g.Close())
	}
	return g, nodes, nil
}

func (w *graphWorker) byHand() error {
	steps := w.some()
	g, _, err := w.hand(steps)
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error { return w.replay(x, steps) })
}

// updated updates an executable graph from other graphs, with the same topology or a different one.
func (w *graphWorker) updated() error {
	steps := w.some()
	g, err := w.capture(steps)
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error {
		for range 3 {
			if err := w.replay(x, steps); err != nil {
				return err
			}
			if w.random.IntN(2) == 0 {
				steps = w.steps(len(steps))
			} else {
				steps = w.some()
			}
			if err := w.apply(x, steps); err != nil {
				return err
			}
		}
		return w.replay(x, steps)
	})
}

func (w *graphWorker) apply(x *graph.Exec, steps []step) error {
	g, err := w.capture(steps)
	if err != nil {
		return err
	}
	w.soak.counts.graphs.updates.Add(1)
	_, err = x.Update(g, graph.WithReinstantiate())
	return errors.Join(err, g.Close())
}

// nodeByNode changes the parameters of single nodes, and of many nodes in one call.
func (w *graphWorker) nodeByNode() error {
	steps := w.some()
	g, nodes, err := w.hand(steps)
	if err != nil {
		return err
	}
	return with(g, func(x *graph.Exec) error {
		for range 4 {
			if err := w.replay(x, steps); err != nil {
				return err
			}
			var changes []graph.Change
			for range 1 + w.random.IntN(3) {
				i := w.random.IntN(len(steps))
				steps[i] = w.steps(1)[0]
				l, err := w.op(steps[i])
				if err != nil {
					return err
				}
				changes = append(changes, graph.Change{Node: nodes[i], Op: l})
			}
			w.soak.counts.graphs.updates.Add(1)
			if err := x.SetBatch(changes); err != nil {
				return err
			}
		}
		return nil
	})
}

// withChild launches a clone of a graph. The clone contains the original twice as a child graph.
func (w *graphWorker) withChild() error {
	steps := w.steps(4)
	child, err := w.capture(steps)
	if err != nil {
		return err
	}
	g, err := child.Clone()
	if err != nil {
		return errors.Join(err, child.Close())
	}
	last, err := leaf(g)
	if err == nil {
		_, err = g.AddChild(child, last)
	}
	if err != nil {
		return errors.Join(err, child.Close(), g.Close())
	}
	return errors.Join(child.Close(), with(g, func(x *graph.Exec) error {
		return w.replay(x, append(append([]step(nil), steps...), steps...))
	}))
}

// leaf returns the last node of a chain.
func leaf(g *graph.Graph) (graph.Node, error) {
	for n, err := range g.Nodes() {
		if err != nil {
			return n, err
		}
		after, err := n.Dependents()
		if err != nil || len(after) == 0 {
			return n, err
		}
	}
	return graph.Node{}, errors.New("no node is last")
}

// callback runs a graph that calls a host function between two kernels.
func (w *graphWorker) callback() error {
	steps := w.steps(2)
	ops, err := w.ops(steps)
	if err != nil {
		return err
	}
	g, err := graph.New(w.soak.context)
	if err != nil {
		return err
	}
	if _, err := g.AddBatch(nil, graph.Chain([]driver.Op{ops[0], w.count, ops[1]})); err != nil {
		return errors.Join(err, g.Close())
	}
	return with(g, func(x *graph.Exec) error {
		err := w.replay(x, steps)
		w.fired += int64(x.Replays())
		w.soak.counts.graphs.callbacks.Add(int64(x.Replays()))
		return err
	})
}

var errGivenUp = errors.New("given up")

// failing ends a capture with an error. Nothing may leak.
func (w *graphWorker) failing() error {
	w.soak.counts.graphs.dropped.Add(1)
	ops, err := w.ops(w.steps(2))
	if err != nil {
		return err
	}
	_, err = graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error {
		return errors.Join(doAll(sc, ops), errGivenUp)
	})
	if !errors.Is(err, errGivenUp) {
		return fmt.Errorf("capture that was given up: %w", err)
	}
	return nil
}

func (w *graphWorker) panicked() (err error) {
	w.soak.counts.graphs.dropped.Add(1)
	ops, err := w.ops(w.steps(1))
	if err != nil {
		return err
	}
	defer func() {
		if v := recover(); v != errGivenUp {
			err = fmt.Errorf("panic %v came out of a capture that panicked otherwise", v)
		}
	}()
	_, err = graph.Capture(w.stream, w.mode(), func(sc *graph.Scope) error {
		if err := doAll(sc, ops); err != nil {
			return err
		}
		panic(errGivenUp)
	})
	return fmt.Errorf("a capture that panicked returned: %w", err)
}

func (w *graphWorker) verify() error {
	down, err := driver.Download(w.host, w.data)
	if err != nil {
		return err
	}
	w.soak.counts.copies.Add(1)
	if err := w.stream.Do(down); err != nil {
		return err
	}
	if err := w.stream.Wait(context.Background()); err != nil {
		return err
	}
	for i, v := range w.host.Slice() {
		if v != w.want {
			return fmt.Errorf("word %d is %#x, want %#x", i, v, w.want)
		}
	}
	if n := w.calls.Load(); n != w.fired {
		return fmt.Errorf("%d callbacks came, of %d", n, w.fired)
	}
	w.soak.counts.results.Add(1)
	return nil
}
