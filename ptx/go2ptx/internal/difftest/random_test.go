package difftest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/randgo"
)

// Kernels is an environment variable with the number of random kernels, and optionally the first
// seed after a colon:
//
//	PURECUDA_RANDOM_KERNELS=100000 go test -timeout 3h -run TestRandomKernels ./ptx/go2ptx/internal/difftest
const Kernels = "PURECUDA_RANDOM_KERNELS"

// perFile is how many kernels a file has. Each file is compiled by Go and for the device.
const perFile = 100

func wanted(t *testing.T) (n int, seed uint64) {
	t.Helper()
	text := os.Getenv(Kernels)
	if text == "" {
		return perFile, 1
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

func compile(t *testing.T, name, text string) *go2ptx.Output {
	t.Helper()
	out, err := go2ptx.Compile(go2ptx.Config{NoFMA: true, Package: go2ptx.Package{Path: "random", GoVersion: "1.25", Files: []go2ptx.File{{Name: name, Data: []byte(text)}}}})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return out
}

// Random kernels must give the same bits and the same faults on a device as in Go.
func TestRandomKernels(t *testing.T) {
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	n, seed := wanted(t)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := newMemory(t, c)
		uses := map[string]int{}
		faults, converge, wrong := 0, 0, 0
		for first := seed; first < seed+uint64(n); first += perFile {
			var kernels []*randgo.Kernel
			for i := first; i < min(first+perFile, seed+uint64(n)); i++ {
				k := randgo.New(fmt.Sprintf("k%d", i), i)
				for u, n := range k.Uses {
					uses[u] += n
				}
				if k.Converges {
					converge++
				}
				kernels = append(kernels, k)
			}
			host, err := randgo.Host("../../../..", kernels, first)
			if err != nil {
				t.Fatal(err)
			}
			out := compile(t, "kernels.go", randgo.File("random", kernels))
			if dir := os.Getenv(Save); dir != "" {
				save(t, dir, first, out.PTX, host)
			}
			mod, err := c.LoadModule(out.PTX)
			if err != nil {
				t.Fatalf("%+v", err)
			}
			t.Cleanup(func() { mod.Close() })
			for i, k := range kernels {
				kernel, err := mod.Kernel(k.Name)
				if err != nil {
					t.Fatal(err)
				}
				device, err := m.run(kernel, first+uint64(i))
				if err != nil {
					t.Fatalf("%s: %v", k.Name, err)
				}
				if host[i].Fault != "" {
					faults++
				}
				if d := difference(host[i], device); d != "" {
					if wrong++; wrong <= 20 {
						t.Errorf("%s: %s", k.Name, d)
					}
				}
			}
			if err := mod.Close(); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d kernels, %d of them with barriers, shuffles and atomics, %d faults, %d constructs, %d wrong", n, converge, faults, len(uses), wrong)
		if 100*converge < 30*n || faults == 0 {
			t.Errorf("%d of %d kernels converge, %d fault", converge, n, faults)
		}
		if err := m.s.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
