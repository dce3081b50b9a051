package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/build/constraint"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/purecuda/cuda/ptx/ptx2go/internal/gen"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command and returns the exit status: 1 for a failure, 2 for invalid
// flags.
func run(args []string, out, errs io.Writer) int {
	c := newCommand(errs)
	if err := c.parse(args); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(errs, "ptx2go:", err)
			return 2
		}
		return 0
	}
	if err := c.generate(out); err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			fmt.Fprintln(errs, "ptx2go:", line)
		}
		return 1
	}
	return 0
}

type command struct {
	flags        *flag.FlagSet
	opts         gen.Options
	only, skip   string
	forms        string
	nvccFlags    string
	block        string
	check, quiet bool
	inputs       []string
	names        list
	types        list
}

type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func newCommand(errs io.Writer) *command {
	c := &command{flags: flag.NewFlagSet("ptx2go", flag.ContinueOnError)}
	f := c.flags
	f.SetOutput(errs)
	f.Usage = func() {
		fmt.Fprint(errs, "usage: ptx2go [flags] file.ptx file.cu ...\n\nGenerates typed Go launchers for the kernels in the files; see the package's documentation.\n\n")
		f.PrintDefaults()
	}
	f.StringVar(&c.opts.Package, "pkg", os.Getenv("GOPACKAGE"), "`name` of the package; by default that of the file with the go:generate line")
	f.StringVar(&c.opts.Dir, "o", ".", "`directory` the files go to")
	f.StringVar(&c.opts.Source, "src", "", "`directory` with the CUDA sources of the PTX files, read for names and types; beside them by default")
	f.StringVar(&c.opts.Set, "set", "Kernels", "`type` that has all kernels")
	f.BoolVar(&c.opts.Embedded, "embedded", false, "modules belong to the context (driver.Context.Embedded): no set, a function per kernel")
	f.BoolVar(&c.opts.Unexported, "unexported", false, "names begin with a lower-case letter")
	f.StringVar(&c.opts.Prefix, "prefix", "", "begins the Go name of every kernel that -name does not give")
	f.BoolVar(&c.opts.Qualify, "qualify", false, "begin the Go name of every kernel with that of its file")
	f.Var(&c.names, "name", "`kernel=Name` gives a kernel its Go name; can be repeated")
	f.Var(&c.types, "types", "`\"kernel: in x float32, n uint32\"` describes parameters; can be repeated")
	f.StringVar(&c.only, "only", "", "generate only kernels whose PTX name matches the `regexp`")
	f.StringVar(&c.skip, "skip", "", "skip kernels whose PTX name matches the `regexp`")
	f.StringVar(&c.block, "block", "256", "`size` of the blocks of Grid, 256 or 16x16, where the kernel does not say")
	f.StringVar(&c.opts.Compiler.NVCC, "nvcc", os.Getenv("NVCC"), "`path` of nvcc, for .cu files; searched for by default")
	f.BoolVar(&c.opts.Compiler.NVRTC, "nvrtc", false, "compile .cu files with NVRTC even if nvcc is installed")
	f.StringVar(&c.opts.Compiler.Arch, "arch", "compute_70", "virtual `architecture` that .cu files are compiled for")
	f.StringVar(&c.nvccFlags, "nvccflags", "", "further `flags` for nvcc or NVRTC, separated by spaces")
	f.StringVar(&c.forms, "forms", "op,grid,do,prepare", "what to generate for each kernel:  `list` of op, grid, do and prepare; op always is")
	f.StringVar(&c.opts.Tags, "tags", "", "build `constraint` of the files")
	f.BoolVar(&c.check, "check", false, "write nothing, fail if a file is not up to date")
	f.BoolVar(&c.quiet, "q", false, "do not list the files that are written")
	return c
}

func (c *command) parse(args []string) (err error) {
	if err := c.flags.Parse(args); err != nil {
		return err
	}
	if c.opts.Package == "" {
		return fmt.Errorf("no package name: give -pkg")
	}
	if !token.IsIdentifier(c.opts.Package) {
		return fmt.Errorf("-pkg %s: not a package name", c.opts.Package)
	}
	if !token.IsIdentifier(c.opts.Set) {
		return fmt.Errorf("-set %s: not a Go name", c.opts.Set)
	}
	if c.opts.Tags != "" {
		if _, err := constraint.Parse("//go:build " + c.opts.Tags); err != nil {
			return fmt.Errorf("-tags %s: %w", c.opts.Tags, err)
		}
	}
	if c.opts.Only, err = pattern("-only", c.only); err != nil {
		return err
	}
	if c.opts.Skip, err = pattern("-skip", c.skip); err != nil {
		return err
	}
	if c.opts.Unexported && c.opts.Set == "Kernels" {
		c.opts.Set = "kernels"
	}
	if err := c.parseLists(); err != nil {
		return err
	}
	c.opts.Block, err = gen.ParseBlock(c.block)
	if err != nil {
		return err
	}
	if c.opts.Forms, err = gen.ParseForms(c.forms); err != nil {
		return fmt.Errorf("-forms: %w", err)
	}
	c.opts.Compiler.Flags = strings.Fields(c.nvccFlags)
	c.inputs, err = inputs(c.flags.Args())
	return err
}

func (c *command) parseLists() error {
	c.opts.Names = map[string]string{}
	for _, s := range c.names {
		old, name, ok := strings.Cut(s, "=")
		if !ok || old == "" || name == "" {
			return fmt.Errorf("-name %s: write kernel=Name", s)
		}
		c.opts.Names[old] = name
	}
	for _, s := range c.types {
		if err := c.opts.AddTypes(s); err != nil {
			return fmt.Errorf("-types %q: %w", s, err)
		}
	}
	return nil
}

func pattern(name, s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return re, nil
}

// inputs expands file name patterns, because go:generate does not use a shell.
func inputs(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		found, err := filepath.Glob(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no such file", a)
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no files: name at least one .ptx or .cu file")
	}
	return out, nil
}

func (c *command) generate(out io.Writer) error {
	files, err := gen.Generate(c.opts, c.inputs)
	if err != nil {
		return err
	}
	if c.check {
		return check(files)
	}
	for _, f := range files {
		old, err := os.ReadFile(f.Path)
		if err == nil && bytes.Equal(old, f.Data) {
			continue
		}
		if err := os.WriteFile(f.Path, f.Data, 0o666); err != nil {
			return err
		}
		if !c.quiet {
			fmt.Fprintln(out, f.Path)
		}
	}
	return nil
}

// check returns an error that lists the files whose contents on disk differ.
func check(files []gen.File) error {
	var stale []string
	for _, f := range files {
		old, err := os.ReadFile(f.Path)
		if err != nil || !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), f.Data) {
			stale = append(stale, f.Path)
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("not up to date: %s; run ptx2go again without -check", strings.Join(stale, ", "))
	}
	return nil
}
