// Command 09-callable decodes with a model of one attention layer. The model is
// a function that is recorded once and called for each token: the token and its
// growing position are staged, the graph is replayed, the next token comes back.
//
// A batch of another size gets memory and a graph of its own; another
// temperature, which is an argument of a kernel, updates the graph.
package main

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/callable"
)

//go:embed kernels.ptx
var ptx []byte

const rows = 64 // positions that the caches have room for

// step is the input of a call: a token for each sequence of a batch, at one
// position.
type step struct {
	tokens      []uint32
	position    uint32
	temperature float32
}

// choice is the output: page-locked memory that the next call writes again.
type choice struct {
	next   *driver.HostBuffer[uint32]
	logits *driver.HostBuffer[float32]
}

// model is the weights on the device, and its kernels.
type model struct {
	project, attend, choose *driver.Kernel
	embedding, q, k, v, out *driver.Buffer[float32]
}

// forward is the module. It is not told the input itself: what it asks for is
// what later calls bring.
func (m *model) forward(t *callable.Trace[step]) (choice, error) {
	tokens := callable.StageSlice(t, func(s step) []uint32 { return s.tokens })
	position := callable.StageScalar(t, func(s step) uint32 { return s.position })
	temperature := callable.Constant(t, func(s step) float32 { return s.temperature })

	batch := tokens.Len()
	var cache [3]*driver.Buffer[float32] // they keep what earlier calls left
	for i, w := range []*driver.Buffer[float32]{m.q, m.k, m.v} {
		cache[i] = callable.Scratch[float32](t, batch*rows*width)
		t.Launch(m.project, perSequence(batch), cache[i], w, m.embedding, tokens, position, uint32(rows))
	}
	mean := callable.Scratch[float32](t, batch*width)
	t.Launch(m.attend, perSequence(batch), mean, cache[0], cache[1], cache[2], position, uint32(rows), sharpness(temperature))
	next := callable.Scratch[uint32](t, batch)
	logits := callable.Scratch[float32](t, batch*width)
	t.Launch(m.choose, perSequence(batch), next, logits, m.out, mean)
	if err := t.Err(); err != nil { // a Result needs memory to copy from
		return choice{}, err
	}
	return choice{callable.Result(t, next), callable.Result(t, logits)}, nil
}

// perSequence is a block for each sequence, a thread for each element.
func perSequence(batch int) driver.LaunchConfig {
	return driver.LaunchConfig{Grid: driver.D1(batch), Block: driver.D1(width)}
}

func main() { demo.Main("09-callable", run) }

func run(d *demo.Demo) error {
	w := newWeights()
	m, err := upload(d, w)
	if err != nil {
		return err
	}
	call, err := callable.New(d.Stream, m.forward, []step{{tokens: make([]uint32, 1), temperature: 1}})
	if err != nil {
		return err
	}
	d.Close(call)
	c := &comparison{weights: w, model: call}

	alone, err := c.decode([]uint32{1}, 24, 1)
	if err != nil {
		return err
	}
	d.Printf("24 tokens: %v", alone[0])
	d.Printf("  %v", work(call))

	sharper, err := c.decode([]uint32{1}, 24, 0.25)
	if err != nil {
		return err
	}
	d.Printf("at another temperature: %v\n  %v", sharper[0], work(call))

	three, err := c.decode([]uint32{1, 2, 3}, 12, 0.25)
	if err != nil {
		return err
	}
	d.Printf("12 tokens of three sequences: %v\n  %v", three, work(call))

	d.Printf("%d logits agree with the reference; largest error %.2g, tolerance %.2g", c.compared, c.worst, tolerance)
	want := callable.Stats{Calls: 60, Recorded: 3, Updated: 1, Instantiated: 2, Variants: 2}
	if got := call.Stats(); got != want {
		return fmt.Errorf("the callable did %+v, expected %+v", got, want)
	}
	return nil
}

// work says what a callable did.
func work(c *callable.Callable[step, choice]) string {
	s := c.Stats()
	return fmt.Sprintf("so far: %d calls, %d runs of the function, %d graphs, %d updates of one", s.Calls, s.Recorded, s.Instantiated, s.Updated)
}

// comparison decodes with a module and compares each step with the reference.
type comparison struct {
	weights  *weights
	model    callable.Module[step, choice]
	compared int
	worst    float64
}

// decode returns the tokens that follow the first one of each sequence. Which
// token is next the model says, so it is what goes into the next step.
func (c *comparison) decode(first []uint32, n int, temperature float32) ([][]uint32, error) {
	tokens := append([]uint32(nil), first...)
	sequences := make([][]uint32, len(first))
	refs := make([]*reference, len(first))
	for i := range refs {
		refs[i] = &reference{weights: c.weights, temperature: float64(temperature)}
	}
	for pos := range n {
		out, err := c.model.Forward(context.Background(), step{tokens, uint32(pos), temperature})
		if err != nil {
			return nil, err
		}
		for i, ref := range refs {
			logits := out.logits.Slice()[i*width : (i+1)*width]
			if err := c.compare(logits, ref.step(tokens[i]), out.next.Slice()[i]); err != nil {
				return nil, fmt.Errorf("sequence %d, position %d: %w", i, pos, err)
			}
			sequences[i] = append(sequences[i], out.next.Slice()[i])
		}
		copy(tokens, out.next.Slice())
	}
	return sequences, nil
}

func upload(d *demo.Demo, w *weights) (*model, error) {
	m := new(model)
	if err := d.Kernels(ptx, map[string]**driver.Kernel{"project": &m.project, "attend": &m.attend, "choose": &m.choose}); err != nil {
		return nil, err
	}
	for _, u := range []struct {
		to   **driver.Buffer[float32]
		from []float32
	}{{&m.embedding, w.embedding}, {&m.q, w.q}, {&m.k, w.k}, {&m.v, w.v}, {&m.out, w.out}} {
		b, err := demo.MemoryFrom(d, u.from)
		if err != nil {
			return nil, err
		}
		*u.to = b
	}
	return m, nil
}
