package main

import (
	"fmt"
	"slices"
)

// results are the measurements of all rounds: by row, then by caller. The i-th
// measurements of two callers were taken in the same round.
type results struct {
	rows   map[string]map[string][]measurement
	starts map[string][]float64 // ns
}

func newResults() *results {
	return &results{rows: map[string]map[string][]measurement{}, starts: map[string][]float64{}}
}

func (r *results) measure(c *caller, row row) error {
	m, ok, err := c.ask(row)
	if err != nil || !ok {
		return err
	}
	if m.nanoseconds <= 0 {
		return fmt.Errorf("%s: %s took %g ns", c.name, row.name, m.nanoseconds)
	}
	if r.rows[row.name] == nil {
		r.rows[row.name] = map[string][]measurement{}
	}
	r.rows[row.name][c.name] = append(r.rows[row.name][c.name], m)
	return nil
}

func (r *results) start(c *caller) error {
	took, err := c.first()
	r.starts[c.name] = append(r.starts[c.name], float64(took))
	return err
}

func (r *results) times(row, caller string) []float64 {
	var v []float64
	for _, m := range r.rows[row][caller] {
		v = append(v, m.nanoseconds)
	}
	return v
}

// allocs is the largest count of all rounds: one that allocates sometimes
// allocates.
func (r *results) allocs(row, caller string) float64 {
	var most float64
	for _, m := range r.rows[row][caller] {
		most = max(most, m.allocs)
	}
	return most
}

// pairwise applies f to what two callers measured in the same round.
func pairwise(a, b []float64, f func(a, b float64) float64) []float64 {
	v := make([]float64, min(len(a), len(b)))
	for i := range v {
		v[i] = f(a[i], b[i])
	}
	return v
}

func ratio(a, b float64) float64 { return a / b }
func extra(a, b float64) float64 { return a - b }

// quantile of v, which must not be empty; it lies between two elements where
// none is exactly there.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	at := q * float64(len(v)-1)
	i := int(at)
	if i == len(v)-1 {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

func median(v []float64) float64 { return quantile(v, 0.5) }
