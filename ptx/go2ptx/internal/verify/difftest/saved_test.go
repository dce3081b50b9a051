package difftest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// Save is the name of an environment variable that specifies a folder. TestRandomKernels and
// TestGoFunctions write Go's results to it. TestSavedKernels and TestSavedFunctions read them, on a
// machine without Go.
const Save = "PURECUDA_SAVED_KERNELS"

// saved contains, for each of a series of kernels, Go's panic or a hash of its outputs. First is
// the first seed.
type saved struct {
	First uint64
	Want  []string
}

func save(t *testing.T, dir string, first uint64, host []randgo.Result) {
	t.Helper()
	s := saved{First: first}
	for _, h := range host {
		s.Want = append(s.Want, want(h))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", first)), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func want(r randgo.Result) string {
	if r.Fault != "" {
		return r.Fault
	}
	return fmt.Sprintf("%x", sha256.Sum256(r.Outputs))
}

// assembled returns the text, compiled by ptxas for the device. Without ptxas, it returns the text
// itself, which the driver then compiles.
func assembled(t *testing.T, d driver.Device, text []byte, flags ...string) ([]byte, error) {
	t.Helper()
	ptxas, err := exec.LookPath("ptxas")
	if err != nil || path.Base(t.Name()) != "gpu" {
		return text, nil
	}
	major, minor, err := d.ComputeCapability()
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o666); err != nil {
		return nil, err
	}
	if said, err := exec.Command(ptxas, append(flags, fmt.Sprintf("-arch=sm_%d%d", major, minor), in, "-o", out)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ptxas: %w: %s", err, said)
	}
	return os.ReadFile(out)
}

// TestSavedKernels compares kernels with the results that TestRandomKernels has saved. Kernels run
// on the device one at a time. The rest of the work is done in parallel.
func TestSavedKernels(t *testing.T) {
	dir := os.Getenv(Save)
	if dir == "" {
		t.Skipf("%s names no folder with results", Save)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no results in %s: %v", dir, err)
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		all := replay{c: c, m: newMemory(t, c)}
		var wg sync.WaitGroup
		limit := make(chan bool, runtime.GOMAXPROCS(0))
		for _, name := range files {
			wg.Go(func() {
				limit <- true
				defer func() { <-limit }()
				b, err := os.ReadFile(name)
				var s saved
				if err := errors.Join(err, json.Unmarshal(b, &s)); err != nil {
					t.Error(err)
					return
				}
				batches, err := build{kernels: generate(s.First, s.First+uint64(len(s.Want))), first: s.First}.compiled()
				if err != nil {
					t.Errorf("%+v", err)
					return
				}
				for _, b := range batches {
					all.run(t, b, s)
				}
			})
		}
		wg.Wait()
		t.Logf("%d kernels, %d of them with barriers, shuffles and atomics, %d faults, %d wrong", all.kernels, all.converge, all.faults, all.wrong)
	})
}

// replay runs saved kernels on a device.
type replay struct {
	c                                *driver.Context
	lock                             sync.Mutex
	m                                *memory
	kernels, converge, faults, wrong int
}

func (a *replay) run(t *testing.T, b *batch, s saved) {
	t.Helper()
	image, err := assembled(t, a.c.Device(), b.ptx)
	if err != nil {
		t.Errorf("kernels from %d on: %v", s.First, err)
		return
	}
	mod, err := a.c.LoadModule(image)
	if err != nil {
		t.Errorf("kernels from %d on: %+v", s.First, err)
		return
	}
	defer mod.Close()
	a.lock.Lock()
	defer a.lock.Unlock()
	for i, n := range b.seeds {
		k, err := mod.Kernel(b.kernels[i].Name)
		if err != nil {
			t.Error(err)
			return
		}
		r, err := a.m.run(k, n)
		if err != nil {
			t.Errorf("k%d: %v", n, err)
			return
		}
		a.kernels++
		if b.kernels[i].Converges {
			a.converge++
		}
		if r.Fault != "" {
			a.faults++
		}
		if got, w := want(r), s.Want[n-s.First]; got != w && !sameFault(w, r.Fault) {
			if a.wrong++; a.wrong <= 20 {
				t.Errorf("k%d: got %s, want %s; %s", n, got, w, a.unoptimized(t, b, n, r))
			}
		}
	}
}

// unoptimized describes how a kernel with wrong results behaves without ptxas's optimizer. It
// writes the results to a file in the folder of Go's results.
func (a *replay) unoptimized(t *testing.T, b *batch, seed uint64, wrong randgo.Result) string {
	t.Helper()
	name := fmt.Sprintf("k%d", seed)
	err := os.WriteFile(filepath.Join(os.Getenv(Save), name+".wrong"), wrong.Outputs, 0o666)
	image, err2 := assembled(t, a.c.Device(), b.ptx, "-O0")
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	mod, err := a.c.LoadModule(image)
	if err != nil {
		return err.Error()
	}
	defer mod.Close()
	k, err := mod.Kernel(name)
	if err != nil {
		return err.Error()
	}
	r, err := a.m.run(k, seed)
	if err != nil {
		return err.Error()
	}
	return "with ptxas -O0: " + want(r)
}
