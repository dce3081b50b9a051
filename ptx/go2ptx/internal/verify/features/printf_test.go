package features

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/gpu"
)

var (
	printedInts   = []int64{200, -7, 42, -123456789012, 5, 0, 17}
	printedFloats = []float64{1.0 / 3, -2.5, 1e10, 6.02e23, math.SmallestNonzeroFloat64, 100000}
)

// asGo returns the expected output, as printed by gpu.Run: the text of report and the sorted lines
// of crowd.
func asGo(t testing.TB) (string, []string) {
	var text, lines bytes.Buffer
	noError(t, gpu.Run(gpu.D1(1), gpu.D1(1), func(t gpu.Thread) { report(t, printedInts, printedFloats) }, gpu.Output(&text)))
	noError(t, gpu.Run(gpu.D1(3), gpu.D1(64), func(t gpu.Thread) { crowd(t, -3) }, gpu.Output(&lines)))
	return text.String(), sortedLines(lines.String())
}

func sortedLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// print runs both kernels. Before each of them, it calls the function between, to print a heading.
func (d *device) print(between func(what string)) {
	k, all := must(ReportIn(d.c))(d), must(CrowdIn(d.c))(d)
	between("report")
	noError(d, k.Do(d.s, k.Grid(1), upload(d, printedInts...).All(), upload(d, printedFloats...).All()))
	d.wait()
	between("crowd")
	noError(d, all.Do(d.s, all.Grid(3*64), -3))
	d.wait()
	between("end")
}

// compare compares the output of print with that of gpu.Run.
func compare(t *testing.T, text string) {
	t.Helper()
	parts := map[string]string{}
	for _, what := range []string{"report", "crowd"} {
		_, rest, ok := strings.Cut(text, "--- "+what+"\n")
		part, _, end := strings.Cut(rest, "--- ")
		if !ok || !end {
			t.Fatalf("no output of %s in %q", what, text)
		}
		parts[what] = part
	}
	want, lines := asGo(t)
	if parts["report"] != want {
		t.Errorf("report prints\n%s\nwant\n%s", parts["report"], want)
	}
	if got := sortedLines(parts["crowd"]); !slices.Equal(got, lines) {
		t.Errorf("crowd prints %d lines, want %d:\n%s", len(got), len(lines), strings.Join(got, "\n"))
	}
}

const printEnv = "PURECUDA_TEST_PRINT"

// On a GPU, printing goes through C's standard output. So the test runs the kernels in a child
// process whose output is a pipe. The text must arrive after Stream.Wait and before the next
// heading.
func TestPrintf(t *testing.T) {
	t.Run("emulator", func(t *testing.T) {
		var out bytes.Buffer
		gputest.OnEmulator(t, emulator.Config{Stdout: &out}, func(t *testing.T, c *driver.Context) {
			newDevice(t, c).print(func(what string) { fmt.Fprintln(&out, "--- "+what) })
		})
		compare(t, out.String())
	})
	t.Run("gpu", func(t *testing.T) {
		if os.Getenv(printEnv) != "" {
			gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
				newDevice(t, c).print(func(what string) { fmt.Println("--- " + what) })
			})
			return
		}
		gputest.GPU(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrintf$/^gpu$")
		cmd.Env = append(os.Environ(), printEnv+"=1")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		noError(t, err)
		compare(t, string(out))
	})
}
