package language

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"slices"
	"strings"

	"github.com/purecuda/cuda/internal/language/kernels"
)

// A Kernel is a kernel of package kernels and the features it uses.
type Kernel struct {
	Name, Doc string
	File      string
	Keys      map[Key]bool
}

// Row is a row of the table: a language feature that a kernel uses or that the compiler rejects.
type Row struct {
	Key
	Kernel  string   // name of a kernel in package kernels
	Refusal *Refusal // set if there is no kernel
}

// Table returns all rows and all kernels. It requires the source of the packages that kernels
// import. If a feature is neither used by a kernel nor rejected, the error names it.
func Table() ([]Row, []Kernel, error) {
	fset := token.NewFileSet()
	im := importer.ForCompiler(fset, "source", nil)
	list, err := readKernels(fset, im)
	if err != nil {
		return nil, nil, err
	}
	keys, err := Keys()
	if err != nil {
		return nil, nil, err
	}
	refused, err := readRefused(fset, im)
	if err != nil {
		return nil, nil, err
	}
	var rows []Row
	var errs []error
	for _, k := range keys {
		row := Row{Key: k}
		if i := fewest(list, k, func(x Kernel) map[Key]bool { return x.Keys }); i >= 0 {
			row.Kernel = list[i].Name
		} else if i := fewest(refused, k, func(x refusedKeys) map[Key]bool { return x.keys }); i >= 0 {
			row.Refusal = refused[i].Refusal
		} else {
			errs = append(errs, fmt.Errorf("no kernel uses %s, and nothing with it is refused", k))
		}
		rows = append(rows, row)
	}
	for _, x := range list {
		for k := range x.Keys {
			if !k.in(keys) {
				errs = append(errs, fmt.Errorf("kernel %s uses %s, which has no row", x.Name, k))
			}
		}
	}
	return rows, list, errors.Join(errs...)
}

// fewest returns the index of the most specific element with the given key, that is, the element
// with the fewest keys.
func fewest[T any](list []T, k Key, keys func(T) map[Key]bool) int {
	best := -1
	for i, x := range list {
		if keys(x)[k] && (best < 0 || len(keys(x)) < len(keys(list[best]))) {
			best = i
		}
	}
	return best
}

// refusedKeys is a refusal and the features that its code uses.
type refusedKeys struct {
	*Refusal
	keys map[Key]bool
}

func readRefused(fset *token.FileSet, im types.Importer) (list []refusedKeys, err error) {
	for i := range RefusedFiles {
		r := &RefusedFiles[i]
		text, _, _ := r.Text()
		c := newClassifier(newInfo())
		if strings.Contains(text, "$") {
			c.add(Token, token.ILLEGAL.String())
		}
		if f, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.AllErrors); f != nil {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n.(type) {
				case *ast.BadDecl, *ast.BadExpr, *ast.BadStmt:
					c.one(n)
				}
				return true
			})
		}
		list = append(list, refusedKeys{r, c.keys})
	}
	for i := range Refused {
		r := &Refused[i]
		text, _, _ := r.Text()
		f, err := parser.ParseFile(fset, "", text, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Code, err)
		}
		c := newClassifier(newInfo())
		cfg := types.Config{Importer: im, Error: func(error) {}}
		cfg.Check("p", fset, []*ast.File{f}, c.info) // ignores errors, such as those for unused imports
		c.text([]byte(text))
		c.node(f)
		list = append(list, refusedKeys{r, c.keys})
	}
	return list, nil
}

// readKernels parses package kernels.
func readKernels(fset *token.FileSet, im types.Importer) ([]Kernel, error) {
	texts := map[string][]byte{}
	var files []*ast.File
	names, err := fs.Glob(kernels.Source, "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if texts[name], err = kernels.Source.ReadFile(name); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, texts[name], parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := newInfo()
	cfg := types.Config{Importer: im}
	if _, err := cfg.Check("kernels", fset, files, info); err != nil {
		return nil, err
	}
	r := &reader{fset, texts, info, declarations(info, files)}
	var list []Kernel
	for _, f := range files {
		for _, d := range f.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if ok && fun.Doc != nil && slices.ContainsFunc(fun.Doc.List, isKernel) {
				list = append(list, Kernel{fun.Name.Name, fun.Doc.Text(), fset.Position(f.Pos()).Filename, r.keys(f, fun)})
			}
		}
	}
	if len(list) != len(kernels.All) {
		return nil, fmt.Errorf("%d kernels have a directive, %d are listed", len(list), len(kernels.All))
	}
	return list, nil
}

func newInfo() *types.Info {
	return &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}}
}

type reader struct {
	fset  *token.FileSet
	texts map[string][]byte
	info  *types.Info
	decls map[types.Object]ast.Node
}

// declarations returns the declaration of each package-level object.
func declarations(info *types.Info, files []*ast.File) map[types.Object]ast.Node {
	decls := map[types.Object]ast.Node{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				decls[info.Defs[d.(*ast.FuncDecl).Name]] = d
				continue
			}
			for _, s := range g.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					decls[info.Defs[s.Name]] = g
				case *ast.ValueSpec:
					for _, n := range s.Names {
						decls[info.Defs[n]] = g
					}
				}
			}
		}
	}
	return decls
}

// keys returns the features used by a kernel and by the declarations it refers to.
func (r *reader) keys(f *ast.File, fun *ast.FuncDecl) map[Key]bool {
	c := newClassifier(r.info)
	for _, n := range []string{"File", "Package", "GenDecl", "ImportSpec", "Directive"} {
		c.add(Syntax, n)
	}
	c.add(Token, token.PACKAGE.String())
	c.add(Token, token.IMPORT.String())
	queue := []ast.Node{fun}
	seen := map[ast.Node]bool{}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		at := r.fset.Position(n.Pos())
		c.text(r.texts[at.Filename][at.Offset:r.fset.Position(n.End()).Offset])
		if n == ast.Node(fun) {
			c.add(Token, token.COMMENT.String())
		}
		c.node(n)
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				obj := r.info.Uses[id]
				if fn, ok := obj.(*types.Func); ok {
					obj = fn.Origin()
				}
				if d := r.decls[obj]; d != nil {
					queue = append(queue, d)
				}
			}
			return true
		})
	}
	return c.keys
}

func isKernel(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//gpu:kernel") }
