package steps_test

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/ptxtest"
)

const stepsText, stepsSize = "PURECUDA_STEPS_TEXT", "PURECUDA_STEPS_SIZE"

// TestLoadForSteps loads and unloads one long text. TestLoadTakesLinearSteps runs it in a child
// process.
func TestLoadForSteps(t *testing.T) {
	name := os.Getenv(stepsText)
	if name == "" {
		t.Skip("it is run by TestLoadTakesLinearSteps")
	}
	n, err := strconv.Atoi(os.Getenv(stepsSize))
	if err != nil {
		t.Fatal(err)
	}
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	m, err := c.LoadModule([]byte(ptxtest.LongTexts[name].Text(n)))
	if bad := name == "mistakes" || name == "a register of many digits"; bad != (err != nil) {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// Loading and unloading a module must take a number of steps proportional to the length of its PTX.
// Loading includes parsing, checking, compiling and layout. A step is one executed statement of
// this module, counted by Go's coverage, so the test does not depend on a clock.
func TestLoadTakesLinearSteps(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("it counts the steps of a test that it builds, and there is no go command here:", err)
	}
	counted := filepath.Join(gputest.TempDir(t), "counted.test")
	build := exec.Command(tool, "test", "-c", "-covermode=count", "-coverpkg=github.com/purecuda/cuda/...", "-o", counted, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range slices.Sorted(maps.Keys(ptxtest.LongTexts)) {
		t.Run(name, func(t *testing.T) {
			n := ptxtest.LongTexts[name].N
			none, some, many := steps(t, counted, name, 1), steps(t, counted, name, n), steps(t, counted, name, 4*n)
			grown := float64(many-none) / float64(some-none)
			t.Logf("%9d steps for %d, %10d for %d: %.2f times", some, n, many, 4*n, grown)
			if grown > 5 { // slightly more than 4, because of searches in trees and heaps
				t.Errorf("four times the text takes %.2f times the steps", grown)
			}
		})
	}
}

// steps returns the number of statements that loading the named text with n repetitions executes.
func steps(t *testing.T, counted, name string, n int) int {
	t.Helper()
	profile := filepath.Join(gputest.TempDir(t), "profile")
	run := exec.Command(counted, "-test.run", "^TestLoadForSteps$", "-test.coverprofile", profile)
	run.Env = append(os.Environ(), stepsText+"="+name, stepsSize+"="+strconv.Itoa(n))
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	total, lines := 0, bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // each line is "file:position statements count"
		if len(fields) != 3 || strings.Contains(fields[0], "internal/gputest/") {
			continue
		}
		statements, err := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err != nil || err2 != nil {
			t.Fatalf("the profile has the line %q", lines.Text())
		}
		total += statements * count
	}
	if err := lines.Err(); err != nil || total == 0 {
		t.Fatal("the profile counts nothing:", err)
	}
	return total
}
