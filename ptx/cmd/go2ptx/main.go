// Go2ptx compiles kernels that are written in Go to PTX, and generates Go code that launches them.
// To use it, add this line to a file of the package that contains the kernels:
//
//	//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx
//
// For a package heat, go generate then writes heat_gpu.go and heat_gpu.ptx. Commit both files. For
// package main, the names are main_gpu.go and main_gpu.ptx. A kernel is a function with a
// directive:
//
//	//gpu:kernel block=256
//	func step(t gpu.Thread, next, now []float32, width int, k float32) {
//
// Its launcher has the function's name with an upper-case first letter:
//
//	step, err := StepIn(ctx)
//	err = step.Do(stream, step.Grid(n), next.All(), now.All(), width, k)
//
// A slice is passed as a driver.View, and a struct is passed by value.
//
// # Directives
//
// The options of gpu:kernel can be in any order:
//
//	block=256      the size of a block: 256, 16x16 or 8x8x8. Launches with another size fail.
//	maxblock=256   instead of block: the maximum number of threads in a block
//	cluster=2      the size of a cluster in blocks: 2, 2x2 or 2x2x2
//	minblocks=2    the minimum number of blocks that should be resident on a multiprocessor
//	regs=64        the maximum number of registers per thread
//	shared=4096    bytes of dynamic shared memory
//	restrict       memory that the kernel writes through a slice or pointer overlaps no other memory
//	restrict=a,b   the memory of these parameters does not overlap that of any other parameter
//	trap           a failed check ends the context instead of writing a record
//	fma=off        multiplications and additions are not fused
//	name=n         the name in the PTX; the default is the name of the function
//	launcher=N     the launcher's type; the default is the function's name, exported,
//	               and for an exported function its name and Kernel
//
// Other directives for functions:
//
//	//gpu:instance float32 num.F16   instances of a generic kernel, separated by spaces
//	//gpu:instance float32,int32     the same with two type parameters
//	//gpu:nobounds                   indices, slices and the alignment of vectors are not checked
//	                                 in this function
//	//gpu:noinline                   calls of this function are not inlined
//
// A directive for a loop, directly above it:
//
//	//gpu:unroll 8                   8 iterations are executed at a time; 0 or 1: one at a time
//
// # Variants
//
// With -variants=sm_80,sm_90, go2ptx also compiles the kernels for these targets, into
// heat_gpu.sm_80.ptx and heat_gpu.sm_90.ptx. The launchers load the variant that suits the device
// best. The compiler uses the instructions of the target, and the function gpu.Arch tells a kernel
// its architecture. -S, -explain and -resources use only the oldest variant, unless -target selects
// another one.
//
// # Launchers
//
// A package that finds its kernels by name needs no launchers. With -module, go2ptx generates only
// the function Module, which returns the code in a context, instead of launchers.
//
// The page docs/kernels-language.md describes what a kernel may contain.
//
// Go2ptx reads only the code that kernels use. It therefore works even if the generated files are
// missing or out of date, or if other code in the package does not compile.
//
// # Stale code
//
// With -check, go2ptx writes nothing and fails if the existing files differ from what it would
// write. It uses the flags with which the files were generated. In tests, CheckKernels of package
// driver/cudatest does the same.
//
// With -json, it also prints errors and the names of stale files as JSON, for use by programs. The
// checker ptx/cmd/go2ptxvet reports them in go vet.
//
// # Explanations
//
// With -explain, go2ptx writes no files. It prints remarks about source lines: checks that remain
// in the code, vector accesses, fused multiplications and additions, variables in local memory,
// calls that are not inlined, integer divisions and float64 arithmetic. The remark at the line of a
// kernel contains its totals.
//
// Register counts and spills are determined by the driver's compiler. With -resources, go2ptx loads
// the code with the driver of this machine. For each kernel, it prints the device, the registers
// per thread, local and shared memory in bytes, and the maximum block size. Local memory beyond the
// variables in the PTX is used for spilled registers and the stack. Both options use the flags in
// the generated file.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command and returns the exit status: 1 for a failure, 2 for invalid flags.
func run(args []string, out, errs io.Writer) int {
	c := newCommand(errs)
	if err := c.parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		fmt.Fprintln(errs, "go2ptx:", err)
		return 2
	}
	err := c.generate(out)
	if c.json {
		err = c.printJSON(out, err)
	}
	if err != nil {
		c.report(errs, err)
		return 1
	}
	return 0
}

