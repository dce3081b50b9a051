package go2ptx

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// one is a program that contains a single kernel.
type one struct {
	name string
	prog *source.Program
	cfg  Config
}

// kernelsOf loads a package and returns a program for each of its kernels.
func kernelsOf(tb testing.TB, path string, files ...File) []one {
	tb.Helper()
	cfg := Config{Package: Package{Path: path, GoVersion: "1.25", Files: files}}
	p, err := load(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	var list []one
	for _, k := range p.Kernels {
		single := *p
		single.Kernels = []*source.Kernel{k}
		list = append(list, one{path + "." + k.Name, &single, cfg})
	}
	return list
}

// written returns the kernels of the examples and of package example. An example's kernels may use constants of
// its other files.
func written(tb testing.TB) []one {
	tb.Helper()
	names, err := filepath.Glob("../../examples/*/kernels.go")
	if err != nil {
		tb.Fatal(err)
	}
	var list []one
	for _, dir := range append(names, "internal/example/example.go") {
		dir = filepath.Dir(dir)
		names, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			tb.Fatal(err)
		}
		var files []File
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gpu.go") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			files = append(files, File{filepath.ToSlash(name), data})
		}
		list = append(list, kernelsOf(tb, filepath.Base(dir), files...)...)
	}
	return list
}

// The benchmark must find the kernels of the examples, which change more often than it runs.
func TestKernelsOfTheBenchmark(t *testing.T) {
	if n := len(written(t)); n < 25 {
		t.Errorf("%d kernels", n)
	}
}

// random returns n random kernels, each in its own package. The generator is in another module.
func random(tb testing.TB, n int) []one {
	tb.Helper()
	cmd := exec.Command("go", "run", "./randgo/print", strconv.Itoa(n))
	cmd.Dir = "internal/verify"
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	var list []one
	for text := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		list = append(list, kernelsOf(tb, "random", File{"random.go", text})...)
	}
	return list
}

// BenchmarkKernels measures how long it takes to compile kernels of loaded packages. Each iteration
// compiles every kernel once.
//
//	go test -run '^$' -bench Kernels -benchtime 20x ./ptx/go2ptx
func BenchmarkKernels(b *testing.B) {
	b.Run("written", func(b *testing.B) { compileEach(b, written(b)) })
	b.Run("random", func(b *testing.B) { compileEach(b, random(b, 100)) })
}

func compileEach(b *testing.B, kernels []one) {
	b.ReportAllocs()
	var times []time.Duration
	var slowest string
	for b.Loop() {
		for _, k := range kernels {
			begin := time.Now()
			if _, err := compile(k.prog, k.cfg); err != nil {
				b.Fatalf("%s: %v", k.name, err)
			}
			d := time.Since(begin)
			if times = append(times, d); d == slices.Max(times) {
				slowest = k.name
			}
		}
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	b.ReportMetric(ms(times[len(times)/2]), "ms-median")
	b.ReportMetric(ms(times[len(times)*95/100]), "ms-p95")
	b.ReportMetric(ms(times[len(times)-1]), "ms-max")
	b.ReportMetric(float64(len(kernels)), "kernels")
	b.Logf("slowest: %s", slowest)
}
