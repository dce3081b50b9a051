package difftest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// Kernels is the name of an environment variable that sets the number of random kernels and,
// optionally, the first seed after a colon:
//
//	PURECUDA_RANDOM_KERNELS=100000 go test -C ptx/go2ptx/internal/verify -timeout 3h -run TestRandomKernels ./difftest
const Kernels = "PURECUDA_RANDOM_KERNELS"

// HostResults is the name of an environment variable that specifies a folder in which Go's results
// are kept. A later run with the same kernels uses them instead of running the kernels in Go again.
const HostResults = "PURECUDA_HOST_RESULTS"

// stopAtFirst is the name of an environment variable that makes TestRandomKernels end after the
// first wrong kernel.
const stopAtFirst = "PURECUDA_RANDOM_STOP"

// perFile is the number of kernels in a file. Each file is compiled both with Go and for the
// device.
var perFile uint64 = 100

func init() {
	if os.Getenv(stopAtFirst) != "" {
		perFile = 25 // smaller files, because most errors are found early
	}
}

func wanted(t *testing.T) (n int, seed uint64) {
	t.Helper()
	text := os.Getenv(Kernels)
	if text == "" {
		return int(perFile), 1
	}
	count, first, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(count)
	if err == nil && first != "" {
		seed, err = strconv.ParseUint(first, 10, 64)
	}
	if err != nil {
		t.Fatalf("%s=%q: %v", Kernels, text, err)
	}
	return n, seed
}

// targets lists the target architectures of successive batches. The compiler uses different
// instructions for each of them.
var targets = []string{"", "sm_70", "sm_80", "sm_90"}

func compile(name, text string, cfg go2ptx.Config) (*go2ptx.Output, error) {
	cfg.Package = go2ptx.Package{Path: "random", GoVersion: "1.25", Files: []go2ptx.File{{Name: name, Data: []byte(text)}}}
	return go2ptx.Compile(cfg)
}

// batch is a set of kernels that are compiled together: either those of a file whose
// multiplications and additions may be fused, or the others.
type batch struct {
	seeds   []uint64
	kernels []*randgo.Kernel
	host    []randgo.Result
	ptx     []byte
}

// newBatches generates kernels, runs them in Go, and compiles them for the device.
func newBatches(t *testing.T, first, end uint64) []*batch {
	t.Helper()
	kernels := generate(first, end)
	host := hostResults(t, kernels, first)
	if dir := os.Getenv(Save); dir != "" {
		save(t, dir, first, host)
	}
	return withResults(t, build{kernels: kernels, first: first}, host)
}

// withResults compiles kernels whose results in Go are known.
func withResults(t *testing.T, c build, host []randgo.Result) []*batch {
	t.Helper()
	all, err := c.compiled()
	if err != nil {
		t.Fatalf("%+v", err)
	}
	for _, b := range all {
		for _, n := range b.seeds {
			b.host = append(b.host, host[n-c.first])
		}
	}
	return all
}

func generate(first, end uint64) (kernels []*randgo.Kernel) {
	for i := first; i < end; i++ {
		kernels = append(kernels, randgo.New(fmt.Sprintf("k%d", i), i))
	}
	return kernels
}

// build describes how the kernels of a file are compiled for the device.
type build struct {
	kernels []*randgo.Kernel // all kernels of the file
	first   uint64           // seed of the first
	skip    []string         // passes that the compiler skips
	only    func(i int) bool // if it is set, the other kernels are not compiled
}

// compiled returns batches without Go's results.
func (c build) compiled() (all []*batch, err error) {
	text := randgo.File("random", c.kernels)
	target := targets[c.first/perFile%uint64(len(targets))]
	for _, fuses := range []bool{false, true} {
		b := &batch{}
		text := text
		for i, k := range c.kernels {
			if k.Fuses == fuses && (c.only == nil || c.only(i)) {
				b.seeds, b.kernels = append(b.seeds, c.first+uint64(i)), append(b.kernels, k)
			} else { // keeps the line numbers, because faults contain them
				text = strings.Replace(text, k.Directive+"\nfunc "+k.Name+"(", "//\nfunc "+k.Name+"(", 1)
			}
		}
		if len(b.seeds) > 0 {
			out, err := compile("kernels.go", text, go2ptx.Config{NoFMA: !fuses, Target: target, Skip: c.skip})
			if err != nil {
				return nil, err
			}
			b.ptx = out.PTX
			all = append(all, b)
		}
	}
	return all, nil
}