type command struct {
	flags    *flag.FlagSet
	dir      string
	output   string
	fma      string
	tags     string
	skip     string
	variants string
	check    bool
	explain  bool
	devices  bool
	print    bool
	json     bool
	open     func() (*driver.Driver, error)
	cfg      go2ptx.Config
	loader   *loader
}

func newCommand(errs io.Writer) *command {
	c := &command{open: driver.Open}
	c.reset(errs)
	return c
}

func (c *command) reset(errs io.Writer) {
	c.flags = flag.NewFlagSet("go2ptx", flag.ContinueOnError)
	f := c.flags
	f.SetOutput(errs)
	f.Usage = func() {
		fmt.Fprint(errs, "usage: go2ptx [flags] [directory]\n\nCompiles the kernels of the package in the directory; see the package's documentation.\n\n")
		f.PrintDefaults()
	}
	f.StringVar(&c.output, "o", "", "`file` with the launchers; the PTX goes beside it; by default the package's name and _gpu.go")
	f.StringVar(&c.cfg.Target, "target", "", "lowest `architecture` that runs the kernels, such as sm_80; by default the lowest that can")
	f.StringVar(&c.variants, "variants", "", "newer `targets` to compile for as well, separated by commas, such as sm_80,sm_90")
	f.StringVar(&c.fma, "fma", "on", "`on` or off: fuse multiplications and additions; off gives the bits of a CPU")
	f.BoolVar(&c.cfg.NoBounds, "nobounds", false, "do not check indices, slices and the alignment of vectors")
	f.BoolVar(&c.cfg.Module, "module", false, "generate a function Module that loads the code, and no launchers")
	f.BoolVar(&c.cfg.Trap, "trap", false, "let failed checks trap, which ends the context")
	f.BoolVar(&c.cfg.Lines, "lineinfo", false, "add line numbers for profilers and debuggers")
	f.StringVar(&c.skip, "skip", "", "optimization `passes` to skip, separated by commas, to find a pass that makes a kernel wrong: "+strings.Join(go2ptx.Passes(), ", "))
	f.StringVar(&c.tags, "tags", "", "build `tags` that are satisfied, separated by commas")
	f.BoolVar(&c.check, "check", false, "write nothing; fail if a file is not up to date")
	f.BoolVar(&c.json, "json", false, "like -check, but print errors and files that are not up to date as JSON, with the exit status 0")
	f.BoolVar(&c.explain, "explain", false, "write nothing; print what the compiler did, by line")
	f.BoolVar(&c.devices, "resources", false, "write nothing; print the registers and the memory that the driver's compiler gives each kernel on this machine's GPU")
	f.BoolVar(&c.print, "S", false, "write the PTX to the standard output and no file")
}

func (c *command) parse(args []string) error {
	if err := c.flags.Parse(args); err != nil {
		return err
	}
	c.cfg.NoFMA = c.fma == "off"
	if c.fma != "on" && c.fma != "off" {
		return fmt.Errorf("-fma=%s: write on or off", c.fma)
	}
	if c.variants != "" {
		c.cfg.Variants = strings.Split(c.variants, ",")
	}
	if c.skip != "" {
		c.cfg.Skip = strings.Split(c.skip, ",")
	}
	if c.tags != "" {
		c.cfg.Tags = strings.Split(c.tags, ",")
	}
	switch c.flags.NArg() {
	case 0:
		c.dir = "."
	case 1:
		c.dir = c.flags.Arg(0)
	default:
		return fmt.Errorf("one directory at a time, not %s", strings.Join(c.flags.Args(), " "))
	}
	if c.output != "" && !strings.HasSuffix(c.output, ".go") {
		return fmt.Errorf("-o %s: the name ends in .go", c.output)
	}
	return nil
}

// note is the prefix of the comment that records the flags in a generated file.
const note = "Flags "

// note returns the flags that affect the output, so that -check can use them again.
func (c *command) note() string {
	var list []string
	for _, name := range []string{"target", "variants", "fma", "nobounds", "module", "trap", "lineinfo", "skip", "tags"} {
		if f := c.flags.Lookup(name); f.Value.String() != f.DefValue {
			list = append(list, "-"+name+"="+f.Value.String())
		}
	}
	if list == nil {
		return ""
	}
	return note + strings.Join(list, " ")
}

