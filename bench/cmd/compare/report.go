package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints the tables and reports whether every budget was kept.
func report(w io.Writer, note string, p plan, callers []*caller, r *results) (ok bool) {
	head(w, "Driver calls against C", note, p, callers)
	ok = budgets(w, callers, r)
	others(w, callers, r)
	return processStarts(w, p.starts, callers, r) && ok
}

func head(w io.Writer, title, note string, p plan, callers []*caller) {
	fmt.Fprintf(w, "# %s\n\n", title)
	for _, c := range callers {
		fmt.Fprintf(w, "- %s: %s\n", c.name, c.description)
	}
	if note != "" {
		fmt.Fprintf(w, "- %s\n", note)
	}
	fmt.Fprintf(w, "\n%d rounds of %d turns in %d processes of each caller, the callers alternating row by row. A time is the median of the turns, in ns per call;\n"+
		"a ratio is the median of the ratios within a turn, in brackets the 95%% confidence interval of that median.\n\n", p.rounds, p.turns, p.processes)
}

func budgets(w io.Writer, callers []*caller, r *results) (ok bool) {
	ok = true
	fmt.Fprintf(w, "| call | C | %s | to C | budget | to cgo | allocs/op | kept |\n|---|--:|--:|--:|--:|--:|--:|---|\n", inGo)
	for _, row := range rows {
		c, g := r.times(row.name, inC), r.times(row.name, inGo)
		if len(c) == 0 || len(g) == 0 {
			fmt.Fprintf(w, "| %s | | | | | | | not measured |\n", row.title)
			ok = false
			continue
		}
		missed := row.missed(r)
		ok = ok && len(missed) == 0
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %s | %s | %s | %.2g | %s |\n", row.title, median(c), median(g),
			spread(pairwise(g, c, ratio)), row.budget(), spread(pairwise(g, r.times(row.name, cgo), ratio)),
			r.allocs(row.name, inGo), verdict(missed))
	}
	return ok
}

// others prints the results of the callers that are not required.
func others(w io.Writer, callers []*caller, r *results) {
	fmt.Fprintf(w, "\nThe other ways, each as time, ratio to C and allocations per call:\n\n| call |")
	for _, c := range callers[2:] {
		fmt.Fprintf(w, " %s |", c.name)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(callers)-2))
	for _, row := range rows {
		fmt.Fprintf(w, "| %s |", row.title)
		for _, c := range callers[2:] {
			v := r.times(row.name, c.name)
			if len(v) == 0 {
				fmt.Fprint(w, " |")
				continue
			}
			fmt.Fprintf(w, " %.4g, %s, %.2g |", median(v), spread(pairwise(v, r.times(row.name, inC), ratio)), r.allocs(row.name, c.name))
		}
		fmt.Fprintln(w)
	}
}

func processStarts(w io.Writer, rounds int, callers []*caller, r *results) (ok bool) {
	fmt.Fprintf(w, "\nProcess start to the first kernel's checked result, %d rounds, in ms:\n\n"+
		"| caller | median | over C |\n|---|--:|--:|\n", rounds)
	for _, c := range callers {
		v := r.starts[c.name]
		over := pairwise(v, r.starts[inC], extra)
		fmt.Fprintf(w, "| %s | %.1f | %.1f [%.1f, %.1f] |\n", c.name, median(v)/1e6,
			median(over)/1e6, quantile(over, 0)/1e6, quantile(over, 1)/1e6)
	}
	over := median(pairwise(r.starts[inGo], r.starts[inC], extra))
	ok = over <= maxStart
	word := "kept"
	if !ok {
		word = "MISSED"
	}
	fmt.Fprintf(w, "\nBudget for %s: %.0f ms over C: %s.\n", inGo, maxStart/1e6, word)
	return ok
}

func (r row) budget() string {
	var s []string
	if r.ratio > 0 {
		s = append(s, fmt.Sprintf("%.2f × C", r.ratio))
	}
	if r.extra > 0 {
		s = append(s, fmt.Sprintf("C + %g ns", r.extra))
	}
	if r.atMost > 0 {
		s = append(s, fmt.Sprintf("%g ns", r.atMost))
	}
	if r.vsCgo {
		s = append(s, "cgo")
	}
	if r.overCgo > 0 {
		s = append(s, fmt.Sprintf("%.2f × cgo", r.overCgo))
	}
	if r.times > 0 {
		s = append(s, fmt.Sprintf("%g × less than %s", r.times, r.lessThan))
	}
	return strings.Join(s, ", ")
}

// missed returns the budgets that the row exceeds.
func (row row) missed(r *results) (missed []string) {
	c, g, viaCgo := r.times(row.name, inC), r.times(row.name, inGo), r.times(row.name, cgo)
	if row.ratio > 0 && median(pairwise(g, c, ratio)) > row.ratio {
		missed = append(missed, "ratio")
	}
	if row.extra > 0 && median(pairwise(g, c, extra)) > row.extra {
		missed = append(missed, "time over C")
	}
	if row.atMost > 0 && median(g) > row.atMost {
		missed = append(missed, "time")
	}
	// Of two callers with equal speed, each is slower in half of the rounds. The library
	// counts as slower than cgo only if it takes longer in three of four rounds.
	if row.vsCgo && len(viaCgo) > 0 && quantile(pairwise(g, viaCgo, ratio), 0.25) > 1 {
		missed = append(missed, "slower than cgo")
	}
	if row.overCgo > 0 && len(viaCgo) > 0 && median(pairwise(g, viaCgo, ratio)) > row.overCgo {
		missed = append(missed, "ratio to cgo")
	}
	if row.times > 0 && len(r.times(row.lessThan, inGo)) > 0 && median(pairwise(r.times(row.lessThan, inGo), g, ratio)) < row.times {
		missed = append(missed, "not "+row.budget())
	}
	if row.name != table && r.allocs(row.name, inGo) >= row.allocs+maxAllocs {
		missed = append(missed, "allocates")
	}
	return missed
}

func spread(ratios []float64) string {
	if len(ratios) == 0 {
		return ""
	}
	low, high := interval(ratios)
	return fmt.Sprintf("%.3f [%.3f, %.3f]", median(ratios), low, high)
}

func verdict(missed []string) string {
	if len(missed) == 0 {
		return "yes"
	}
	return "NO: " + strings.Join(missed, ", ")
}
