// Command compare makes the same driver calls from C, from the library's typed layer, from
// cgo and from purego, and prints the ratios as Markdown.
//
// Each caller is a separate process. Compare starts all callers and makes them measure one row at a
// time, in turn. The speed of a machine drifts, so compare uses only ratios of measurements taken
// at the same time. The memory layout of a process changes its speed by a few percent for as long
// as it runs, so the flag -processes sets how many times compare restarts the callers. The output
// is the median of the ratios of all turns, with its confidence interval. The exit status is 1 if a
// budget is missed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", beside(), "folder of the callers: bench-c, gobench, cgobench, puregobench")
	rounds := flag.Int("rounds", 25, "rounds over all rows")
	turns := flag.Int("turns", 4, "turns of the callers on a row in a round")
	processes := flag.Int("processes", 1, "times that the callers are started anew; each time they run all rounds")
	limit := flag.Duration("limit", 0, "begin no round after this time, processes taken together; 0: none")
	cpus := flag.String("cpus", "", "processors that all callers are held to, such as 2,3; \"\": any")
	starts := flag.Int("starts", 7, "rounds of process starts, up to the first kernel's result")
	only := flag.String("rows", "", "regular expression: measure only rows whose name matches")
	kernels := flag.Bool("kernels", false, "measure the launch of every kernel of package signatures instead")
	earlier := flag.String("before", "", "gobench of an earlier commit: compare with that instead of C")
	layouts := flag.Int("layouts", 0, "with -before: how many gobench.1, gobench.2, ... there are beside both, used in turn by the processes")
	services := flag.Int("serve", 0, "compare services instead, in this many turns")
	flag.DurationVar(&window, "window", window, "with -serve: measured time of each service in a turn")
	flag.StringVar(&crowds, "callers", crowds, "with -serve: numbers of callers")
	flag.StringVar(&waits, "waits", waits, "with -serve: context flags of all programs: auto, spin, yield or blocking")
	flag.DurationVar(&work, "work", work, "with -serve: time for which a caller works between two calls")
	note := flag.String("note", "", "line for the report's head: commit, machine")
	flag.Parse()
	if err := choose(*only); err != nil && !*kernels {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if err := pin(*cpus); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if *cpus != "" {
		*note = strings.TrimPrefix(*note+"; all callers on processors "+*cpus, "; ")
	}
	p := plan{*rounds, *turns, *starts, *processes, *layouts, *limit}
	ok, err := false, error(nil)
	if *earlier != "" {
		ok, err = runBefore(*earlier, *dir, *note, p)
	} else if *services > 0 {
		ok, err = runServices(os.Stdout, *dir, *note, *services, *limit)
	} else if *kernels {
		ok, err = runKernels(*dir, *only, *note, p)
	} else {
		ok, err = run(*dir, *note, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// choose keeps only the rows whose names match pattern.
func choose(pattern string) error {
	name, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool { return !name.MatchString(r.name) })
	if len(rows) == 0 {
		return fmt.Errorf("no row matches %q", pattern)
	}
	return nil
}

func beside() string {
	exe, err := os.Executable()
	if err != nil {
		return "."
	}
	return filepath.Dir(exe)
}

// plan holds the numbers of repetitions.
type plan struct {
	rounds, turns, starts, processes, layouts int
	limit                                     time.Duration // time limit for all rounds together
}

func run(dir, note string, p plan) (ok bool, err error) {
	if p.starts < 1 {
		return false, errors.New("-starts must be at least 1")
	}
	results, callers, p, err := p.measure(dir)
	if err != nil {
		return false, err
	}
	return report(os.Stdout, note, p, callers, results), nil
}

// measure makes the callers measure all rows. The returned plan has the actual number of
// rounds.
func (p plan) measure(dir string) (*results, []*caller, plan, error) {
	if p.rounds < 1 || p.turns < 1 || p.processes < 1 {
		return nil, nil, p, errors.New("-rounds, -turns and -processes must be at least 1")
	}
	results := newResults()
	var callers []*caller
	done := 0
	for i := range p.processes {
		var rounds int
		var err error
		if callers, rounds, err = p.process(dir, i, results); err != nil {
			return nil, nil, p, err
		}
		done += rounds
	}
	p.rounds = done
	for round := range p.starts {
		for i := range callers {
			if err := results.start(callers[(i+round)%len(callers)]); err != nil {
				return nil, nil, p, err
			}
		}
	}
	return results, callers, p, nil
}

// process starts the callers for the i-th time, measures all rows, and stops the callers.
func (p plan) process(dir string, i int, results *results) (callers []*caller, rounds int, err error) {
	callers, err = startAll(dir, i)
	defer func() { err = errors.Join(err, stopAll(callers)) }()
	if err != nil {
		return callers, 0, err
	}
	for begin := time.Now(); rounds < p.rounds; rounds++ {
		if p.limit > 0 && time.Since(begin) > p.limit/time.Duration(p.processes) {
			break
		}
		for _, row := range rows {
			if err := results.alternate(callers, row, rounds, p.turns); err != nil {
				return callers, rounds, err
			}
		}
	}
	return callers, rounds, nil
}