func (c *command) generate(out io.Writer) error {
	l, err := newLoader(c.dir)
	if err != nil {
		return err
	}
	c.loader = l
	c.check = c.check || c.json
	reads := c.check || c.explain || c.devices
	if reads {
		if err := c.flagsOf(); err != nil {
			return err
		}
	}
	if c.output == "" {
		c.output = filepath.Join(c.dir, l.name+"_gpu.go")
	}
	if filepath.Dir(filepath.Clean(c.output)) != filepath.Clean(c.dir) {
		return fmt.Errorf("-o %s: the file must be in the folder of the package, %s", c.output, c.dir)
	}
	text := strings.TrimSuffix(c.output, ".go") + ".ptx"
	c.cfg.Package, c.cfg.Import, c.cfg.GoRelease = l.main, l.resolve, runtime.Version()
	c.cfg.PTXFile, c.cfg.Note = filepath.Base(text), c.note()
	res, err := go2ptx.Compile(c.cfg)
	if err != nil {
		return err
	}
	if len(res.Kernels) == 0 {
		return fmt.Errorf("package %s has no kernels: functions with a comment //gpu:kernel directly above", l.main.Path)
	}
	if c.explain {
		for _, r := range res.Remarks {
			fmt.Fprintf(out, "%s: %s\n", l.line(r.Pos), r.Text)
		}
	}
	if c.devices {
		if err := c.resources(out, res); err != nil {
			return err
		}
	}
	if c.print {
		_, err := out.Write(res.PTX)
		return err
	}
	files := []file{{text, res.PTX}, {c.output, res.Go}}
	for _, v := range res.Variants {
		files = append(files, file{filepath.Join(c.dir, v.File), v.PTX})
	}
	if c.check {
		return check(files)
	}
	if reads {
		return nil
	}
	return write(files, out)
}

type file struct {
	path string
	data []byte
}

func write(files []file, out io.Writer) error {
	for _, f := range files {
		old, err := os.ReadFile(f.path)
		if err == nil && bytes.Equal(old, f.data) {
			continue
		}
		if err := os.WriteFile(f.path, f.data, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(out, f.path)
	}
	return nil
}

func check(files []file) error {
	var stale []string
	for _, f := range files {
		old, err := os.ReadFile(f.path)
		if err != nil || !bytes.Equal(bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n")), f.data) {
			stale = append(stale, f.path)
		}
	}
	if len(stale) > 0 {
		return staleError(stale)
	}
	return nil
}

// staleError lists the generated files that are out of date.
type staleError []string

func (e staleError) Error() string {
	return fmt.Sprintf("not up to date: %s; run go generate", strings.Join(e, ", "))
}

// flagsOf finds the generated file and uses the flags in its header, unless the command line
// contains flags that affect the output.
func (c *command) flagsOf() error {
	path := c.output
	if path == "" {
		path = c.loader.generated
	}
	if path == "" || c.note() != "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil // check reports the file as out of date
	}
	head, _, _ := strings.Cut(string(data), "\npackage ")
	for _, line := range strings.Split(head, "\n") {
		if flags, ok := strings.CutPrefix(strings.TrimSpace(line), "// "+note); ok {
			args := append(strings.Fields(flags), fmt.Sprintf("-check=%v", c.check), fmt.Sprintf("-explain=%v", c.explain),
				fmt.Sprintf("-json=%v", c.json), fmt.Sprintf("-resources=%v", c.devices), fmt.Sprintf("-S=%v", c.print), "-o", path, c.dir)
			errs := c.flags.Output()
			c.reset(errs)
			return c.parse(args)
		}
	}
	c.output = path
	return nil
}

// report prints errors with positions relative to the working directory.
func (c *command) report(w io.Writer, err error) {
	var list go2ptx.Errors
	if !errors.As(err, &list) {
		fmt.Fprintln(w, "go2ptx:", err)
		return
	}
	for _, e := range list {
		if at := c.loader.position(e.Pos); at != "" {
			fmt.Fprintf(w, "%s: %s\n", at, e.Msg)
		} else {
			fmt.Fprintln(w, "go2ptx:", e.Msg)
		}
	}
	// With the old file, Go may report that a kernel is undefined.
	if old := c.loader.generated; old != "" && !c.check && !c.explain && !c.devices && !c.print {
		fmt.Fprintf(w, "go2ptx: %s is not changed, and has the launchers of the kernels before\n", old)
	}
}
