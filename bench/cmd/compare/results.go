package main

import (
	"fmt"
	"math"
	"slices"
)

// results holds the measurements of all turns, by row and then by caller. Measurements with
// the same index were taken in the same turn.
type results struct {
	rows   map[string]map[string][]measurement
	starts map[string][]float64 // start times in ns
}

func newResults() *results {
	return &results{rows: map[string]map[string][]measurement{}, starts: map[string][]float64{}}
}

// alternate makes the callers measure a row in turn, forwards and backwards. Each round
// begins with a different caller, so that no caller is always first.
func (r *results) alternate(callers []*caller, row row, round, turns int) error {
	n := len(callers)
	for turn := range turns {
		for i := range n {
			if turn%2 == 1 {
				i = n - 1 - i
			}
			if err := r.measure(callers[(i+round)%n], row); err != nil {
				return err
			}
		}
	}
	return nil
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

// allocs returns the largest allocation count of all rounds, so that a row that allocates only
// sometimes does not count as free of allocations.
func (r *results) allocs(row, caller string) float64 {
	var most float64
	for _, m := range r.rows[row][caller] {
		most = max(most, m.allocs)
	}
	return most
}

// pairwise applies f to the measurements that two callers took in the same turn.
func pairwise(a, b []float64, f func(a, b float64) float64) []float64 {
	v := make([]float64, min(len(a), len(b)))
	for i := range v {
		v[i] = f(a[i], b[i])
	}
	return v
}

func ratio(a, b float64) float64 { return a / b }
func extra(a, b float64) float64 { return a - b }

// quantile returns the q-quantile of v, which must not be empty. It interpolates
// between two elements.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	at := q * float64(len(v)-1)
	i := int(at)
	if i == len(v)-1 {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// interval returns an interval that contains the median of v's distribution with a
// probability of 95 %, for any distribution. Its ends are elements of v. Each element is
// above the true median with probability 1/2, so the binomial distribution determines the
// ends.
func interval(v []float64) (low, high float64) { return intervalOf(v, 1) }

// intervalOf is like interval, but for one of several medians. With a probability of 95 %, all
// their intervals contain their medians.
func intervalOf(v []float64, medians int) (low, high float64) {
	v = slices.Sorted(slices.Values(v))
	n := float64(len(v))
	z := math.Sqrt2 * math.Erfinv(1-0.05/float64(medians)) // 1.96 for one median
	k := max(int((n-z*math.Sqrt(n))/2), 0)
	return v[k], v[len(v)-1-k]
}

func median(v []float64) float64 { return quantile(v, 0.5) }
