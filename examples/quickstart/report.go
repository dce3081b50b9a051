package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// report holds the results of a run.
type report struct {
	bench    *bench
	device   string
	emulated bool

	launches, captured, built timing
	captureCost, buildCost    time.Duration // time to create an executable graph and upload it
	nodeUpdate, graphUpdate   time.Duration
}

// all runs the stack in all three ways and updates the graphs.
func (b *bench) all(m *machine) (r *report, err error) {
	r = &report{bench: b, emulated: m.emulated}
	if r.device, err = m.describe(); err != nil {
		return nil, err
	}
	p := b.model.defaults()
	eager := func() error { return b.stack.enqueue(b.stack.stream) }
	if r.launches, err = b.measure("stream launches", eager); err != nil {
		return nil, err
	}

	begin := time.Now()
	captured, err := b.stack.captured()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, captured.Close()) }()
	r.captureCost = time.Since(begin)
	if r.captured, err = b.measure("captured graph", b.replay(captured)); err != nil {
		return nil, err
	}

	begin = time.Now()
	built, err := b.stack.built(m.context)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, built.Close()) }()
	r.buildCost = time.Since(begin)
	if r.built, err = b.measure("hand-built graph", b.replay(built)); err != nil {
		return nil, err
	}

	if r.nodeUpdate, err = b.updateNode(built, p); err != nil {
		return nil, err
	}
	r.graphUpdate, err = b.updateGraph(captured, p)
	return r, err
}

// print prints the results as a table. It returns errComparison if a result was wrong.
func (r *report) print(w io.Writer) error {
	b, m := r.bench, r.bench.model
	fmt.Fprintf(w, "%s\n%d blocks, dim %d, hidden %d: %d kernels and 2 copies a step; %d steps each way, medians\n\n",
		r.device, m.layers, m.dim, m.hidden, len(b.stack.ops)-2, b.steps)
	fmt.Fprintf(w, "%-18s %14s %14s %14s\n", "", "host per step", "wall per step", "largest error")
	for _, t := range []timing{r.launches, r.captured, r.built} {
		fmt.Fprintf(w, "%-18s %14s %14s %14.2g\n", t.way, micros(t.host), micros(t.wall), t.worst)
	}
	fmt.Fprintln(w)
	if r.emulated {
		fmt.Fprintln(w, "(times of the emulator say nothing about a GPU)")
	} else {
		fmt.Fprintf(w, "replay against launches: %s host time, %s wall time\n",
			times(r.launches.host, r.captured.host), times(r.launches.wall, r.captured.wall))
	}
	fmt.Fprintf(w, "making the graph: %s by capture, %s by hand (with instantiation and upload)\n",
		micros(r.captureCost), micros(r.buildCost))
	fmt.Fprintf(w, "updating it: %s for one node, %s for all %d\n",
		micros(r.nodeUpdate), micros(r.graphUpdate), len(b.stack.ops))
	for _, f := range b.failures {
		fmt.Fprintf(w, "WRONG: %s\n", f)
	}
	fmt.Fprintf(w, "%d of %d results agree with the float64 reference; largest error %.2g, tolerance %.2g\n",
		b.compared-len(b.failures), b.compared, b.worst, m.tolerance())
	if len(b.failures) > 0 {
		return errComparison
	}
	return nil
}

func micros(d time.Duration) string { return fmt.Sprintf("%.2f µs", float64(d)/1e3) }

// times formats how many times smaller b is than a.
func times(a, b time.Duration) string {
	if b <= 0 {
		return "immeasurably less"
	}
	return fmt.Sprintf("%.1f × less", float64(a)/float64(b))
}
