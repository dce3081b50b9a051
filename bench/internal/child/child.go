// Package child is the common part of the Go programs that the benchmark compares: their
// kernel, their commands and their measurements. bench/c/bench.c does the same in C.
//
// The package imports only the standard library, so that each program can reach the driver
// in its own way.
package child

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AddPTX is the PTX of the kernel add(p), which increments the word at p.
//
//go:embed add.ptx
var AddPTX []byte

const (
	// Chain is the number of nodes in the large graph.
	Chain = 1000
	// CopyBytes is the size in bytes of the copy from page-locked memory.
	CopyBytes = 4096
)

// Row is one measurement. Run does the operation n times. Only Run is timed.
type Row struct {
	Before func() error
	Run    func(n int) error
	After  func() error
}

// Serve reads commands of the form "row operations samples" from standard input. It replies
// "row nanoseconds allocations". Both numbers are per operation, and the time is the median
// of the samples. If the caller does not have the row, the reply is "row -". Serve returns
// at the end of the input.
func Serve(description string, rows map[string]Row) error {
	fmt.Printf("ready %s\n", description)
	in := bufio.NewReader(os.Stdin)
	counted := map[string]*count{}
	for {
		var name string
		var n, samples int
		switch _, err := fmt.Fscan(in, &name, &n, &samples); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("reading a command: %w", err)
		case n < 1 || samples < 1:
			return fmt.Errorf("%s: %d operations, %d samples: need at least 1", name, n, samples)
		}
		row, ok := rows[name]
		if !ok {
			fmt.Printf("%s -\n", name)
			continue
		}
		if counted[name] == nil {
			counted[name] = &count{}
		}
		took, allocs, err := row.median(n, samples, counted[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Printf("%s %.3f %.4f\n", name, took, allocs)
	}
}

// count holds the largest number of allocations per operation. It is updated only a few times,
// because counting takes longer than the samples.
type count struct {
	times int
	most  float64
}

const counts = 5

func (r Row) median(n, samples int, c *count) (nanoseconds, allocs float64, err error) {
	// The first sample is a warm-up, and may also count allocations. Reading the statistics stops
	// the world. Therefore, another warm-up separates the count from the timed samples.
	if c.times < counts {
		counted, err := r.allocations(n)
		if err != nil {
			return 0, 0, err
		}
		c.times, c.most = c.times+1, max(c.most, counted)
	}
	if _, err := r.sample(n); err != nil {
		return 0, 0, err
	}
	took := make([]float64, samples)
	for i := range samples {
		if took[i], err = r.sample(n); err != nil {
			return 0, 0, err
		}
	}
	return median(took), c.most, nil
}

func (r Row) allocations(n int) (float64, error) {
	if _, err := r.sample(n); err != nil {
		return 0, err
	}
	var mallocs uint64
	counted := r
	counted.Run = func(n int) error {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := r.Run(n)
		runtime.ReadMemStats(&after)
		mallocs = after.Mallocs - before.Mallocs
		return err
	}
	_, err := counted.sample(n)
	return float64(mallocs) / float64(n), err
}

// warmUp is the smallest number of untimed operations before the timed ones.
const warmUp = 4

func (r Row) sample(n int) (float64, error) {
	if r.Before != nil {
		if err := r.Before(); err != nil {
			return 0, err
		}
	}
	// After a wait or another program's turn the caches are cold, and often the goroutine runs on
	// another core. The first calls are therefore not timed, either here or in the C program.
	if err := r.Run(max(n/10, min(n, warmUp))); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := r.Run(n); err != nil {
		return 0, err
	}
	took := time.Since(begin)
	if r.After != nil {
		if err := r.After(); err != nil {
			return 0, err
		}
	}
	return float64(took) / float64(n), nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// First reports whether the command line requests only the result of one kernel.
func First() bool { return len(os.Args) > 1 && os.Args[1] == "first" }

// Done checks the result of that kernel, which increments 41, and prints "first".
func Done(value uint32) error {
	if value != 42 {
		return fmt.Errorf("the kernel gave %d, not 42", value)
	}
	fmt.Println("first")
	return nil
}

// shifted keeps the objects that shift allocates alive.
var shifted [][]byte

// shift allocates a few objects of each size. The program's own objects then have different
// addresses in each process that compare starts. Addresses change the results by a few
// percent.
func shift() {
	n, _ := strconv.Atoi(os.Getenv("PURECUDA_BENCH_SHIFT"))
	for size := 8; size <= 4096; size += size/4&^7 + 8 {
		for range n * (size/8 + 5) % 23 {
			shifted = append(shifted, make([]byte, size))
		}
	}
}

// Main is the main function of each of these programs. It calls run. If run returns an error, Main
// prints it and exits with status 1.
func Main(run func() error) {
	shift()
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}
