// Algobench measures the algorithms of package kernels on a GPU. It prints a line for each case: its
// name, and the time of one call in microseconds. bench/algorithms.py runs it by turns with PyTorch and
// CuPy, and compares.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/purecuda/cuda/bench/internal/turns"
	"github.com/purecuda/cuda/driver"
)

var (
	only    = flag.String("run", "", "a regular expression of the cases to run")
	samples = flag.Int("samples", 7, "samples of each case, of which the median is printed")
	list    = flag.Bool("list", false, "print the names of the cases only")
)

// sample is the minimum duration of the calls in one sample.
const sample = 5 * time.Millisecond

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "algobench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	all := cases(false)
	if *list {
		for _, c := range all {
			fmt.Println(c.name)
		}
		return nil
	}
	d, err := driver.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dev, err := d.Device(0)
	if err != nil {
		return err
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	timer, err := turns.NewTimer(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, timer.Close()) }()
	for _, one := range all {
		if !pattern.MatchString(one.name) {
			continue
		}
		took, err := measure(c, timer, one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		fmt.Printf("%s\t%.2f\n", one.name, float64(took.Nanoseconds())/1000)
	}
	return nil
}

// measure returns the median time of one call.
func measure(c *driver.Context, timer *turns.Timer, one benchmark) (took time.Duration, err error) {
	m := &memory{c: c}
	defer func() { err = errors.Join(err, m.close()) }()
	ops := one.make(m)
	if m.err != nil {
		return 0, m.err
	}
	count := 1
	for {
		t, err := timer.TimeOps(ops, count)
		if err != nil {
			return 0, err
		}
		if t >= sample {
			break
		}
		count = max(2*count, int(float64(count)*float64(sample)/float64(max(t, time.Microsecond))))
	}
	times := make([]time.Duration, *samples)
	for i := range times {
		if times[i], err = timer.TimeOps(ops, count); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2] / time.Duration(count*max(m.repeats, 1)), nil
}
