package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// serviceReport prints the tables and reports whether all bars were met.
func serviceReport(w io.Writer, note string, n int, callers []*caller, all []load, results []turns) (ok bool) {
	fmt.Fprint(w, "# A service, against C\n\n")
	for _, c := range callers {
		fmt.Fprintf(w, "- %s: %s\n", c.name, c.description)
	}
	if note != "" {
		fmt.Fprintf(w, "- %s\n", note)
	}
	if work > 0 {
		fmt.Fprintf(w, "- A caller works for %v between two calls.\n", work)
	}
	fmt.Fprintf(w, "\nA call copies 4 KiB to the device, runs 160 kernels as a graph and copies 4 KiB back. %d turns of %v for each row, the services\n"+
		"alternating. Numbers are medians of the turns. A ratio is the median of the ratios within a turn, in brackets the 95%% confidence\n"+
		"interval of that median.\n\n", n, window)
	if n == 0 {
		fmt.Fprint(w, "Nothing was measured.\n")
		return false
	}
	details(w, all, results)
	ok = bars(w, all, results)
	if n < 5 {
		fmt.Fprintf(w, "\n%d turns are too few for a verdict.\n", n)
		ok = false
	}
	fmt.Fprintf(w, "\nAll bars: %s.\n", map[bool]string{true: "met", false: "MISSED"}[ok])
	return ok
}

// details prints the measurements of each service.
func details(w io.Writer, all []load, results []turns) {
	fmt.Fprint(w, "| callers | execs | service | calls/s | p50 µs | p99 µs | p99.9 µs | µs of an exec per call | CPU µs/call | processors used | threads | allocs/call | most allocs/call | wrong |\n"+
		"|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, l := range all {
		for _, s := range l.services {
			t := results[i][s]
			wrong := 0
			for _, r := range t {
				wrong += r.wrong
			}
			fmt.Fprintf(w, "| %d | %d | %s | %.0f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.0f | %.2g | %.2g | %d |\n", l.callers, l.replicas, s.title,
				medianOf(t, served.throughput), medianOf(t, served.p50µs), medianOf(t, served.p99µs), medianOf(t, served.p999µs),
				1e6*float64(l.replicas)/medianOf(t, served.throughput), 1e6*medianOf(t, served.perCall), medianOf(t, served.processors),
				medianOf(t, served.threadsAlive), medianOf(t, served.allocsPerCall), maxOf(t, served.allocsPerCall), wrong)
		}
	}
}

// bars prints the ratios of a Pool to C and to a Callable. C is represented by the fastest C
// service.
func bars(w io.Writer, all []load, results []turns) (ok bool) {
	fmt.Fprintf(w, "\n| callers | execs | serve.Pool to | calls/s, at least %.2f | p99, at most %.2f | CPU per call | allocs/call | kept |\n"+
		"|--:|--:|---|--:|--:|--:|--:|---|\n", minThroughput, maxP99)
	ok = true
	for i, l := range all {
		t := results[i]
		inOrder := l.inC()
		slices.SortStableFunc(inOrder, func(a, b service) int {
			return cmp.Compare(medianOf(t[b], served.throughput), medianOf(t[a], served.throughput))
		})
		for k, s := range inOrder {
			if k == 0 {
				ok = bar(w, l, t, s, " (the fastest)", true) && ok
			} else {
				bar(w, l, t, s, " (for information)", false)
			}
		}
		if len(t[callable]) > 0 {
			ok = bar(w, l, t, callable, "", true) && ok
		}
	}
	return ok
}

// inC returns the services in C.
func (l load) inC() (list []service) {
	for _, s := range l.services {
		if s.caller == inC {
			list = append(list, s)
		}
	}
	return list
}

// bar prints the ratios of a Pool to one other service. The Pool can miss a limit only if counts is
// true.
func bar(w io.Writer, l load, t turns, other service, remark string, counts bool) (ok bool) {
	throughput := pairs(t, other, served.throughput)
	p99 := pairs(t, other, served.p99µs)
	allocs := medianOf(t[pooled], served.allocsPerCall)
	var missed []string
	if median(throughput) < minThroughput {
		missed = append(missed, "calls/s")
	}
	if median(p99) > maxP99 {
		missed = append(missed, "p99")
	}
	if allocs > maxCallAllocs {
		missed = append(missed, "allocates")
	}
	for _, r := range append(t[pooled], t[other]...) {
		if r.wrong > 0 {
			missed = append(missed, "wrong results")
			break
		}
	}
	word := verdict(missed)
	if !counts {
		word = "–"
	}
	fmt.Fprintf(w, "| %d | %d | %s%s | %s | %s | %s | %.2g | %s |\n", l.callers, l.replicas, other.title, remark,
		spread(throughput), spread(p99), spread(pairs(t, other, served.perCall)), allocs, word)
	return len(missed) == 0
}

// pairs returns the ratios of a Pool's value to another service's value in the same turn.
func pairs(t turns, other service, value func(served) float64) []float64 {
	return pairwise(values(t[pooled], value), values(t[other], value), ratio)
}

func values(t []served, value func(served) float64) (v []float64) {
	for _, r := range t {
		v = append(v, value(r))
	}
	return v
}

func medianOf(t []served, value func(served) float64) float64 { return median(values(t, value)) }

// maxOf returns the largest value of all turns.
func maxOf(t []served, value func(served) float64) (most float64) {
	for _, v := range values(t, value) {
		most = max(most, v)
	}
	return most
}

func (s served) p50µs() float64        { return s.p50 / 1e3 }
func (s served) p99µs() float64        { return s.p99 / 1e3 }
func (s served) p999µs() float64       { return s.p999 / 1e3 }
func (s served) processors() float64   { return s.processor / s.seconds }
func (s served) threadsAlive() float64 { return s.threads }
