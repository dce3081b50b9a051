package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/purecuda/cuda/bench/internal/turns"
	"github.com/purecuda/cuda/driver"
)

const bar = 1.1

// slice has the memory layout of a slice in kernel parameters.
type slice struct {
	ptr      driver.CUdeviceptr
	len, cap int64
}

// bench contains the state that all measurements share.
type bench struct {
	c     *driver.Context
	timer *turns.Timer
	out32 *driver.Buffer[float32]
	out64 *driver.Buffer[float64]
}

func compare(d *driver.Driver, ours, theirs []byte, from string, only *regexp.Regexp) (ok bool, err error) {
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
	goModule, err := c.LoadModule(ours)
	if err != nil {
		return false, fmt.Errorf("the Go kernels: %w", err)
	}
	keep(goModule)
	cudaModule, err := c.LoadModule(theirs)
	if err != nil {
		return false, fmt.Errorf("the CUDA C++ kernels: %w", err)
	}
	keep(cudaModule)
	if b.timer, err = turns.NewTimer(c); err != nil {
		return false, err
	}
	keep(b.timer)
	if b.out32, err = driver.Alloc[float32](c, *threads); err != nil {
		return false, err
	}
	keep(b.out32)
	if b.out64, err = driver.Alloc[float64](c, *threads); err != nil {
		return false, err
	}
	keep(b.out64)
	name, err := dev.Name()
	if err != nil {
		return false, err
	}
	fmt.Printf("%s, driver %d, CUDA C++ from %s, %d threads, %d calls each, %d turns\n\n", name, d.Version(), from, *threads, *calls, *turnCount)
	fmt.Println("| function | Go, ns per 1000 calls | CUDA C++ | ratio | 95 % interval | largest difference of last results | |")
	fmt.Println("|---|---|---|---|---|---|---|")
	ok = true
	for _, bits := range []string{"32", "64"} {
		for _, f := range functions {
			if !only.MatchString(f.name + bits) {
				continue
			}
			r, err := b.row(f, bits, goModule, cudaModule)
			if err != nil {
				return false, fmt.Errorf("%s%s: %w", f.name, bits, err)
			}
			verdict := ""
			if f.bar && bits == "32" {
				if verdict = "met"; r.ratio > bar {
					verdict, ok = "missed", false
				}
			}
			fmt.Printf("| %s%s | %.3f | %.3f | %.3f | %.3f to %.3f | %.1e | %s |\n", f.name, bits, r.ours, r.theirs, r.ratio, r.low, r.high, r.difference, verdict)
		}
	}
	return ok, nil
}

// result is a row of the table.
type result struct {
	ours, theirs     float64 // median times
	ratio, low, high float64
	difference       float64
}

// row measures the two kernels of a function alternately. The order changes with each turn.
func (b *bench) row(f function, bits string, goModule, cudaModule *driver.Module) (r result, err error) {
	var launches [2]*driver.Launch
	var sums [2][]float64
	for i, m := range []*driver.Module{goModule, cudaModule} {
		k, err := m.Kernel(f.name + bits)
		if err != nil {
			return r, err
		}
		if launches[i], err = b.prepare(k, f, bits); err != nil {
			return r, err
		}
		// The first launches serve as warm-up.
		for range 2 {
			if _, err := b.timer.Time(launches[i], 1); err != nil {
				return r, err
			}
		}
		if sums[i], err = b.sums(bits); err != nil {
			return r, err
		}
	}
	for i, x := range sums[0] {
		y := sums[1][i]
		if (x != x) != (y != y) {
			fmt.Fprintf(os.Stderr, "%s%s: thread %d has %v and %v\n", f.name, bits, i, x, y)
		}
		if d := math.Abs(x-y) / math.Max(1, math.Abs(y)); d > r.difference {
			r.difference = d
		}
	}
	got, err := turns.Compare(*turnCount, func(i int) (time.Duration, error) { return b.timer.Time(launches[i], 1) })
	if err != nil {
		return r, err
	}
	per := float64(*threads) * float64(*calls) / 1000
	return result{float64(got.First) / per, float64(got.Second) / per, got.Ratio, got.Low, got.High, r.difference}, nil
}

func (b *bench) prepare(k *driver.Kernel, f function, bits string) (*driver.Launch, error) {
	cfg := driver.LaunchConfig{Grid: driver.D1(*threads / 256), Block: driver.D1(256)}
	// The arguments of a thread cover a tenth of the range.
	size, step := (f.to-f.from)*0.9, (f.to-f.from)*0.1/float64(*calls)
	n := int64(*calls / 4)
	if bits == "32" {
		return k.Prepare(cfg, slice{b.out32.Ptr(), int64(*threads), int64(*threads)}, float32(f.from), float32(size), float32(step), float32(f.sum), n)
	}
	return k.Prepare(cfg, slice{b.out64.Ptr(), int64(*threads), int64(*threads)}, f.from, size, step, f.sum, n)
}

func (b *bench) sums(bits string) ([]float64, error) {
	sums := make([]float64, *threads)
	if bits == "64" {
		return sums, b.out64.CopyTo(sums)
	}
	narrow := make([]float32, *threads)
	err := b.out32.CopyTo(narrow)
	for i, x := range narrow {
		sums[i] = float64(x)
	}
	return sums, err
}
