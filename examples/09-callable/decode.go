package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/graph/callable"
)

// work formats the statistics of a callable.
func work(c *callable.Callable[step, choice]) string {
	s := c.Stats()
	return fmt.Sprintf("so far: %d calls, %d runs of the function, %d graphs, %d updates of one", s.Calls, s.Recorded, s.Instantiated, s.Updated)
}

// comparison compares each decoding step with the reference.
type comparison struct {
	weights  *weights
	model    callable.Module[step, choice]
	compared int
	worst    float64
}

// decode returns the n tokens that follow each sequence's first token. The output of each
// step is the input of the next.
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
	project, err1 := ProjectIn(d.Context)
	attend, err2 := AttendIn(d.Context)
	choose, err3 := ChooseIn(d.Context)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	m := &model{project: project, attend: attend, choose: choose}
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
