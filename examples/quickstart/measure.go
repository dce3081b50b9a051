package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// bench runs steps of a stack and compares every result with the reference.
type bench struct {
	model *model
	stack *stack
	steps int

	inputs [][]float32
	want   [][]float64 // outputs of the reference for inputs, with the default scalars

	compared int
	worst    float64
	failures []string
}

func newBench(m *model, s *stack, p scalars, steps int) *bench {
	b := &bench{model: m, stack: s, steps: steps}
	for i := range steps {
		input := m.input(i)
		b.inputs = append(b.inputs, input)
		b.want = append(b.want, m.forward(input, p))
	}
	return b
}

// timing holds the median times of a step.
type timing struct {
	way   string
	host  time.Duration // host time to copy the input to page-locked memory and to enqueue the work
	wall  time.Duration // time until the result is in host memory
	worst float64       // largest error
}

// measure runs all steps with enqueue and returns the median times.
func (b *bench) measure(way string, enqueue func() error) (timing, error) {
	t := timing{way: way}
	host, wall := make([]time.Duration, b.steps), make([]time.Duration, b.steps)
	if _, _, err := b.step(b.inputs[0], enqueue); err != nil { // warm-up
		return t, fmt.Errorf("%s: %w", way, err)
	}
	for i, input := range b.inputs {
		var err error
		if host[i], wall[i], err = b.step(input, enqueue); err != nil {
			return t, fmt.Errorf("%s: step %d: %w", way, i, err)
		}
		t.worst = max(t.worst, b.compare(fmt.Sprintf("%s, step %d", way, i), b.want[i]))
	}
	t.host, t.wall = median(host), median(wall)
	return t, nil
}

// step runs the stack once on a new input.
func (b *bench) step(input []float32, enqueue func() error) (host, wall time.Duration, err error) {
	begin := time.Now()
	copy(b.stack.in.Slice(), input)
	if err := enqueue(); err != nil {
		return 0, 0, err
	}
	host = time.Since(begin)
	if err := b.stack.stream.Wait(context.Background()); err != nil {
		return 0, 0, err
	}
	return host, time.Since(begin), nil
}

// check runs a few steps with the scalars p, which differ from the defaults.
func (b *bench) check(what string, p scalars, enqueue func() error) error {
	for i, input := range b.inputs[:min(3, len(b.inputs))] {
		if _, _, err := b.step(input, enqueue); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		b.compare(fmt.Sprintf("%s, step %d", what, i), b.model.forward(input, p))
	}
	return nil
}

// compare records the difference between the result in host memory and want.
func (b *bench) compare(what string, want []float64) float64 {
	d := difference(b.stack.out.Slice(), want)
	b.compared++
	b.worst = max(b.worst, d)
	if d > b.model.tolerance() {
		b.failures = append(b.failures, fmt.Sprintf("%s: error %.2g, tolerance %.2g", what, d, b.model.tolerance()))
	}
	clear(b.stack.out.Slice()) // otherwise a step that writes nothing would pass
	return d
}

func median(v []time.Duration) time.Duration {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
