// Package go2ptx compiles kernels that are written in Go to PTX. The command
// ptx/cmd/go2ptx does so when a program is developed, and this package while it runs:
//
//	out, err := go2ptx.Compile(go2ptx.Config{
//		Package: go2ptx.Package{Path: "example", Files: []go2ptx.File{{Name: "scale.go", Data: text}}},
//	})
//	if err != nil {
//		return err // for problems in the source, it is of type Errors, with their positions
//	}
//	module, err := ctx.LoadModule(out.PTX)
//
// The text imports package ptx/gpu, which documents what kernels can do. Compile reads no files and
// starts no programs, and its output depends only on its input. The packages ptx/gpu, ptx/gpu/math,
// ptx/gpu/math32 and ptx/num are built in. Of the standard library, cmp, iter, slices, math/bits and
// the part of math that devices have instructions for are built in. Config.Import supplies others.
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

// File is a Go file.
type File struct {
	Name string // as faults and errors show it: relative to the module, with slashes
	Data []byte
}

// Package contains the files of a package. Test files, generated launchers and files that build
// constraints exclude are ignored. Constraints are evaluated for linux/amd64 on every machine.
type Package struct {
	Path      string // import path
	GoVersion string // the version in go.mod, such as 1.25; may be empty
	Files     []File
}

// Config is the input of Compile.
type Config struct {
	Package Package
	// Import returns the source of an imported package that is not built in. It may be nil.
	Import func(path string) (Package, error)
	// Tags lists further build tags that are satisfied.
	Tags []string

	// Target is the lowest architecture that must be able to run the kernels, such as sm_80. A higher
	// one allows faster instructions. Empty means the lowest that can run them.
	Target string
	// NoFMA prevents the fusing of multiplications and additions in all kernels, so that results have
	// the same bits as on a CPU.
	NoFMA bool
	// NoBounds removes the checks of indices and slices.
	NoBounds bool
	// Trap makes a failed check trap. That ends the context. By default, the check leaves a record
	// that the next wait returns as *driver.KernelFault.
	Trap bool
	// Lines adds line numbers to the PTX, for profilers and debuggers.
	Lines bool

	// PTXFile is the name of the PTX file that the generated Go embeds, such as heat_gpu.ptx. Without
	// a name, Compile generates no Go.
	PTXFile string
	// Note is a comment at the beginning of the generated Go.
	Note string
	// GoRelease is the Go release that Import takes packages of the standard library from. The
	// generated Go names it if such source was compiled.
	GoRelease string
}

// Output contains the compiled kernels.
type Output struct {
	PTX     []byte
	Go      []byte // the launchers, if Config.PTXFile is set
	Kernels []Kernel
	Hash    string // of the source that the kernels reach and of the options
	Remarks []Remark
	// Linked names the PTX files with functions of gpu.Extern. Link them with the PTX.
	Linked []string
	// GoSource is true if source of the Go distribution, from Config.Import, was compiled. The output
	// then depends on the version of Go.
	GoSource bool
}

// Kernel describes a compiled kernel.
type Kernel struct {
	Name      string           // in the PTX
	Func      string           // in Go
	Pos       token.Position   // of the function
	Signature *types.Signature // with the type arguments of an instance
	Block     [3]int           // from the directive; zero if it has none
	Checks    int              // that remain in the code
	Shared    int              // bytes of static shared memory of a block
	Local     int              // bytes of variables in local memory; the driver adds spilled registers
	// Traps is true if a failed check ends the context. That is an option, and it is necessary in
	// kernels that wait for a number of threads: barriers with a count, mbarriers, and barriers of
	// clusters and grids.
	Traps bool
}

// Remark describes a cost or an improvement in the code of a line. go2ptx -explain prints remarks.
type Remark struct {
	Pos  token.Position
	Text string
}

// Error is a problem in the source.
type Error = source.Error

// Errors lists all problems. It unwraps to *Error.
type Errors = source.Errors

// Compile compiles the kernels of a package. Errors in the source are Errors.
func Compile(cfg Config) (*Output, error) {
	p, err := load(cfg)
	if err != nil {
		return nil, err
	}
	c, err := compile(p, cfg)
	if err != nil {
		return nil, err
	}
	out := &Output{GoSource: p.GoSource, Hash: hashOf(p, cfg)}
	for _, k := range p.Kernels {
		t := c.totals(k.Name)
		out.Kernels = append(out.Kernels, Kernel{k.Name, k.Obj.Name(), p.Position(k.Decl.Pos()), k.Signature, k.Directives.Block, t.checks, t.shared, t.local, c.traps(k.Name)})
	}
	out.PTX, out.Remarks, out.Linked = c.text, c.remarks, c.linked()
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
	out.Go, err = launch.Generate(p, launch.Options{File: cfg.PTXFile, Header: header, Linked: out.Linked, Variables: c.variables(), ReadOnly: c.readOnly, Traps: c.traps})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Hash returns Output.Hash without compiling.
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

// revision changes when the compiler's output changes for reasons outside of the source.
const revision = 1

func hashOf(p *source.Program, cfg Config) string {
	h, of := sha256.New(), p.Fingerprint()
	h.Write(of[:])
	fmt.Fprintf(h, "%d %q %v %v %v %v", revision, cfg.Target, cfg.NoFMA, cfg.NoBounds, cfg.Trap, cfg.Lines)
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
