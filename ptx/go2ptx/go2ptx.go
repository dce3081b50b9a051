// Package go2ptx compiles kernels that are written in Go to PTX. Use the command ptx/cmd/go2ptx to
// compile kernels during development, and this package to compile them at run time:
//
//	out, err := go2ptx.Compile(go2ptx.Config{
//		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: text}}},
//	})
//	if err != nil {
//		return err // errors in the source are of type Errors and have positions
//	}
//	module, err := ctx.LoadModule(out.PTX)
//
// The source imports package ptx/gpu, whose documentation describes what kernels can do. Compile
// reads no files and starts no programs, and its output depends only on its input. The packages
// ptx/gpu, ptx/gpu/math, ptx/gpu/math32 and ptx/num are built in. Of the standard library, cmp,
// iter, slices, math/bits and the parts of math for which devices have instructions are built in.
// Config.Import supplies other packages.
package go2ptx

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"go/token"
	"go/types"
	"io/fs"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/launch"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

// File is a Go source file.
type File struct {
	Name string // name in faults and errors: relative to the module, with forward slashes
	Data []byte
}

// Package contains the files of a package. Test files, generated launchers and files that build
// constraints exclude are ignored. Constraints are evaluated for linux/amd64 on every machine.
type Package struct {
	Path      string // import path
	GoVersion string // version in go.mod, such as 1.25; may be empty
	Files     []File
}

// Config is the input of Compile.
type Config struct {
	Package Package
	// Import returns the source of an imported package that is not built in. It may be nil.
	Import func(path string) (Package, error)
	// Tags lists additional build tags that are satisfied.
	Tags []string

	// Target is the oldest architecture that the kernels must run on, such as sm_80. Newer
	// architectures have faster instructions. If Target is empty, the kernels run on the oldest
	// architecture that supports what they use.
	Target string
	// Variants lists newer targets for which the kernels are also compiled. The generated Go code
	// loads the variant that suits the device best. In kernels, gpu.Arch returns the architecture.
	Variants []string
	// NoFMA disables the fusion of multiplications and additions in all kernels, so that results
	// are bit-identical to those of a CPU.
	NoFMA bool
	// NoBounds disables the bounds checks of indices and slices, and the checks that vectors are
	// aligned.
	NoBounds bool
	// Trap makes failed checks trap, which ends the context. By default, a failed check writes a
	// record, and the next wait returns the failure as a *driver.KernelFault.
	Trap bool
	// Lines adds line information to the PTX, for profilers and debuggers.
	Lines bool
	// Skip lists optimization passes to skip, by the names that Passes returns. If a kernel computes
	// wrong results, skipping one pass after another finds the pass with the error.
	Skip []string

	// PTXFile is the name of the PTX file that the generated Go code embeds, such as heat_gpu.ptx.
	// If PTXFile is empty, Compile generates no Go code.
	PTXFile string
	// Module replaces the launchers in the generated Go code by one function Module, which returns
	// the module of the kernels in a context.
	Module bool
	// Note is a comment at the beginning of the generated Go file.
	Note string
	// GoRelease is the Go release from which Import takes standard library packages. The generated
	// Go file mentions the release if such a package was compiled.
	GoRelease string
}

// Output contains the compiled kernels.
type Output struct {
	PTX []byte
	// Variants contains the PTX for each of Config.Variants. Kernels and Remarks describe PTX only.
	Variants []Variant
	Go       []byte // the launchers, if Config.PTXFile is set
	Kernels  []Kernel
	// Hash is a hash of the options and of all source that the kernels use. It does not change with
	// the compiler: a cache that outlives the program must also use the version of this module.
	Hash    string
	Remarks []Remark
	// Linked names the PTX files that define functions declared with gpu.Extern. They must be
	// linked with the PTX.
	Linked []string
	// GoSource is true if source of the Go distribution, supplied by Config.Import, was compiled.
	// The output then depends on the Go version.
	GoSource bool
}

// Variant is the PTX for one of several targets.
type Variant struct {
	Target string
	File   string // such as heat_gpu.sm_90.ptx, beside Config.PTXFile
	PTX    []byte
}

