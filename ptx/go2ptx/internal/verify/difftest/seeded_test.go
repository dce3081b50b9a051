package difftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/verify/randgo"
)

// Seeded is the name of an environment variable that makes TestSeededErrors build the compiler with
// seeded errors. Its value is the number of random kernels for each error and, optionally, the
// errors to seed after a colon, as in 400:3,10-19. On a slow machine, run go test with a long timeout.
const Seeded = "PURECUDA_SEEDED_ERRORS"

// compiler is the folder of the compiler's packages.
const compiler = "../.."

// seeded is an error to seed into the compiler.
type seeded struct {
	n          int
	file, what string // file is relative to compiler
	old, new   string
	// pkg and test are set for an error that random kernels show too rarely: the folder of a package,
	// relative to compiler, and a test in it that catches the error.
	pkg, test string
}

func readSeeded(t *testing.T) []seeded {
	t.Helper()
	b, err := os.ReadFile("testdata/seeded.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []seeded
	for i, line := range strings.Split(string(b), "\n") {
		if head, ok := strings.CutPrefix(line, "# "); ok {
			file, what, _ := strings.Cut(head, ": ")
			all = append(all, seeded{n: len(all), file: file, what: what})
			continue
		}
		if line == "" || len(all) == 0 {
			continue
		}
		switch e := &all[len(all)-1]; line[0] {
		case '-':
			e.old += line[1:] + "\n"
		case '+':
			e.new += line[1:] + "\n"
		case '!':
			e.pkg, e.test, _ = strings.Cut(strings.TrimSpace(line[1:]), " ")
		default:
			t.Fatalf("line %d is none of -, + and !: %s", i+1, line)
		}
	}
	return all
}

// apply returns the text of the file with the error in it.
func (e seeded) apply() (string, error) {
	b, err := os.ReadFile(filepath.Join(compiler, e.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(b), e.old); n != 1 || e.old == "" {
		return "", fmt.Errorf("%s has the lines of %q %d times, not once", e.file, e.what, n)
	}
	return strings.Replace(string(b), e.old, e.new, 1), nil
}

// There must be at least 150 different errors, and each must still apply to the compiler's source.
func TestSeededErrorsApply(t *testing.T) {
	all := readSeeded(t)
	if len(all) < 150 {
		t.Errorf("%d errors", len(all))
	}
	seen := map[string]bool{}
	for _, e := range all {
		text, err := e.apply()
		if err != nil {
			t.Error(err)
		}
		if e.old == e.new || seen[text] || seen[e.what] {
			t.Errorf("%s: %q changes nothing, or is there twice", e.file, e.what)
		}
		seen[text], seen[e.what] = true, true
		if files, err := filepath.Glob(filepath.Join(compiler, e.pkg, "*_test.go")); e.test != "" && (err != nil || len(files) == 0) {
			t.Errorf("%s: %q: there are no tests in %s", e.file, e.what, e.pkg)
		}
	}
}

// Each error must be caught: either random kernels compute wrong results, or the compiler itself
// fails.
func TestSeededErrors(t *testing.T) {
	text := os.Getenv(Seeded)
	if text == "" {
		t.Skipf("%s is not set", Seeded)
	}
	if err := randgo.Usable(); err != nil {
		t.Skip(err)
	}
	kernels, which, _ := strings.Cut(text, ":")
	all := choose(t, readSeeded(t), which)
	results := os.Getenv(HostResults)
	if results == "" {
		results = t.TempDir()
	}
	dir := t.TempDir()
	right := seeded{file: "ir/ir.go", what: "no error"}
	if how, caught := right.run(t, dir, results, kernels); caught {
		t.Fatalf("without an error: %s", how)
	}
	caught := 0
	for _, e := range all {
		how, ok := e.run(t, dir, results, kernels)
		if ok {
			caught++
		} else {
			t.Errorf("not caught: %d %s: %s", e.n, e.file, e.what)
		}
		t.Logf("%3d %-30s %-70s %s", e.n, e.file, e.what, how)
	}
	t.Logf("%d of %d caught", caught, len(all))
}

// choose returns the errors selected by a list of numbers and ranges. Without a list, it returns
// all errors.
func choose(t *testing.T, all []seeded, list string) []seeded {
	t.Helper()
	if list == "" {
		return all
	}
	var some []seeded
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to >= len(all) || to < from {
			t.Fatalf("%q: there are the errors 0 to %d", part, len(all)-1)
		}
		some = append(some, all[from:to+1]...)
	}
	return some
}

var (
	wrongKernel = regexp.MustCompile(`(k\d+): (.*)`)
	ranKernels  = regexp.MustCompile(`(\d+) kernels, `)
)

// run builds the test with the error, runs it, and describes how the error was caught.
func (e seeded) run(t *testing.T, dir, results, kernels string) (how string, caught bool) {
	t.Helper()
	if e.test != "" {
		return e.runTest(t, dir)
	}
	args := []string{"test", "-c", "-vet=off", "-o", filepath.Join(dir, "mutant.test")}
	if e.old != "" {
		text, err := e.apply()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay", overlay(t, dir, filepath.Join(compiler, e.file), text))
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return fmt.Sprintf("the error is no Go: %v %s", err, out), false
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "mutant.test"), "-test.v", "-test.run", "^TestRandomKernels$/^emulator$")
	cmd.Env = append(os.Environ(), Kernels+"="+kernels+":1", HostResults+"="+results, stopAtFirst+"=1", Save+"=", "GOGC=400")
	out, err := cmd.CombinedOutput()
	switch w := wrongKernel.FindStringSubmatch(string(out)); {
	case ctx.Err() != nil:
		return "a kernel does not end", true
	case err == nil:
		return "", false
	case !errors.As(err, new(*exec.ExitError)):
		t.Fatal(err)
	case w != nil:
		n := ranKernels.FindStringSubmatch(string(out))
		if n == nil {
			return "random kernel " + w[1] + ": " + short(w[2]), true
		}
		return fmt.Sprintf("random kernel %s, of %s: %s", w[1], n[1], short(w[2])), true
	}
	return "the compiler fails: " + short(firstLine(string(out))), true
}

