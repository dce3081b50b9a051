package source

import (
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// GPUPath is the import path of the package that kernels import.
const GPUPath = library + "gpu"

// library begins the import paths of the packages that may declare intrinsics.
const library = "github.com/purecuda/cuda/ptx/"

// File is a Go file in memory.
type File struct {
	Name string // as positions show it: relative to the module, with slashes
	Data []byte
}

// Sources are the files of a package, in any order. Files that do not belong to the build are
// ignored: tests, generated launchers, and files whose build constraints exclude them.
type Sources struct {
	Path      string // import path
	GoVersion string // of go.mod: "1.25" or "go1.25"; empty: the newest that is known
	Files     []File
}

// Config is the input of Load.
type Config struct {
	Main Sources
	// Resolve returns the source of an imported package. It is not called for package unsafe, nor
	// for packages that are declared here. An error is reported where the import is used.
	Resolve func(path string) (Sources, error)
	// Tags are build tags that are satisfied in addition to those of the fixed context.
	Tags []string
}

// Program is a package with kernels, and what they reach in it and in imported packages.
type Program struct {
	Fset     *token.FileSet
	Packages []*Package // dependencies first
	Kernels  []*Kernel  // in the order of the files and declarations, then of the instances
	GoSource bool       // source of the Go distribution is a part
	Name     string     // of the main package
	Declared []string   // all names of the main package's scope, sorted, reached or not
	texts    map[string][]byte
	decls    map[*types.Func]body
	byTypes  map[*types.Package]*Package
	units    map[string]*unit
}

// HasMethod reports whether a type declares a method, reached or not.
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

// Package is the reached part of a package, type-checked.
type Package struct {
	Path      string
	GoVersion string // as in go.mod with the prefix go, or empty
	Types     *types.Package
	Info      *types.Info
	Files     []*ast.File // contain only what is reached
	std       bool
}

// Kernel is a kernel, or an instance of a generic kernel.
type Kernel struct {
	Pkg        *Package
	Decl       *ast.FuncDecl
	Obj        *types.Func // generic if Instance is not empty
	Name       string      // in the PTX
	Directives Directives
	Instance   []types.Type     // type arguments
	Signature  *types.Signature // with the type arguments
}

// Body returns the declaration of a function or method, and the package with its types. It returns
// nil if the function has no declaration that was reached. The declaration of an intrinsic has no
// Body. The origin of an instance is found.
func (p *Program) Body(fn *types.Func) (*Package, *ast.FuncDecl) {
	b := p.decls[fn.Origin()]
	return b.pkg, b.decl
}

// PackageOf returns the package with these types, nil if it is not a part of the program.
func (p *Program) PackageOf(t *types.Package) *Package { return p.byTypes[t] }

// Position returns the place of pos. It ignores line directives.
func (p *Program) Position(pos token.Pos) token.Position { return p.Fset.PositionFor(pos, false) }

// Directives returns the directives of a function: those of a kernel, or nobounds and noinline.
// Errors in them were reported by Load.
func (p *Program) Directives(fn *types.Func) Directives {
	pkg, decl := p.Body(fn)
	if decl == nil {
		return Directives{}
	}
	d, _ := parseDirectives(p.Fset, pkg.Path, decl)
	return d
}

// Fingerprint returns a hash of what was reached: the text and position of each declaration.
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

// parts returns a declaration, or its specifications: pruning may have removed others.
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

// start returns the beginning of a declaration, with the comment that has the directives.
func start(d ast.Node) token.Pos {
	if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil {
		return f.Doc.Pos()
	}
	return d.Pos()
}
