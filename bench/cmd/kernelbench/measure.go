package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/purecuda/cuda/bench/internal/processor"
	turn "github.com/purecuda/cuda/bench/internal/turns"
	"github.com/purecuda/cuda/bench/kernels/cases"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/clock"
)

// Indices of the modules: Go without and with bounds checks, and CUDA C++.
const (
	unchecked = iota
	checked
	cuda
)

// The limits for the geometric mean of the ratios and for the largest ratio.
var bars = [2]struct{ mean, largest float64 }{unchecked: {1.02, 1.10}, checked: {1.05, 1.20}}

// sample is the minimum total duration of the launches in one sample.
const sample = 500 * time.Microsecond

type bench struct {
	c       *driver.Context
	timer   *turn.Timer
	clock   *clock.Meter
	modules [3]*driver.Module
}

func compare(d *driver.Driver, texts [3][]byte, from string, only *regexp.Regexp) (ok bool, err error) {
	dev, err := d.Device(0)
	if err != nil {
		return false, err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return false, err
	}
	var open []interface{ Close() error }
	keep := func(x interface{ Close() error }) { open = append(open, x) }
	defer func() {
		for _, x := range slices.Backward(open) {
			err = errors.Join(err, x.Close())
		}
	}()
	keep(c)
	b := &bench{c: c}
	for i, text := range texts {
		if b.modules[i], err = c.LoadModule(text); err != nil {
			return false, err
		}
		keep(b.modules[i])
	}
	if b.timer, err = turn.NewTimer(c); err != nil {
		return false, err
	}
	keep(b.timer)
	if b.clock, err = clock.New(c); err != nil {
		return false, err
	}
	keep(b.clock)
	p, err := dev.Properties()
	if err != nil {
		return false, err
	}
	fmt.Printf("%s, driver %d, CUDA C++ from %s, %d turns, samples of at least %v\n", p.Name, d.Version(), from, *turns, sample)
	fmt.Printf("clocks: at most %d MHz, memory %d MHz\n\n", p.ClockKHz/1000, p.MemoryClockKHz/1000)
	fmt.Println("| kernel | bound by | size | MHz | CUDA C++, µs | GB/s | Gop/s | Go ÷ CUDA C++, unchecked | with checks | |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	ok = true
	var logs, most [2]float64
	var count float64
	for _, k := range cases.Cases {
		if k.New == nil || !only.MatchString(k.Name) {
			continue
		}
		for _, n := range k.Sizes {
			r, work, mhz, err := b.row(k, n)
			if err != nil {
				return false, fmt.Errorf("%s, size %d: %w", k.Name, n, err)
			}
			verdict := ""
			for i := range r {
				logs[i] += math.Log(r[i].Ratio)
				most[i] = max(most[i], r[i].Ratio)
				if r[i].Ratio > bars[i].largest {
					verdict, ok = "missed", false
				}
			}
			count++
			t := r[unchecked].Second.Seconds()
			fmt.Printf("| %s | %s | %d | %.0f | %.1f | %.0f | %.0f | %.3f (%.3f to %.3f) | %.3f (%.3f to %.3f) | %s |\n", k.Name, k.Bound, n, mhz, t*1e6, work.Bytes/t/1e9, work.Operations/t/1e9,
				r[unchecked].Ratio, r[unchecked].Low, r[unchecked].High, r[checked].Ratio, r[checked].Low, r[checked].High, verdict)
		}
	}
	fmt.Println()
	for i, name := range []string{"unchecked", "with checks"} {
		mean := math.Exp(logs[i] / count)
		fmt.Printf("%s: geometric mean %.3f (bar %.2f), largest %.3f (bar %.2f)\n", name, mean, bars[i].mean, most[i], bars[i].largest)
		ok = ok && mean <= bars[i].mean
	}
	return ok, b.compileTimes(texts)
}

// row measures a kernel at one size, first without and then with bounds checks. Both measurements
// alternate with those of the counterpart. The clock rate is that after them.
func (b *bench) row(k cases.Case, n int) (r [2]turn.Result, work *cases.Work, mhz float64, err error) {
	m := cases.NewMemory(b.c, -1)
	defer func() { err = errors.Join(err, m.Close()) }()
	work = k.New(m, n)
	if m.Err() != nil {
		return r, nil, 0, m.Err()
	}
	cfg := driver.LaunchConfig{Grid: work.Grid, Block: work.Block, SharedMem: uint32(work.Shared)}
	var launches [3]*driver.Launch
	var outputs [3][]any
	for i, module := range b.modules {
		args := work.Args
		if i == cuda {
			args = work.CUDA
		}
		kernel, err := module.Kernel(k.Name)
		if err != nil {
			return r, nil, 0, err
		}
		if launches[i], err = kernel.Prepare(cfg, args...); err != nil {
			return r, nil, 0, err
		}
		if err := m.Reset(); err != nil {
			return r, nil, 0, err
		}
		if _, err := b.timer.Time(launches[i], 1); err != nil {
			return r, nil, 0, err
		}
		if outputs[i], err = m.Outputs(); err != nil {
			return r, nil, 0, err
		}
	}
	for i := range outputs[:cuda] {
		if d := cases.Difference(outputs[i], outputs[cuda], work.Tolerance); d != "" {
			return r, nil, 0, fmt.Errorf("Go and CUDA C++ differ: %s", d)
		}
	}
	// The first launches also warm up.
	count := 1
	for {
		t, err := b.timer.Time(launches[cuda], count)
		if err != nil {
			return r, nil, 0, err
		}
		if t >= sample {
			break
		}
		count *= 2
	}
	for i := range r {
		r[i], err = turn.Compare(*turns, func(second int) (time.Duration, error) {
			l := launches[i]
			if second == 1 {
				l = launches[cuda]
			}
			return b.timer.Time(l, count)
		})
		if err != nil {
			return r, nil, 0, err
		}
		r[i].First /= time.Duration(count)
		r[i].Second /= time.Duration(count)
	}
	mhz, err = b.clock.MHz()
	return r, work, mhz, err
}

// compileTimes compares how long the driver takes to compile the modules, in processor time: on a virtual machine, the
// elapsed time of a turn varies by a fifth.
func (b *bench) compileTimes(texts [3][]byte) error {
	if *loads == 0 {
		return nil
	}
	for i, name := range [2]string{unchecked: "unchecked", checked: "with checks"} {
		var elapsed [2]time.Duration
		r, err := turn.Compare(*loads, func(second int) (time.Duration, error) {
			text := texts[i]
			if second == 1 {
				text = texts[cuda]
			}
			begin, before := time.Now(), processor.Time()
			m, err := b.c.LoadModule(text)
			if err != nil {
				return 0, err
			}
			t := processor.Time() - before
			elapsed[second] += time.Since(begin)
			return t, m.Close()
		})
		if err != nil {
			return err
		}
		fmt.Printf("the driver compiles Go %s in %v, CUDA C++ in %v: ratio %.2f (%.2f to %.2f), of all elapsed time %.2f\n", name,
			r.First.Round(time.Millisecond), r.Second.Round(time.Millisecond), r.Ratio, r.Low, r.High, float64(elapsed[0])/float64(elapsed[1]))
	}
	return nil
}