// Kernel describes a compiled kernel.
type Kernel struct {
	Name      string           // name in the PTX
	Func      string           // name in Go
	Pos       token.Position   // position of the function
	Signature *types.Signature // with type arguments substituted
	Block     [3]int           // block size from the directive; zero if not specified
	Checks    int              // number of checks that remain after optimization
	Shared    int              // bytes of static shared memory per block
	Local     int              // bytes of variables in local memory, without spilled registers
	// Traps is true if a failed check ends the context. An option selects this, and it is always
	// the case for kernels that use synchronization that counts threads: barriers with a count,
	// mbarriers, and barriers of clusters and grids.
	Traps bool
}

// Remark describes the cost of a source line, or an optimization applied to it. The command go2ptx
// -explain prints remarks.
type Remark struct {
	Pos  token.Position
	Text string
}

// Error is an error in the source.
type Error = source.Error

// Errors is a list of errors. It unwraps to *Error.
type Errors = source.Errors

// Compile compiles the kernels of a package. Errors in the source are returned as Errors.
func Compile(cfg Config) (*Output, error) {
	p, err := load(cfg)
	if err != nil {
		return nil, err
	}
	c, err := compile(p, cfg)
	if err != nil {
		return nil, err
	}
	variants, err := compileVariants(p, cfg)
	if err != nil {
		return nil, err
	}
	all := variantSet(append(variants, c))
	out := &Output{GoSource: p.GoSource, Hash: hashOf(p, cfg)}
	for _, k := range p.Kernels {
		t := c.totals(k.Name)
		out.Kernels = append(out.Kernels, Kernel{k.Name, k.Obj.Name(), p.Position(k.Decl.Pos()), k.Signature, k.Directives.Block, t.checks, t.shared, t.local, c.traps(k.Name)})
	}
	out.PTX, out.Remarks, out.Linked = c.text, c.remarks, all.linked()
	for i, v := range variants {
		out.Variants = append(out.Variants, Variant{cfg.Variants[i], variantFile(cfg.PTXFile, cfg.Variants[i]), v.text})
	}
	if cfg.PTXFile == "" {
		return out, nil
	}
	header := []string{"Source " + out.Hash}
	if cfg.Note != "" {
		header = append(header, cfg.Note)
	}
	if p.GoSource && cfg.GoRelease != "" {
		header = append(header, "Contains source of "+cfg.GoRelease)
	}
	o := launch.Options{File: cfg.PTXFile, Header: header, Linked: out.Linked, Variables: all.variables(), ReadOnly: all.readOnly, Traps: all.traps, Module: cfg.Module}
	for _, v := range out.Variants {
		o.Variants = append(o.Variants, v.File)
	}
	out.Go, err = launch.Generate(p, o)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Hash returns [Output].Hash without compiling.
func Hash(cfg Config) (string, error) {
	p, err := load(cfg)
	if err != nil {
		return "", err
	}
	return hashOf(p, cfg), nil
}

func load(cfg Config) (*source.Program, error) {
	return source.Load(source.Config{Main: cfg.Package.sources(), Tags: cfg.Tags, Resolve: func(path string) (source.Sources, error) {
		if files, ok := builtin[path]; ok {
			return sourcesOf(path, files)
		}
		if cfg.Import == nil {
			return source.Sources{}, fmt.Errorf("package %s is not built in, and no source is available", path)
		}
		p, err := cfg.Import(path)
		p.Path = path
		return p.sources(), err
	}})
}

func (p Package) sources() source.Sources {
	s := source.Sources{Path: p.Path, GoVersion: p.GoVersion}
	for _, f := range p.Files {
		s.Files = append(s.Files, source.File(f))
	}
	return s
}

func hashOf(p *source.Program, cfg Config) string {
	h, of := sha256.New(), p.Fingerprint()
	h.Write(of[:])
	fmt.Fprintf(h, "%q %v %v %v %v", cfg.Target, cfg.NoFMA, cfg.NoBounds, cfg.Trap, cfg.Lines)
	if len(cfg.Skip)+len(cfg.Variants) > 0 {
		fmt.Fprintf(h, " %q %q", cfg.Skip, cfg.Variants)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

const root = "github.com/purecuda/cuda/ptx/"

var builtin = map[string]*embed.FS{
	root + "gpu": &gpu.Source, root + "gpu/math": &math.Source, root + "gpu/math32": &math32.Source, root + "num": &num.Source,
}

func sourcesOf(path string, files *embed.FS) (source.Sources, error) {
	s := source.Sources{Path: path}
	names, err := fs.Glob(files, "*.go")
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, source.File{Name: strings.TrimPrefix(path, "github.com/purecuda/cuda/") + "/" + name, Data: data})
	}
	return s, err
}
