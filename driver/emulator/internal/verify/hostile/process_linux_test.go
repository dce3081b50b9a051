package hostile_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/ptxtest"
)

const hostileInput = "PURECUDA_HOSTILE_INPUT"

// hostileInputs lists inputs that once crashed or hung a process, with the expected error for each.
// A nil error means success.
var hostileInputs = []struct {
	name string
	want error
	data func(t *testing.T) []byte
}{
	{"cubin, texts at offset 2^40 in a section without bytes", cu.CUDA_ERROR_NO_BINARY_FOR_GPU, func(t *testing.T) []byte {
		return changed(linkedImage(t), 8, 1<<40, 64)
	}},
	{"cubin, 2^40 bytes of texts in a section without bytes", cu.CUDA_ERROR_NO_BINARY_FOR_GPU, func(t *testing.T) []byte {
		image := linkedImage(t)
		return changed(image, 8, binary.LittleEndian.Uint64(image[len(image)-64+0x18:]), 1<<40)
	}},
	{"`.global .b8 x[1099511627776]`", cu.CUDA_ERROR_OUT_OF_MEMORY, text(longHead + ".global .b8 x[1099511627776];\n" + emptyKernel)},
	{"`.global .b8 x<2000000000>`", cu.CUDA_ERROR_OUT_OF_MEMORY, text(longHead + ".global .b8 x<2000000000>;\n" + emptyKernel)},
	{"`.const .b8 x[4294967296]`", cu.CUDA_ERROR_INVALID_PTX, text(longHead + ".const .b8 x[4294967296];\n" + emptyKernel)},
	{"store to a `.local` variable of 1 GiB, launched", cu.CUDA_ERROR_INVALID_VALUE, text(localKernel(gib))},
	{"`printf(\"%*d\", 2000000000, 5)`, launched", nil, text(printing("%*d", word(0, 2_000_000_000), word(4, 5)))},
	{"40,000 times `setp`, `bra` and `add`", nil, long("branches over one register", 40_000)},
	{"100,000 entries", nil, long("entries", 100_000)},
	{"20,000 entries, each of which reaches 20,000 functions", nil, long("entries that call many functions", 20_000)},
	{"100,000 globals", nil, long("globals", 100_000)},
}

func text(s string) func(*testing.T) []byte { return func(*testing.T) []byte { return []byte(s) } }

func long(name string, n int) func(*testing.T) []byte {
	return func(*testing.T) []byte { return []byte(ptxtest.LongTexts[name].Text(n)) }
}

// Each input is loaded in a separate process, which must survive and use little memory. Inputs
// named "launched" are also launched.
func TestHostileInputs(t *testing.T) {
	if name := os.Getenv(hostileInput); name != "" {
		loadHostile(t, name)
		return
	}
	if testing.Short() {
		t.Skip("each input takes a process: without -short")
	}
	const mostMiB = 3 << 10 // the race detector needs several times the usual memory
	for _, in := range hostileInputs {
		run := exec.Command(os.Args[0], "-test.run", "^TestHostileInputs$", "-test.v")
		run.Env = append(os.Environ(), hostileInput+"="+in.name)
		out, err := run.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", in.name, err, out)
			continue
		}
		_, took, _ := strings.Cut(string(out), "took ")
		took, _, _ = strings.Cut(took, "\n")
		peak := run.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		result := "success"
		if in.want != nil {
			result = fmt.Sprintf("%d", uint32(in.want.(cu.CUresult)))
		}
		t.Logf("| %s | %s | %d MiB | %s |", in.name, result, peak, took)
		if peak > mostMiB {
			t.Errorf("%s takes %d MiB, more than %d", in.name, peak, mostMiB)
		}
	}
}

func loadHostile(t *testing.T, name string) {
	for _, in := range hostileInputs {
		if in.name != name {
			continue
		}
		data := in.data(t)
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{Stdout: io.Discard}))
		start := time.Now()
		err := loadAndLaunch(c, data, strings.Contains(name, "launched"))
		t.Logf("%d bytes, took %v", len(data), time.Since(start).Round(time.Millisecond))
		if !errors.Is(err, in.want) {
			t.Errorf("it ends with %v, want %v", err, in.want)
		}
		return
	}
	t.Fatalf("there is no input %q", name)
}

func loadAndLaunch(c *driver.Context, data []byte, launch bool) error {
	m, err := c.LoadModule(data)
	if err != nil || !launch {
		return errors.Join(err, m.Close())
	}
	k, err := m.Kernel("k")
	if err != nil {
		return errors.Join(err, m.Close())
	}
	s, err := c.NewStream()
	if err != nil {
		return errors.Join(err, m.Close())
	}
	b, err := driver.Alloc[uint64](c, 1)
	if err != nil {
		return errors.Join(err, s.Close(), m.Close())
	}
	err = k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, b)
	return errors.Join(err, s.Wait(context.Background()), b.Close(), s.Close(), m.Close())
}
