package main

import (
	"context"
	"fmt"
	"math"
)

// agreement reports how well the logits agree with the reference.
type agreement struct {
	logits int
	worst  float64 // largest error, relative to the largest logit for the same token
}

// tolerance is about a hundred times the rounding error of float32. Using the key of a wrong
// position, or a wrong angle, causes a far larger error.
const tolerance = 1e-4

// follow decodes with separate launches. It compares the logits of the first n tokens with a
// reference that continues with the tokens that the device chose.
func (m *model) follow(n int) (a agreement, err error) {
	if err := m.reset(); err != nil {
		return a, err
	}
	ref, logits := newReference(m.weights), make([]float32, m.vocabulary)
	for i := range m.tokens {
		if err := m.launches(); err != nil {
			return a, err
		}
		if err := m.Stream.Wait(context.Background()); err != nil {
			return a, err
		}
		if i >= n {
			continue
		}
		if err := m.logits.CopyTo(logits); err != nil {
			return a, err
		}
		if err := m.compare(&a, i, logits, ref.step(int(m.seen.Slice()[i]))); err != nil {
			return a, fmt.Errorf("position %d: %w", i, err)
		}
	}
	return a, nil
}

// compare checks the logits, and that the device chose the token with the best score. If two
// scores differ only by rounding, it accepts either token.
func (m *model) compare(a *agreement, position int, got []float32, want []float64) error {
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		diff := math.Abs(float64(got[i])-w) / largest
		if !(diff <= tolerance) { // written so that a NaN fails
			return fmt.Errorf("logit %d is %v, the reference says %v", i, got[i], w)
		}
		a.worst = max(a.worst, diff)
		a.logits++
	}
	if position+1 < len(m.prompt) {
		return nil
	}
	chosen := int(m.seen.Slice()[position+1])
	if chosen < 0 || chosen >= len(want) {
		return fmt.Errorf("token %d is none of %d", chosen, len(want))
	}
	least := m.score(position, chosen, want[chosen])
	slack := 2 * (m.score(position, 0, tolerance*largest) - m.score(position, 0, 0))
	for i, w := range want {
		if m.score(position, i, w) > least+slack+1e-5 {
			return fmt.Errorf("token %d was chosen, the reference prefers %d", chosen, i)
		}
	}
	return nil
}

// score returns the value whose maximum selects the next token. With a temperature, the
// noise turns the maximum into a random sample.
func (m *model) score(position, token int, logit float64) float64 {
	if m.temperature == 0 {
		return logit
	}
	return logit/m.temperature + noise(uint32(m.seed), position, token)
}
