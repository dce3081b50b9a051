package corpus_test

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/verify/corpus"
)

// launchesPerTime is the number of launches per measurement. They are enqueued without waiting in
// between. times is the number of measurements.
const (
	launchesPerTime = 16
	times           = 7
)

// work counts the PTX instructions that the launches of a step executed.
type work struct {
	warps, lanes uint64
	took         time.Duration // the minimum time; 0 before the first measurement
}

// laneRate returns the speed in millions of lane instructions per second.
func (w work) laneRate() float64 { return float64(w.lanes) / w.took.Seconds() / 1e6 }

// fullRate returns the laneRate that would result if all lanes of each warp were active.
func (w work) fullRate() float64 { return 32 * float64(w.warps) / w.took.Seconds() / 1e6 }

type surveyed struct {
	build, name string
	work
}

func (s surveyed) String() string {
	return fmt.Sprintf("%-13s %-36s %5.1f of 32 lanes %6.0f M/s, %6.0f M/s if all were active", s.build, s.name, float64(s.lanes)/float64(s.warps), s.laneRate(), s.fullRate())
}

// slow is the minimum rate of a kernel as a fraction of the median rate. The median makes the test
// independent of the speed of the machine.
const slow = 0.1

// launchTime is the longest acceptable time of a launch that does almost no work.
const launchTime = 10 * time.Microsecond

// heavy lists kernels that may be slower. One of their instructions prints, or performs the 4096
// multiplications of a matrix product.
var heavy = []string{"wmma_", "mma_ptx/", "printing/"}

// usual lists typical kernels whose rates are logged.
var usual = []string{
	"reduce_shuffle/sum_f32", "reduce_tree/", "scan/inclusive", "histogram/direct", "histogram/privatised", "bitonic_sort/",
	"matmul_tiled/", "stencil/", "nbody/", "wmma_f16/", "wmma_int8/wmma_s8", "mma_ptx/mma_f16", "doubles/", "halves/half_math",
	"halves/half_pairs", "switches/", "mandelbrot/", "recursion/", "local_arrays/", "sha256/", "coop_groups/", "warp_votes/",
}

func in(list []string, name string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(name, p) })
}

// No kernel that nvcc compiled may be slow unless heavy lists it. The test runs every source on one
// core, with and without optimisation.
func TestSpeedOfCompiledKernels(t *testing.T) {
	if os.Getenv("PURECUDA_BENCH") != "1" {
		t.Skip("times say something only with nothing else on the machine: they are measured if PURECUDA_BENCH is 1")
	}
	for _, b := range corpus.Builds {
		if b.SM != 90 {
			continue
		}
		var all []surveyed
		text := texts(t, b)
		for _, src := range sources(t) {
			all = append(all, survey(t, b, src, text[src.Name])...)
		}
		judgeSpeeds(t, all)
	}
}

func judgeSpeeds(t *testing.T, all []surveyed) {
	t.Helper()
	slices.SortFunc(all, func(a, b surveyed) int { return cmp.Compare(a.fullRate(), b.fullRate()) })
	median := all[len(all)/2].fullRate()
	for _, s := range all {
		if in(usual, s.name) {
			t.Log(s)
		}
		if s.fullRate() < slow*median && s.took > launchesPerTime*launchTime && !in(heavy, s.name) {
			t.Errorf("slow: %v", s)
		}
	}
	t.Logf("%-13s the slowest: %s, %.0f M/s; the median of %d kernels: %.0f M/s", all[0].build, all[0].name, all[0].fullRate(), len(all), median)
}

// survey counts the instructions of a source's steps on one emulator. It times the steps on another
// emulator that does not count.
func survey(t *testing.T, b corpus.Build, src *corpus.Source, text string) (list []surveyed) {
	t.Helper()
	counts := make(map[string]work)
	counting := emulator.New(emulator.Config{Workers: 1, Profile: true, Stdout: io.Discard})
	repeat(t, counting, b, src, text, func(step string, refill func() error, launch func(int) error) error {
		before := executed(counting)
		if err := launch(launchesPerTime); err != nil {
			return err
		}
		after := executed(counting)
		counts[step] = work{warps: after.warps - before.warps, lanes: after.lanes - before.lanes}
		return nil
	})
	repeat(t, emulator.New(emulator.Config{Workers: 1, Stdout: io.Discard}), b, src, text, func(step string, refill func() error, launch func(int) error) error {
		w := counts[step]
		err := w.measure(refill, launch)
		list = append(list, surveyed{b.Name, src.Name + "/" + step, w})
		return err
	})
	return list
}

func (w *work) measure(refill func() error, launch func(int) error) error {
	for range times {
		if err := refill(); err != nil {
			return err
		}
		start := time.Now()
		if err := launch(launchesPerTime); err != nil {
			return err
		}
		if d := time.Since(start); w.took == 0 || d < w.took {
			w.took = d
		}
	}
	return nil
}

func repeat(t *testing.T, emu *emulator.Emulator, b corpus.Build, src *corpus.Source, text string, again func(step string, refill func() error, launch func(int) error) error) {
	t.Helper()
	d, err := driver.New(emu)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		t.Fatal(err)
	}
	err = src.Repeat(c, b, text, func(step string, refill func() error, launch func(int) error) error {
		if err := refill(); err != nil {
			return err
		}
		return again(step, refill, launch)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// executed returns the total instructions that all kernels have executed so far.
func executed(emu *emulator.Emulator) (w work) {
	for _, n := range emu.Profile("").Opcodes {
		w.warps += n.Warps
		w.lanes += n.Lanes
	}
	return w
}
