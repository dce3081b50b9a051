//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type testPackage struct {
	r      *runner
	path   string
	dir    string
	binary string
	tests  []*test
}

// test is a test, with measurements from a run without a change.
type test struct {
	Name       string
	Secs       float64
	Hits       []int // numbers of the changes that the test reaches
	Unreliable bool  // the test fails even without a change
}

// dataLimit limits the memory of the tests, in KiB, because a change can make a loop allocate
// endlessly.
const dataLimit = 4 << 20

// tests compiles the tests of a package and determines which changes each test reaches. It
// caches the results in the work folder.
func (r *runner) tests(path string) (*testPackage, error) {
	if tp := r.tested[path]; tp != nil {
		return tp, nil
	}
	// The tests may be in a module of their own. Its path is also the root's with the folder.
	dir := filepath.Join(r.root, strings.TrimPrefix(path, r.module))
	found, err := goList(dir, ".")
	if err != nil {
		return nil, err
	}
	tp := &testPackage{r: r, path: found[0].ImportPath, dir: found[0].Dir}
	r.tested[path] = tp
	if len(found[0].TestGoFiles)+len(found[0].XTestGoFiles) == 0 {
		return tp, nil
	}
	name := strings.ReplaceAll(strings.TrimPrefix(tp.path, r.module+"/"), "/", "_")
	tp.binary = filepath.Join(r.work, name+".test")
	tracing := filepath.Join(r.work, name+".trace.test")
	if err := tp.build(tp.binary, r.overlays[0]); err != nil {
		return nil, err
	}
	list, err := tp.list()
	if err != nil {
		return nil, err
	}
	memory := filepath.Join(r.work, name+".short="+strconv.FormatBool(r.short)+".json")
	known := map[string]*test{}
	if text, err := os.ReadFile(memory); err == nil {
		var old []*test
		if err := json.Unmarshal(text, &old); err != nil {
			return nil, fmt.Errorf("%s: %w", memory, err)
		}
		for _, t := range old {
			known[t.Name] = t
		}
	}
	built, fresh := false, 0
	for _, name := range list {
		t := known[name]
		if t == nil {
			if !built {
				if err := tp.build(tracing, r.overlays[1]); err != nil {
					return nil, err
				}
				built = true
			}
			fresh++
			if t, err = tp.trace(tracing, name); err != nil {
				return nil, err
			}
		}
		tp.tests = append(tp.tests, t)
		if fresh > 0 && (fresh%50 == 0 || len(tp.tests) == len(list)) {
			text, err := json.Marshal(tp.tests)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(memory, text, 0o666); err != nil {
				return nil, err
			}
		}
	}
	return tp, nil
}

func (tp *testPackage) build(binary, overlay string) error {
	begun := time.Now()
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary, ".")
	cmd.Dir, cmd.Env = tp.dir, environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not compile with the changes: %w\n%s", tp.path, err, out)
	}
	fmt.Printf("%s: compiled in %.0f s\n", filepath.Base(binary), time.Since(begun).Seconds())
	return nil
}

func (tp *testPackage) list() ([]string, error) {
	cmd := exec.Command(tp.binary, "-test.list", "^(Test|Example|Fuzz)")
	cmd.Dir, cmd.Env = tp.dir, environ()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s -test.list: %w", tp.binary, err)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); testName.MatchString(name) {
			all = append(all, name)
		}
	}
	return all, nil
}

var testName = regexp.MustCompile(`^(Test|Example|Fuzz)\w*$`)

// trace runs a test to determine which changes it reaches and how long it takes.
func (tp *testPackage) trace(binary, name string) (*test, error) {
	file := filepath.Join(tp.r.work, "hits")
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t := &test{Name: name}
	begun := time.Now()
	outcome, err := tp.process(binary, []*test{t}, 5*time.Minute, "MUTATE_TRACE="+file)
	if err != nil {
		return nil, err
	}
	t.Secs = time.Since(begun).Seconds()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for f := range strings.FieldsSeq(string(text)) {
		id, err := strconv.Atoi(f)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(t.Hits, id) {
			t.Hits = append(t.Hits, id)
		}
	}
	if outcome.failed {
		// The tracing code may disturb the test, for instance if the test counts allocations. So
		// the run that determines whether the test is reliable does not trace.
		plain, err := tp.process(tp.binary, []*test{t}, 5*time.Minute, "MUTATE_ID=0")
		if err != nil {
			return nil, err
		}
		if plain.failed {
			t.Unreliable = true
			fmt.Printf("%s: %s fails without any change, and is left out: %s\n", tp.path, name, plain.why)
		}
	}
	return t, nil
}

type outcome struct {
	failed, timeout bool
	test            string // name of the test that failed
	why             string
}

// exec runs tests with the change of that number, or with no change if id is 0.
func (tp *testPackage) exec(tests []*test, id int) (outcome, error) {
	limit := tp.r.patience
	for _, t := range tests {
		limit += time.Duration(slower * t.Secs * float64(time.Second))
	}
	return tp.process(tp.binary, tests, limit, "MUTATE_ID="+strconv.Itoa(id))
}

func (tp *testPackage) process(binary string, tests []*test, limit time.Duration, env string) (outcome, error) {
	var pattern []string
	for _, t := range tests {
		pattern = append(pattern, t.Name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	args := []string{"-c", fmt.Sprintf(`ulimit -d %d; exec "$0" "$@"`, dataLimit), binary,
		"-test.run", "^(" + strings.Join(pattern, "|") + ")$", "-test.v", "-test.failfast", "-test.timeout", "0"}
	if tp.r.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, "sh", args...)
	cmd.Dir, cmd.Env = tp.dir, environ(env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	o := outcome{failed: err != nil, timeout: ctx.Err() != nil}
	var exit *exec.ExitError
	if err != nil && !o.timeout && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return o, err
	}
	if o.failed {
		o.read(out.String())
	}
	return o, nil
}

// read finds the failed test and its message in the output.
func (o *outcome) read(out string) {
	running := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(line, "=== RUN   "); ok && !strings.Contains(name, "/") {
			running = name
		}
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok && o.test == "" {
			o.test, _, _ = strings.Cut(name, " ")
		}
		if o.why == "" && (strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || message.MatchString(line)) {
			o.why = oneLine(line)
		}
	}
	if o.test == "" {
		o.test = running
	}
}

// message matches a line that a test has logged.
var message = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)
