// Command ptxinfo describes PTX files. It prints the required driver and device, the kernels with
// their parameters, memory and estimated registers, the variables, and the undefined symbols.
//
//	go run github.com/purecuda/cuda/ptx/cmd/ptxinfo [-driver 12.4] [-device 8.6] FILE...
//
// The command exits with status 1 if package isa reports code that NVIDIA's compiler would reject.
// With -driver or -device, it also checks whether that driver would accept the file for that
// device. If not, it exits with status 1. The file "-" is standard input.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

type machine struct {
	driver, device string
	short          bool
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	var m machine
	flags := flag.NewFlagSet("ptxinfo", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&m.driver, "driver", "", "CUDA `version` of a driver, such as 12.4: does it accept the file?")
	flags.StringVar(&m.device, "device", "", "compute `capability` of a device, such as 8.6: can it run the file?")
	flags.BoolVar(&m.short, "q", false, "only check -driver and -device, without the summary")
	flags.Usage = func() {
		_, _ = fmt.Fprintln(errs, "usage: ptxinfo [-q] [-driver VERSION] [-device CAPABILITY] FILE...")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() == 0:
		flags.Usage()
		return 2
	}
	code := 0
	for _, name := range flags.Args() {
		if err := m.report(name, in, out); err != nil {
			_, _ = fmt.Fprintf(errs, "ptxinfo: %s: %+v\n", name, err)
			code = 1
		}
	}
	return code
}

func (m machine) report(name string, in io.Reader, out io.Writer) error {
	text, err := read(name, in)
	if err != nil {
		return err
	}
	tree, err := ptx.Parse(name, text)
	if err != nil {
		return err
	}
	report := ptx.Inspect(tree)
	if !m.short {
		if err := report.Summary(out); err != nil {
			return err
		}
	}
	if err := isa.Check(tree); err != nil {
		return err
	}
	return m.check(report.Needs)
}

func read(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

func (m machine) check(n ptx.Needs) error {
	var driver, major, minor int
	if m.driver != "" {
		a, b, err := pair(m.driver)
		if err != nil {
			return fmt.Errorf("-driver: %w", err)
		}
		driver = 1000*a + 10*b
	}
	if m.device != "" {
		var err error
		if major, minor, err = pair(m.device); err != nil {
			return fmt.Errorf("-device: %w", err)
		}
	}
	return n.Check(driver, major, minor)
}

func pair(s string) (a, b int, err error) {
	first, second, ok := strings.Cut(s, ".")
	a, err1 := strconv.Atoi(first)
	b, err2 := strconv.Atoi(second)
	if !ok || err1 != nil || err2 != nil || a <= 0 || b < 0 || b > 9 {
		return 0, 0, fmt.Errorf("%q is not a version such as 12.4", s)
	}
	return a, b, nil
}
