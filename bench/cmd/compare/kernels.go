package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// maxLaunch is the largest accepted time of a generated launcher, relative to C.
const maxLaunch = 1.10

// runKernels compares the launches of all kernels of package signatures. The callers are
// launchbench and launchbench-c, and there is one row per kernel.
func runKernels(dir, pattern, note string, p plan) (ok bool, err error) {
	files, err := os.MkdirTemp("", "launchbench")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(files)) }()
	program := filepath.Join(dir, "launchbench")
	if out, err := exec.Command(program, "list", files).CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s list: %w: %s", program, err, out)
	}
	list := filepath.Join(files, "list.txt")
	if rows, err = kernelRows(list); err != nil {
		return false, err
	}
	if err := choose(pattern); err != nil {
		return false, err
	}
	known = func(string, int) []*caller {
		return []*caller{{name: inC, path: program + "-c", args: []string{list}}, {name: inGo, path: program}}
	}
	p.starts = 0
	results, callers, p, err := p.measure(dir)
	if err != nil {
		return false, err
	}
	head(os.Stdout, "Launches of all kernels against C", note, p, callers)
	return kernelReport(os.Stdout, results), nil
}

// kernelRows creates a row for each line of the list. The title contains the number of
// parameters.
func kernelRows(list string) ([]row, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 9 {
			return nil, fmt.Errorf("%s: what is %q?", list, line)
		}
		rows = append(rows, row{name: f[1], title: f[8], operations: 300, samples: 3, ratio: maxLaunch})
	}
	return rows, nil
}

type kernelRatio struct {
	row         row
	c, g, ratio float64
	low, high   float64
	allocs      float64
}

// enoughTurns is the number of turns needed to judge single kernels. With fewer turns, the
// interval extends from the lowest to the highest ratio, so it proves nothing.
const enoughTurns = 24

// kernelReport prints the tables. A kernel misses the budget if its whole interval is above the
// budget. Among hundreds of medians, some are wrong by chance. The intervals are therefore wide
// enough that all of them hold at once with the intended confidence. The median over all kernels is
// compared with the budget directly.
func kernelReport(w io.Writer, r *results) (ok bool) {
	var all []kernelRatio
	turns := math.MaxInt
	for _, row := range rows {
		c, g := r.times(row.name, inC), r.times(row.name, inGo)
		if len(c) == 0 || len(g) == 0 {
			fmt.Fprintf(w, "%s was not measured\n", row.name)
			return false
		}
		k := kernelRatio{row: row, c: median(c), g: median(g), ratio: median(pairwise(g, c, ratio)), allocs: r.allocs(row.name, inGo)}
		turns = min(turns, len(c), len(g))
		k.low, k.high = intervalOf(pairwise(g, c, ratio), len(rows))
		all = append(all, k)
	}
	ok = kernelSummary(w, all)
	if turns < enoughTurns {
		fmt.Fprintf(w, "Not kept: %d turns are too few to judge single kernels, it takes %d.\n\n", turns, enoughTurns)
		ok = false
	}
	byParameters(w, all)
	slices.SortStableFunc(all, func(a, b kernelRatio) int { return cmp.Compare(b.ratio, a.ratio) })
	fmt.Fprintf(w, "\n| kernel | parameters | C | %s | to C |\n|---|--:|--:|--:|--:|\n", inGo)
	for _, k := range all {
		fmt.Fprintf(w, "| %s | %s | %.4g | %.4g | %.3f [%.3f, %.3f] |\n", k.row.name, k.row.title, k.c, k.g, k.ratio, k.low, k.high)
	}
	return ok
}

func kernelSummary(w io.Writer, all []kernelRatio) bool {
	var ratios []float64
	above, missed, allocate := 0, 0, 0
	for _, k := range all {
		ratios = append(ratios, k.ratio)
		if k.ratio > maxLaunch {
			above++
		}
		if k.low > maxLaunch {
			missed++
		}
		if k.allocs >= maxAllocs {
			allocate++
		}
	}
	ok := median(ratios) <= maxLaunch && missed == 0 && allocate == 0
	fmt.Fprintf(w, "%d kernels: the median of their ratios is %.3f, nine of ten are below %.3f, the highest is %.3f.\n"+
		"Budget %.2f × C and no allocation: %d are above, %d of them with the whole interval; %d allocate. %s.\n\n",
		len(all), median(ratios), quantile(ratios, 0.9), quantile(ratios, 1), maxLaunch, above, missed, allocate,
		map[bool]string{true: "Kept", false: "MISSED"}[ok])
	return ok
}

// byParameters prints a table of the launch times by number of parameters.
func byParameters(w io.Writer, all []kernelRatio) {
	groups := map[string][]kernelRatio{}
	for _, k := range all {
		groups[k.row.title] = append(groups[k.row.title], k)
	}
	of := func(title string, f func(kernelRatio) float64) float64 {
		var v []float64
		for _, k := range groups[title] {
			v = append(v, f(k))
		}
		return median(v)
	}
	var titles []string
	for title := range groups {
		titles = append(titles, title)
	}
	slices.SortFunc(titles, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	fmt.Fprintf(w, "| parameters | kernels | C | %s | to C |\n|--:|--:|--:|--:|--:|\n", inGo)
	for _, t := range titles {
		fmt.Fprintf(w, "| %s | %d | %.4g | %.4g | %.3f |\n", t, len(groups[t]), of(t, func(k kernelRatio) float64 { return k.c }),
			of(t, func(k kernelRatio) float64 { return k.g }), of(t, func(k kernelRatio) float64 { return k.ratio }))
	}
}