// runTest runs the test that catches the error. It must pass without the error.
func (e seeded) runTest(t *testing.T, dir string) (how string, caught bool) {
	t.Helper()
	text, err := e.apply()
	if err != nil {
		t.Fatal(err)
	}
	test := func(flags ...string) ([]byte, error) {
		args := append([]string{"test", "-short", "-vet=off", "-timeout", "5m", "-run", "^" + e.test + "$", "-v"}, flags...)
		cmd := exec.Command("go", append(args, "./"+e.pkg)...)
		cmd.Dir = compiler // which is in the main module
		return cmd.CombinedOutput()
	}
	if out, err := test(); err != nil || !strings.Contains(string(out), "--- PASS: "+e.test) {
		t.Fatalf("without the error: %v %s", err, out)
	}
	out, err := test("-overlay", overlay(t, dir, filepath.Join(compiler, e.file), text))
	switch {
	case err == nil:
		return "", false
	case !strings.Contains(string(out), "--- FAIL: "+e.test):
		return fmt.Sprintf("the error is no Go: %v %s", err, out), false
	}
	return e.test + ": " + short(firstLine(string(out))), true
}

func overlay(t *testing.T, dir, file, text string) string {
	t.Helper()
	real, list := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {abs: real}})
	if err := errors.Join(err, os.WriteFile(real, []byte(text), 0o666), os.WriteFile(list, b, 0o666)); err != nil {
		t.Fatal(err)
	}
	return list
}

func short(s string) string {
	if len(s) > 90 {
		return s[:90] + "…"
	}
	return s
}

// firstLine returns the first line of a failed test's output that contains a reason.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return ""
}
