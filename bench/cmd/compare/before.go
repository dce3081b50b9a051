package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	before    = "before"
	maxSlower = 1.02 // largest accepted ratio of a row's time to its time in the earlier build
)

// runBefore compares the build in dir with an earlier gobench.
func runBefore(earlier, dir, note string, p plan) (ok bool, err error) {
	if p.layouts > p.processes {
		return false, fmt.Errorf("%d layouts need as many -processes", p.layouts)
	}
	known = func(dir string, i int) []*caller {
		return []*caller{{name: before, path: p.layout(earlier, i)}, {name: inGo, path: p.layout(filepath.Join(dir, "gobench"), i)}}
	}
	p.starts = 0
	results, callers, p, err := p.measure(dir)
	if err != nil {
		return false, err
	}
	head(os.Stdout, "Two builds of the library", note, p, callers)
	return beforeReport(os.Stdout, results), nil
}

// layout returns the path of the program for the i-th process. With -layouts, the processes run
// builds that differ only in the order of their functions.
func (p plan) layout(program string, i int) string {
	if p.layouts == 0 {
		return program
	}
	return fmt.Sprintf("%s.%d", program, i%p.layouts+1)
}

// beforeReport prints a row for each call that both builds measure. It returns false if a
// row's median ratio exceeds maxSlower, or if there is no row.
func beforeReport(w io.Writer, r *results) (ok bool) {
	fmt.Fprintf(w, "| call | before | now | ratio | allocs/op before | now | at most %.2f |\n|---|--:|--:|--:|--:|--:|---|\n", maxSlower)
	compared, kept := 0, 0
	var alone []string
	for _, row := range rows {
		old, now := r.times(row.name, before), r.times(row.name, inGo)
		if len(old) == 0 || len(now) == 0 {
			alone = append(alone, row.title)
			continue
		}
		compared++
		ratios := pairwise(now, old, ratio)
		word := "NO"
		if median(ratios) <= maxSlower {
			word = "yes"
			kept++
		}
		fmt.Fprintf(w, "| %s | %.4g | %.4g | %s | %.2g | %.2g | %s |\n", row.title, median(old), median(now),
			spread(ratios), r.allocs(row.name, before), r.allocs(row.name, inGo), word)
	}
	fmt.Fprintf(w, "\n%d of %d rows kept.\n", kept, compared)
	for _, title := range alone {
		fmt.Fprintf(w, "Not in both builds: %s.\n", title)
	}
	return compared > 0 && kept == compared
}
