// Command 09-callable generates tokens with a model of one attention layer. The model is a
// callable: a function that is recorded once and then called for each token. A call copies
// the token and its position to the device, replays the graph and returns the next token.
//
// Each batch size has its own memory and graph. The temperature is a kernel argument, so
// changing it updates the graph.
package main

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/callable"
)

const rows = 64 // number of positions that fit in the caches

// step is the input of a call: one token for each sequence of the batch. All sequences of a batch
// are at the same position.
type step struct {
	tokens      []uint32
	position    uint32
	temperature float32
}

// choice is the output, in page-locked memory. The next call overwrites it.
type choice struct {
	next   *driver.HostBuffer[uint32]
	logits *driver.HostBuffer[float32]
}

// model holds the kernels in kernels.go, and the weights in device memory.
type model struct {
	project                 Project
	attend                  Attend
	choose                  Choose
	embedding, q, k, v, out *driver.Buffer[float32]
}

// forward records the work of a call. Instead of reading the input directly, it declares how each
// call uses the parts of the input.
func (m *model) forward(t *callable.Trace[step]) (choice, error) {
	tokens := callable.StageSlice(t, func(s step) []uint32 { return s.tokens })
	position := callable.StageScalar(t, func(s step) uint32 { return s.position })
	temperature := callable.Constant(t, func(s step) float32 { return s.temperature })

	batch := tokens.Len()
	var cache [3]*driver.Buffer[float32] // these buffers keep their contents from call to call
	for i, w := range []*driver.Buffer[float32]{m.q, m.k, m.v} {
		cache[i] = callable.Scratch[float32](t, batch*rows*width)
		t.Try(m.project.Op(m.project.Grid(batch*width), cache[i], w, m.embedding, tokens, position))
	}
	mean := callable.Scratch[float32](t, batch*width)
	t.Try(m.attend.Op(m.attend.Grid(batch*width), mean, cache[0], cache[1], cache[2], position, sharpness(temperature)))
	next := callable.Scratch[uint32](t, batch)
	logits := callable.Scratch[float32](t, batch*width)
	t.Try(m.choose.Op(m.choose.Grid(batch*width), next, logits, m.out, mean))
	if err := t.Err(); err != nil { // stop here after an error, because Result needs valid memory
		return choice{}, err
	}
	return choice{callable.Result(t, next), callable.Result(t, logits)}, nil
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
	got := call.Stats()
	want := callable.Stats{Calls: 60, Replayed: 60, Recorded: 3, Updated: 1, Instantiated: 2, Variants: 2, MemoryBytes: got.MemoryBytes}
	if got != want {
		return fmt.Errorf("the callable did %+v, expected %+v", got, want)
	}
	return nil
}
