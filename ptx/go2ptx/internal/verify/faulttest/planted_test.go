package faulttest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// planted maps kernels of testdata/bugs.go to their launch parameters and to the comment that marks
// the line NVIDIA's tools must report.
var planted = map[string]struct {
	line                     string
	elements, blocks, a, off int
}{
	"outside":    {"outside", 60, 1, 0, 0},
	"sharedEnd":  {"shared end", 64, 1, 0, 0},
	"misaligned": {"misaligned", 64, 1, 0, 2},
	"inlined":    {"load", 64, 1, 63, 0},
	"sharedRace": {"shared race, read", 64, 1, 0, 0},
	"count":      {"count, read", 64, 1, 0, 0},
}

// TestPlantedBug runs the kernel named by an environment variable on a GPU, with line information,
// and prints the line that contains the bug. It is meant to run under NVIDIA's tools; see
// scripts/gpu-lines.sh. It frees nothing, and the bug does not make it fail.
func TestPlantedBug(t *testing.T) {
	name := os.Getenv("PURECUDA_PLANTED")
	if name == "" {
		t.Skip("PURECUDA_PLANTED names no kernel")
	}
	p, ok := planted[name]
	if !ok {
		t.Fatalf("there is no planted bug %q", name)
	}
	fmt.Printf("expected: bugs.go:%d\n", marked(t, "bugs", p.line))
	var lib loader.Library = emulator.New(emulator.Config{}) // for testing the script without a GPU
	if os.Getenv("PURECUDA_PLANTED_ON") != "emulator" {
		lib = must(driver.SystemLibrary(""))(t)
	}
	d := must(driver.New(lib))(t)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	out := compiled(t, "bugs", go2ptx.Config{Lines: true})
	m := must(c.LoadModule(out.PTX, driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1)))(t)
	s, b := must(c.NewStream())(t), must(driver.Alloc[int32](c, p.elements))(t)
	arg := sliceOf(b)
	arg.ptr += driver.CUdeviceptr(p.off)
	cfg := driver.LaunchConfig{Grid: driver.D1(p.blocks), Block: driver.D1(64)}
	if err := kernel(t, m, name).Launch(s, cfg, arg, int64(p.a), int64(0)); err != nil {
		t.Fatal(err)
	}
	fmt.Println("the wait returned:", s.Wait(context.Background()))
}
