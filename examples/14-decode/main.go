// Command 14-decode decodes with a transformer of the Llama family. Each token takes
// about 160 small kernels. The program launches them one by one, and then replays
// them as a graph that it recorded once. It prints tokens per second, and the host
// time per token, for both ways.
//
// One graph serves all positions, because the position, the token and the growing
// caches stay in the device's memory. A step reads its position there, chooses the
// next token and increments the position. It ends by copying the tokens to
// page-locked memory, so the host has all tokens so far whenever it waits.
//
// The weights are made from a seed, or read from a safetensors file with the tensors
// of Hugging Face's Llama models (without scaling of positions). All computation is
// in float32. Tokens are numbers. A reference in float64 checks the logits.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph"
)

func main() {
	o := flags()
	demo.Main("14-decode", func(d *demo.Demo) error { return o.run(d) }) // after the flags are parsed
}

func (o options) run(d *demo.Demo) error {
	w, err := o.load(d.Emulated)
	if err != nil {
		return err
	}
	o.complete(d.Emulated)
	if err := o.check(w, d.Emulated); err != nil {
		return err
	}
	m, err := newModel(d, w, o) // m.ops are the operations of one step, from step.go
	if err != nil {
		return err
	}
	return m.compareWays()
}

// launches enqueues the operations of a step one by one.
func (m *model) launches() error {
	for _, op := range m.ops {
		if err := m.Stream.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// capture records the same operations into a graph.
func (m *model) capture() (*graph.Exec, error) {
	g, err := graph.Capture(m.Stream, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return sc.Do(m.ops...)
	})
	if err != nil {
		return nil, err
	}
	m.Close(g)
	exec, err := g.Instantiate(graph.WithUpload(m.Stream))
	if err != nil {
		return nil, err
	}
	m.Close(exec)
	return exec, nil
}

// decode decodes the sequence from its beginning. enqueue enqueues one step: launches
// does, and so does a launch of the graph. The host waits after every `every` tokens.
func (m *model) decode(every int, enqueue func() error) (t timing, err error) {
	if err := m.reset(); err != nil {
		return t, err
	}
	begin := time.Now()
	for i := range m.tokens {
		before := time.Now()
		if err := enqueue(); err != nil {
			return t, fmt.Errorf("token %d: %w", i, err)
		}
		t.host += time.Since(before)
		if (i+1)%every == 0 || i+1 == m.tokens {
			if err := m.Stream.Wait(context.Background()); err != nil {
				return t, fmt.Errorf("token %d: %w", i, err)
			}
		}
	}
	n := time.Duration(m.tokens)
	return timing{t.host / n, time.Since(begin) / n}, nil
}

// timing is the time of a token, for one of the ways.
type timing struct {
	host time.Duration // to enqueue its work, without waiting
	wall time.Duration // from begin to end
}
