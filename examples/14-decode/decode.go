package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/purecuda/cuda/graph"
)

// timing is what decoding a sequence one way took.
type timing struct {
	host time.Duration // handing a token's work to the driver, without the waiting
	wall time.Duration // a token from begin to end
}

// decode decodes the sequence from its beginning. enqueue hands a step over; the
// host waits for, and then has, the tokens so far after each `every` of them.
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

// launches hands the operations of a step to the stream, one by one.
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

// rounds is how often a sequence is decoded each way; the medians count.
func (m *model) rounds() int {
	if m.Emulated {
		return 1
	}
	return 5
}

// measure decodes by both ways in turn and looks that the tokens are want.
func (m *model) measure(every int, ways [2]func() error, want []int32) (result [2]timing, err error) {
	var host, wall [2][]time.Duration
	for range m.rounds() {
		for i, way := range ways {
			clear(m.seen.Slice())
			t, err := m.decode(every, way)
			if err != nil {
				return result, err
			}
			if got := m.seen.Slice(); !slices.Equal(got, want) {
				return result, fmt.Errorf("the tokens are %v, by the first run %v", got, want)
			}
			host[i], wall[i] = append(host[i], t.host), append(wall[i], t.wall)
		}
	}
	for i := range result {
		result[i] = timing{median(host[i]), median(wall[i])}
	}
	return result, nil
}

func median(v []time.Duration) time.Duration {
	slices.Sort(v)
	return v[len(v)/2]
}
