package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// assembler is a ptxas executable, with the PTX versions and architectures that it accepts.
type assembler struct {
	path   string
	newest ptx.Version
	oldest int // oldest architecture that the assembler supports
}

var release = regexp.MustCompile(`release (\d+)\.(\d+)`)

// newAssembler runs a ptxas executable to determine its version.
func newAssembler(path string) (*assembler, error) {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m := release.FindSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("%s says no release: %s", path, out)
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	newest, ok := ptx.NewestFor(1000*major + 10*minor)
	if !ok {
		return nil, fmt.Errorf("%s is of CUDA %d.%d, which is not known", path, major, minor)
	}
	a := &assembler{path: path, newest: newest, oldest: 50}
	if major >= 13 {
		a.oldest = 75
	}
	if major < 12 {
		a.oldest = 35
	}
	return a, nil
}

// takes reports whether the assembler accepts a PTX version.
func (a *assembler) takes(v ptx.Version) bool { return a.newest.AtLeast(v.Major, v.Minor) }

// arch returns the architecture to compile for: the module's target if the assembler supports
// it, and otherwise the oldest supported one.
func (a *assembler) arch(target string) string {
	t, ok := ptx.ParseTarget(target)
	if !ok || 10*t.Major+t.Minor < a.oldest {
		return fmt.Sprintf("sm_%d", a.oldest)
	}
	return "sm_" + strings.TrimPrefix(strings.TrimPrefix(target, "sm_"), "compute_")
}

var message = regexp.MustCompile(`line (\d+); (?:error|fatal)\s*: (.*)`)

// result is ptxas's verdict on a module.
type result struct {
	ok    bool
	lines map[int]string // errors, by line number
	rest  string         // first error without a line number
}

// first returns the error with the lowest line number, or the first error without a line.
func (r result) first() string {
	least := 0
	for n := range r.lines {
		if least == 0 || n < least {
			least = n
		}
	}
	if least > 0 {
		return fmt.Sprintf("line %d: %s", least, r.lines[least])
	}
	return r.rest
}

// errCrash means that a signal ended ptxas, as happens with some invalid instructions. It is not a
// verdict on the module.
var errCrash = errors.New("ptxas crashed")

func (a *assembler) assemble(dir, text, arch string, flags ...string) (result, error) {
	f, err := os.CreateTemp(dir, "*.ptx")
	if err != nil {
		return result{}, err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		return result{}, err
	}
	if err := f.Close(); err != nil {
		return result{}, err
	}
	cmd := exec.Command(a.path, append([]string{"-arch", arch, "-o", os.DevNull, filepath.Base(f.Name())}, flags...)...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return result{}, err
	}
	if err != nil && exit.ExitCode() < 0 {
		return result{}, errCrash
	}
	r := result{ok: err == nil, lines: map[int]string{}}
	for _, line := range strings.Split(out.String(), "\n") {
		if m := message.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if r.lines[n] == "" {
				r.lines[n] = m[2]
			}
		} else if r.rest == "" && strings.Contains(line, "fatal") && !strings.Contains(line, "aborted due to errors") {
			r.rest = line
		}
	}
	return r, nil
}
