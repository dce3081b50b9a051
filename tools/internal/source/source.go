// Package source type-checks packages from source, including the standard library, for any system
// and build tags. It does not compile them. It takes about two seconds per target, while a build
// takes twenty.
package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Target is a system, with optional build tags separated by commas.
type Target struct{ OS, Arch, Tags string }

// ParseTarget parses GOOS/GOARCH or GOOS/GOARCH/TAGS.
func ParseTarget(name string) (Target, error) {
	words := strings.SplitN(name, "/", 3)
	if len(words) < 2 || words[0] == "" || words[1] == "" {
		return Target{}, fmt.Errorf("%q is not GOOS/GOARCH or GOOS/GOARCH/TAG", name)
	}
	t := Target{OS: words[0], Arch: words[1]}
	if len(words) == 3 {
		t.Tags = words[2]
	}
	return t, nil
}

func (t Target) String() string {
	if t.Tags == "" {
		return t.OS + "/" + t.Arch
	}
	return t.OS + "/" + t.Arch + "/" + t.Tags
}

// Package is a package of the module, or the variant of a package that is compiled for a test.
type Package struct {
	ImportPath, Name, Module string
	Types                    *types.Package
}

// listed is a package in the output of go list. The path of a test variant contains the name
// of the test in brackets, and its files include the test files.
type listed struct {
	ImportPath, Name, Dir string
	Standard              bool
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct {
		Path, GoVersion string
		Main            bool
	}
}

// list returns the packages of a module, each after its imports.
func (t Target) list(folder string, tests bool) ([]listed, error) {
	cmd := exec.Command("go", "list", "-deps", fmt.Sprintf("-test=%t", tests), "-tags", t.Tags,
		"-json=ImportPath,Name,Dir,Standard,GoFiles,ImportMap,Module", "./...")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: go list: %w: %s", t, err, stderr.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// Declarations type-checks the packages of a module without function bodies and tests.
func (f *Files) Declarations(t Target, folder string) ([]Package, error) {
	return f.check(t, []string{folder}, false, false)
}

// Everything type-checks the packages of several modules, given as folders, with their tests.
func (f *Files) Everything(t Target, folders ...string) ([]Package, error) {
	return f.check(t, folders, true, true)
}

// Code is like Everything, but without tests.
func (f *Files) Code(t Target, folders ...string) ([]Package, error) {
	return f.check(t, folders, true, false)
}

func (f *Files) check(t Target, folders []string, whole, tests bool) ([]Package, error) {
	c := checker{target: t, files: f, whole: whole, done: map[string]*types.Package{"unsafe": types.Unsafe}}
	if c.sizes = types.SizesFor("gc", t.Arch); c.sizes == nil {
		return nil, fmt.Errorf("there is no architecture %q", t.Arch)
	}
	for _, folder := range folders {
		all, err := t.list(folder, tests)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			c.check(p)
		}
	}
	return c.own, errors.Join(c.errs...)
}

// checker checks packages for one target. It caches checked packages by import path, because
// the modules share imports.
type checker struct {
	target Target
	files  *Files
	whole  bool // also check function bodies
	sizes  types.Sizes
	done   map[string]*types.Package
	own    []Package // packages of the modules being checked
	errs   []error
}

// check checks a package whose imports have already been checked. For a package of the standard
// library, which is known to compile, it ignores function bodies and errors.
func (c *checker) check(p listed) {
	if c.done[p.ImportPath] != nil || strings.HasSuffix(p.ImportPath, ".test") {
		return // the package is the main program that "go test" generates
	}
	whole := c.whole && !p.Standard
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		f, err := c.files.parse(filepath.Join(p.Dir, name), whole)
		if err != nil {
			c.errs = append(c.errs, err)
			return
		}
		syntax = append(syntax, f)
	}
	config := types.Config{
		Importer:         imports{c, p},
		Sizes:            c.sizes,
		IgnoreFuncBodies: !whole,
		Error: func(err error) {
			if !p.Standard {
				c.errs = append(c.errs, fmt.Errorf("%s: %w", c.target, err))
			}
		},
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	checked, _ := config.Check(path, c.files.set, syntax, nil) // config.Error collects the errors
	c.done[p.ImportPath] = checked
	if p.Module != nil && p.Module.Main {
		c.own = append(c.own, Package{p.ImportPath, p.Name, p.Module.Path, checked})
	}
}

type imports struct {
	c *checker
	p listed
}

func (i imports) Import(path string) (*types.Package, error) {
	if to := i.p.ImportMap[path]; to != "" {
		path = to
	}
	if p := i.c.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among the packages that go list printed", path)
}

// Files caches syntax trees, because most files are the same for all targets. It is safe for
// concurrent use.
type Files struct {
	set   *token.FileSet
	mu    sync.Mutex
	trees map[key]func() (*ast.File, error)
}

type key struct {
	path  string
	whole bool
}

// NewFiles returns an empty cache.
func NewFiles() *Files {
	return &Files{set: token.NewFileSet(), trees: make(map[key]func() (*ast.File, error))}
}

// parse parses a file once and caches the tree. Unless whole is set, it removes function bodies.
func (f *Files) parse(path string, whole bool) (*ast.File, error) {
	f.mu.Lock()
	read := f.trees[key{path, whole}]
	if read == nil {
		read = sync.OnceValues(func() (*ast.File, error) {
			tree, err := parser.ParseFile(f.set, path, nil, parser.SkipObjectResolution)
			if err == nil && !whole {
				for _, d := range tree.Decls {
					if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
						d.Body = new(ast.BlockStmt) // not nil, which would mean a function in assembly
					}
				}
			}
			return tree, err
		})
		f.trees[key{path, whole}] = read
	}
	f.mu.Unlock()
	return read()
}
