package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// caller is one way of calling the driver: a program and its running process.
type caller struct {
	name string // name in the table headings
	path string
	args []string
	nth  int // number of times that the callers were started before

	description string // describes the caller and the device
	process     *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
}

const (
	inC  = "C"
	inGo = "purecuda"
	cgo  = "cgo"
)

// known returns all possible callers, whose programs are in dir.
var known = func(dir string, _ int) []*caller {
	return []*caller{
		{name: inC, path: filepath.Join(dir, "bench-c")},
		{name: inGo, path: filepath.Join(dir, "gobench")},
		{name: cgo, path: filepath.Join(dir, "cgobench")},
		{name: "purego.SyscallN", path: filepath.Join(dir, "puregobench"), args: []string{"syscalln"}},
		{name: "purego.RegisterFunc", path: filepath.Join(dir, "puregobench"), args: []string{"registerfunc"}},
	}
}

// startAll starts the callers that exist, for the i-th time. It fails if a required caller
// does not exist.
func startAll(dir string, i int) (started []*caller, err error) {
	for _, c := range known(dir, i) {
		c.nth = i
		_, err := os.Stat(c.path)
		if errors.Is(err, fs.ErrNotExist) && !c.required() {
			fmt.Fprintf(os.Stderr, "compare: %s is left out: there is no %s\n", c.name, c.path)
			continue
		}
		if err == nil {
			err = c.start()
		}
		if err != nil {
			return started, fmt.Errorf("%s: %w", c.name, err)
		}
		started = append(started, c)
	}
	return started, nil
}

// required reports whether the comparison needs the caller.
func (c *caller) required() bool { return c.name == inC || c.name == inGo || c.name == before }

func stopAll(callers []*caller) error {
	var errs []error
	for _, c := range callers {
		if err := c.stop(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

func (c *caller) command(extra ...string) *exec.Cmd {
	cmd := exec.Command(c.path, append(extra, c.args...)...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "PURECUDA_BENCH_SHIFT="+strconv.Itoa(c.nth))
	return cmd
}

func (c *caller) start() (err error) {
	c.process = c.command("rows")
	if c.in, err = c.process.StdinPipe(); err != nil {
		return err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return err
	}
	c.out = bufio.NewReader(out)
	if err := c.process.Start(); err != nil {
		return err
	}
	line, err := c.out.ReadString('\n')
	description, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ready {
		return errors.Join(fmt.Errorf("it said %q, not that it is ready", line), err, c.stop())
	}
	c.description = description
	return nil
}

func (c *caller) stop() error {
	return errors.Join(c.in.Close(), c.process.Wait())
}

// measurement is a caller's result for a row.
type measurement struct {
	nanoseconds float64
	allocs      float64
}

// ask makes the caller measure a row. If the caller does not have the row, ok is false.
func (c *caller) ask(r row) (m measurement, ok bool, err error) {
	if _, err := fmt.Fprintln(c.in, r.name, r.operations, r.samples); err != nil {
		return m, false, fmt.Errorf("%s: %s: %w", c.name, r.name, err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return m, false, fmt.Errorf("%s: %s: no answer: %w", c.name, r.name, err)
	}
	line = strings.TrimSpace(line)
	if line == r.name+" -" {
		return m, false, nil
	}
	if _, err := fmt.Sscanf(line, r.name+" %g %g", &m.nanoseconds, &m.allocs); err != nil {
		return m, false, fmt.Errorf("%s: %s: answer %q: %w", c.name, r.name, line, err)
	}
	return m, true, nil
}

// first starts the program and measures the time until the program has the result of one kernel.
func (c *caller) first() (time.Duration, error) {
	cmd := c.command("first")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, readErr := bufio.NewReader(out).ReadString('\n')
	took := time.Since(begin)
	err = errors.Join(readErr, cmd.Wait())
	if err == nil && strings.TrimSpace(line) != "first" {
		err = fmt.Errorf("it said %q", line)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: first kernel: %w", c.name, err)
	}
	return took, nil
}
