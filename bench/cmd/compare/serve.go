package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Settings of the comparison of services.
var (
	window = time.Second
	crowds = "16,256"
	waits  = "auto"
	work   time.Duration
)

// Limits for a service, relative to C or to a Callable.
const (
	minThroughput = 0.97
	maxP99        = 1.10
	// maxCallAllocs is the number of allocations per call that still counts as 0. The runtime
	// itself sometimes allocates, for example when a goroutine first waits on another processor.
	maxCallAllocs = 0.01
)

// service is one way of serving.
type service struct {
	title  string
	caller string // inC or inGo
	how    string // how the service is named in the command
}

var (
	workers  = service{"C, a worker thread for each exec", inC, "workers"}
	listed   = service{"C, callers take an exec from a list", inC, "list"}
	early    = service{"C, workers, input copied before the graph", inC, "before"}
	pooled   = service{"serve.Pool", inGo, "pool"}
	callable = service{"Callable.CallWith", inGo, "callable"}
)

// load is a combination of a number of callers and a number of replicas, with the services that are
// measured under it.
type load struct {
	callers, replicas int
	services          []service
}

// loads returns all loads for a list of numbers of callers.
func loads(callers string) ([]load, error) {
	var all []load
	cs := []service{workers, listed, early}
	for s := range strings.SplitSeq(callers, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-callers %s: %q is not a number of callers", callers, s)
		}
		all = append(all, load{n, 4, append(cs[:len(cs):len(cs)], pooled)}, load{n, 1, append(cs[:len(cs):len(cs)], pooled, callable)})
		cs = cs[:2] // for C, the place where the input is copied matters little with this number of callers
	}
	return all, nil
}

func (l load) String() string { return fmt.Sprintf("%d callers, %d exec", l.callers, l.replicas) }

// served is a program's result for a load.
type served struct {
	calls, seconds, p50, p99, p999, processor, allocs, threads float64
	wrong                                                      int
}

func (s served) throughput() float64    { return s.calls / s.seconds }
func (s served) perCall() float64       { return s.processor / s.calls }
func (s served) allocsPerCall() float64 { return s.allocs / s.calls }

// turns holds the results of a load, by service. Results with the same index were measured in the
// same turn.
type turns map[service][]served

// runServices measures the services in turns, and prints the report.
func runServices(w io.Writer, dir, note string, n int, limit time.Duration) (ok bool, err error) {
	all, err := loads(crowds)
	if err != nil {
		return false, err
	}
	known = func(dir string, _ int) []*caller {
		return []*caller{
			{name: inC, path: filepath.Join(dir, "servebench-c"), args: []string{waits}},
			{name: inGo, path: filepath.Join(dir, "servebench"), args: []string{waits}},
		}
	}
	begin := time.Now()
	callers, err := startAll(dir, 0)
	defer func() { err = errors.Join(err, stopAll(callers)) }()
	if err != nil {
		return false, err
	}
	results := make([]turns, len(all))
	for i := range results {
		results[i] = turns{}
	}
	done := 0
	for longest := time.Duration(0); done < n; done++ {
		start := time.Now()
		if limit > 0 && start.Add(longest).Sub(begin) > limit {
			break
		}
		for i, l := range all {
			if err := l.turn(callers, results[i]); err != nil {
				return false, err
			}
		}
		longest = max(longest, time.Since(start))
	}
	return serviceReport(w, note, done, callers, all, results), nil
}

// turn measures each service once, in random order.
func (l load) turn(callers []*caller, t turns) error {
	for _, i := range rand.Perm(len(l.services)) {
		s := l.services[i]
		for _, c := range callers {
			if c.name != s.caller {
				continue
			}
			r, err := c.serve(s, l)
			if err != nil {
				return err
			}
			t[s] = append(t[s], r)
		}
	}
	return nil
}

// serve tells the caller to serve a load, and returns the measurements. If the machine is so busy that no
// call ends within the window, it repeats with a longer one.
func (c *caller) serve(s service, l load) (r served, err error) {
	longest := 1000 * window
	for w := window; w <= longest; w *= 4 {
		if r, err = c.serveFor(w, s, l); err != nil || r.calls > 0 {
			return r, err
		}
	}
	return r, fmt.Errorf("%s, %v: no call ended within %v", s.title, l, longest)
}

func (c *caller) serveFor(window time.Duration, s service, l load) (r served, err error) {
	if _, err := fmt.Fprintln(c.in, s.how, l.callers, l.replicas, window.Milliseconds(), work.Microseconds()); err != nil {
		return r, fmt.Errorf("%s, %v: %w", s.title, l, err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("%s, %v: no answer: %w", s.title, l, err)
	}
	if _, err := fmt.Sscan(line, &r.calls, &r.seconds, &r.p50, &r.p99, &r.p999, &r.processor, &r.allocs, &r.threads, &r.wrong); err != nil {
		return r, fmt.Errorf("%s, %v: answer %q: %w", s.title, l, line, err)
	}
	return r, nil
}
