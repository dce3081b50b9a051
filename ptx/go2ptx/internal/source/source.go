package source

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// GPUPath is the import path of package gpu, which kernels import.
const GPUPath = library + "gpu"

// library is the prefix of the import paths of packages that may declare intrinsics.
const library = "github.com/purecuda/cuda/ptx/"

// File is a Go source file.
type File struct {
	Name string // file name in positions, relative to the module, with forward slashes
	Data []byte
}

// Sources contains the files of a package in any order. Files that do not belong to the build are
// ignored: tests, generated launchers, and files whose build constraints exclude them.
type Sources struct {
	Path      string // import path
	GoVersion string // version in go.mod, "1.25" or "go1.25"; if empty, the newest known version
	Files     []File
}

// Config is the input of Load.
type Config struct {
	Main Sources
	// Resolve returns the source of an imported package. It is not called for package unsafe or for
	// packages declared in std. If Resolve returns an error, the error is reported at the import.
	Resolve func(path string) (Sources, error)
	// Tags are build tags that are satisfied in addition to those of the fixed context.
	Tags []string
}

// Program contains the kernels of a package and the declarations they use, including those in
// imported packages.
type Program struct {
	Fset     *token.FileSet
	Packages []*Package // dependencies first
	Kernels  []*Kernel  // in the order of files and declarations, then of instances
	GoSource bool       // whether source of the Go distribution was used
	Name     string     // name of the main package
	Declared []string   // all package-level names of the main package, sorted, whether reached or not
	texts    map[string][]byte
	decls    map[*types.Func]body
	byTypes  map[*types.Package]*Package
	units    map[string]*unit
	unroll   map[token.Pos]int
	broken   map[*types.Func]string // functions of the Go distribution that cannot be compiled, with the reasons
}

// HasMethod reports whether a type declares a method, whether or not the method is reached.
func (p *Program) HasMethod(t *types.TypeName, method string) bool {
	if t.Pkg() == nil || p.units[t.Pkg().Path()] == nil {
		return false
	}
	return p.units[t.Pkg().Path()].meths[t.Name()][method] != nil
}

type body struct {
	pkg  *Package
	decl *ast.FuncDecl
}

// Package is the reached part of a package after type checking.
type Package struct {
	Path      string
	GoVersion string // version in go.mod with the prefix "go", or empty
	Types     *types.Package
	Info      *types.Info
	Files     []*ast.File // contain only reached declarations
	std       bool        // whether the package is compiled from the Go distribution's source
	stub      bool        // whether the declarations come from folder std
}

// Kernel is a kernel or an instance of a generic kernel.
type Kernel struct {
	Pkg        *Package
	Decl       *ast.FuncDecl
	Obj        *types.Func // the generic function if Instance is not empty
	Name       string      // name in the PTX
	Directives Directives
	Instance   []types.Type     // type arguments
	Signature  *types.Signature // with type arguments substituted
}

// Body returns the declaration of a function or method and the package that contains it. It returns
// nil if the declaration was not reached. For an instance, it returns the declaration of the
// generic function. The declaration of an intrinsic has no Body.
func (p *Program) Body(fn *types.Func) (*Package, *ast.FuncDecl) {
	b := p.decls[fn.Origin()]
	return b.pkg, b.decl
}

// PackageOf returns the package with these types, or nil if it is not part of the program.
func (p *Program) PackageOf(t *types.Package) *Package { return p.byTypes[t] }

// Position returns the position of pos. It ignores line directives.
func (p *Program) Position(pos token.Pos) token.Position { return p.Fset.PositionFor(pos, false) }

// Directives returns the directives of a function. Functions other than kernels only have nobounds
// and noinline. Load has already reported errors in directives.
func (p *Program) Directives(fn *types.Func) Directives {
	pkg, decl := p.Body(fn)
	if decl == nil {
		return Directives{}
	}
	d, _ := parseDirectives(p.Fset, pkg.Path, decl)
	return d
}

// Fingerprint returns a hash of the reached code: the text and position of each declaration.
func (p *Program) Fingerprint() [sha256.Size]byte {
	h := sha256.New()
	for _, pkg := range p.Packages {
		fmt.Fprintf(h, "package %s %s\n", pkg.Path, pkg.GoVersion)
		for _, f := range pkg.Files {
			for _, d := range f.Decls {
				for _, n := range parts(d) {
					from, to := p.Position(start(n)), p.Position(n.End())
					text := p.texts[from.Filename]
					fmt.Fprintf(h, "%s:%d:%d %d\n", from.Filename, from.Line, from.Column, to.Offset-from.Offset)
					h.Write(text[from.Offset:min(to.Offset, len(text))])
				}
			}
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// parts returns the specifications of a declaration, or the declaration itself if it is a function.
// They are separate because pruning may have removed some specifications.
func parts(d ast.Decl) []ast.Node {
	g, ok := d.(*ast.GenDecl)
	if !ok {
		return []ast.Node{d}
	}
	var out []ast.Node
	for _, s := range g.Specs {
		out = append(out, s)
	}
	return out
}

// start returns the start of a declaration, including the comment with its directives.
func start(d ast.Node) token.Pos {
	if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
		return f.Doc.Pos()
	}
	return d.Pos()
}