// hostResults runs the kernels in Go, or reads the results that an earlier run has kept.
func hostResults(t *testing.T, kernels []*randgo.Kernel, first uint64) []randgo.Result {
	t.Helper()
	text := randgo.File("random", kernels)
	dir := os.Getenv(HostResults)
	name := filepath.Join(dir, fmt.Sprintf("%d-%x.json", first, sha256.Sum256([]byte(text))))
	if host, ok := defaultResults[name]; ok {
		return host
	}
	var host []randgo.Result
	if b, err := os.ReadFile(name); dir != "" && err == nil {
		if err := json.Unmarshal(b, &host); err != nil {
			t.Fatal(err)
		}
		return host
	}
	host, err := randgo.Host("../../../../..", kernels, first)
	if err != nil {
		t.Fatal(err)
	}
	if dir != "" {
		b, err := json.Marshal(host)
		if err := errors.Join(err, os.WriteFile(name, b, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv(Kernels) == "" {
		defaultResults[name] = host
	}
	return host
}

// defaultResults contains Go's results of the kernels that tests run by default. Several tests use
// them, and running the kernels in Go takes longer than compiling them.
var defaultResults = map[string][]randgo.Result{}

// Random kernels must produce the same bits and the same faults on a device as in Go.
func TestRandomKernels(t *testing.T) {
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	n, seed := wanted(t)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newMemory(t, c)
		var all tally
		for first := seed; first < seed+uint64(n); first += perFile {
			for _, b := range newBatches(t, first, min(first+perFile, seed+uint64(n))) {
				all.run(t, c, m, b)
			}
		}
		t.Logf("%d kernels, %d of them with barriers, shuffles and atomics, %d faults, %d wrong", all.kernels, all.converge, all.faults, all.wrong)
		if 100*all.converge < 30*n || all.faults == 0 {
			t.Errorf("%d of %d kernels converge, %d fault", all.converge, n, all.faults)
		}
		if err := m.s.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// tally counts kernels by outcome.
type tally struct{ kernels, faults, converge, wrong int }

// timed runs a kernel. If TestSeededErrors runs this test and the kernel takes a thousand times as
// long as others, timed ends the process.
func (a *tally) timed(run func() (randgo.Result, error), name string) (randgo.Result, error) {
	if os.Getenv(stopAtFirst) != "" {
		defer time.AfterFunc(20*time.Second, func() {
			fmt.Printf("%s: the kernel does not end\nstopped after %d kernels, %d faults\n", name, a.kernels+1, a.faults)
			os.Exit(3)
		}).Stop()
	}
	return run()
}

// run runs a batch on a device and compares the results.
func (a *tally) run(t *testing.T, c *driver.Context, m *memory, b *batch) {
	mod, err := c.LoadModule(b.ptx)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { mod.Close() })
	for i, k := range b.kernels {
		kernel, err := mod.Kernel(k.Name)
		if err != nil {
			t.Fatal(err)
		}
		device, err := a.timed(func() (randgo.Result, error) { return m.run(kernel, b.seeds[i]) }, k.Name)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		a.kernels++
		if b.host[i].Fault != "" {
			a.faults++
		}
		if k.Converges {
			a.converge++
		}
		if d := difference(b.host[i], device); d != "" {
			if a.wrong++; a.wrong <= 20 {
				t.Errorf("%s: %s", k.Name, d)
			}
			if os.Getenv(stopAtFirst) != "" {
				t.Fatalf("stopped after %d kernels, %d faults", a.kernels, a.faults)
			}
		}
	}
	if err := mod.Close(); err != nil {
		t.Fatal(err)
	}
}
