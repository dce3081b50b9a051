package difftest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/randgo"
)

// Save is an environment variable with a folder. TestRandomKernels writes its kernels and Go's
// results there. TestSavedKernels runs them on a machine without Go.
const Save = "PURECUDA_SAVED_KERNELS"

// saved is a file of kernels.
type saved struct {
	Seeds []uint64
	PTX   string
	// Want has, for each kernel, Go's panic or the hash of its outputs.
	Want []string
}

func save(t *testing.T, dir string, batch *batch) {
	t.Helper()
	s := saved{Seeds: batch.seeds, PTX: string(batch.ptx)}
	for _, h := range batch.host {
		s.Want = append(s.Want, want(h))
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", s.Seeds[0])), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func want(r randgo.Result) string {
	if r.Fault != "" {
		return r.Fault
	}
	return fmt.Sprintf("%x", sha256.Sum256(r.Outputs))
}

// TestSavedKernels runs kernels that TestRandomKernels saved. Where a cubin lies beside a file, it
// is loaded instead of the PTX: ptxas compiles many files at the same time, and the driver one.
func TestSavedKernels(t *testing.T) {
	dir := os.Getenv(Save)
	if dir == "" {
		t.Skipf("%s names no folder with saved kernels", Save)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no saved kernels in %s: %v", dir, err)
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newMemory(t, c)
		var one sync.Mutex
		var wg sync.WaitGroup
		kernels, faults, wrong := 0, 0, 0
		limit := make(chan bool, 16)
		for _, name := range files {
			wg.Go(func() {
				limit <- true
				defer func() { <-limit }()
				b, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
					return
				}
				var s saved
				if err := json.Unmarshal(b, &s); err != nil {
					t.Error(err)
					return
				}
				image := []byte(s.PTX)
				if cubin, err := os.ReadFile(strings.TrimSuffix(name, ".json") + ".cubin"); err == nil {
					image = cubin
				}
				mod, err := c.LoadModule(image)
				if err != nil {
					t.Errorf("%s: %+v", name, err)
					return
				}
				defer mod.Close()
				one.Lock()
				defer one.Unlock()
				for i, w := range s.Want {
					n := s.Seeds[i]
					k, err := mod.Kernel(fmt.Sprintf("k%d", n))
					if err != nil {
						t.Error(err)
						return
					}
					r, err := m.run(k, n)
					if err != nil {
						t.Errorf("k%d: %v", n, err)
						return
					}
					kernels++
					if r.Fault != "" {
						faults++
					}
					if got := want(r); got != w && !sameFault(w, r.Fault) {
						if wrong++; wrong <= 20 {
							t.Errorf("k%d: got %s, want %s", n, got, w)
						}
					}
				}
			})
		}
		wg.Wait()
		t.Logf("%d kernels, %d faults, %d wrong", kernels, faults, wrong)
	})
}
