// Package turns compares the times of two implementations that run alternately.
package turns

import (
	"math"
	"slices"
	"time"
)

// Result has the medians of both times and of their ratio.
type Result struct {
	First, Second time.Duration
	Ratio         float64
	// Low and High bound the median of the ratio with at least 95 % confidence. This assumes nothing
	// about the distribution.
	Low, High float64
}

// Compare measures run(0) and run(1) in each turn, in alternating order. The ratio is the time of
// run(0) divided by the time of run(1).
func Compare(turns int, run func(i int) (time.Duration, error)) (r Result, err error) {
	var times [2][]time.Duration
	var ratios []float64
	for turn := range turns {
		var t [2]time.Duration
		for k := range 2 {
			i := (turn + k) % 2
			if t[i], err = run(i); err != nil {
				return r, err
			}
			times[i] = append(times[i], t[i])
		}
		ratios = append(ratios, float64(t[0])/float64(t[1]))
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	slices.Sort(ratios)
	low, high := interval(turns)
	return Result{times[0][turns/2], times[1][turns/2], ratios[turns/2], ratios[low], ratios[high]}, nil
}

// interval returns the indices of the order statistics that bound the median of n values with a
// confidence of at least 95 %.
func interval(n int) (low, high int) {
	// The number of values below the median has a binomial distribution.
	p := math.Exp2(-float64(n))
	for sum := p; 2*sum <= 0.05; sum += p {
		low++
		p *= float64(n-low+1) / float64(low)
	}
	low = max(0, low-1)
	return low, n - 1 - low
}
