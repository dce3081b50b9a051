// Command 14-decode generates tokens with a transformer of the Llama family. Each token
// takes about 160 small kernels. The program launches them one by one, and then replays them
// as a graph that it recorded once. For both ways, it prints the tokens per second and the
// host time per token.
//
// One graph serves all positions, because the token, the position and the growing caches
// stay in device memory. A step reads its position from device memory, chooses the next
// token and increments the position. It then copies the tokens to page-locked memory. After
// each wait, the host can read all tokens generated so far.
//
// The weights are generated from a seed, or read from a safetensors file with the tensors of
// Hugging Face's Llama models (without scaling of the positions). All computation is in float32.
// Tokens are numbers. A reference in float64 checks the logits.
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
	demo.Main("14-decode", func(d *demo.Demo) error { return o.run(d) }) // runs after the flags are parsed
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
	m, err := newModel(d, w, o) // m.ops has the operations of one step; see step.go
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

// capture records the same operations as a graph.
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

// decode generates the sequence from its beginning. enqueue enqueues one step, by separate launches
// or as a graph. every is the number of tokens after which the host waits.
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

// timing is the average time per token.
type timing struct {
	host time.Duration // host time to enqueue the work, without waiting
	wall time.Duration // time from start to finish
}
