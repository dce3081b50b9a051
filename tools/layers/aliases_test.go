package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Package driver must define its aliases of driver/cu only in cuda.go. It must define aliases only
// of result codes that some code or document uses with the prefix "driver.".
func TestDriverListsItsAliasesOfCuInOneFile(t *testing.T) {
	aliases := make(map[string]bool)
	for name, f := range parse(t, "../../driver/*.go") {
		for _, d := range aliasesOfCu(f) {
			if name != "cuda.go" {
				t.Errorf("driver/%s has %s, which is cu's: cuda.go lists those", name, d)
			}
			aliases[d] = true
		}
	}
	named := namesOfDriver(t, "../..")
	codes := 0
	for _, f := range parse(t, "../../driver/cu/zz_enums.go") {
		for _, name := range resultCodes(f) {
			codes++
			if aliases[name] && !named["driver."+name] {
				t.Errorf("nothing names driver.%s: it is in package cu, which is enough", name)
			}
		}
	}
	if codes < 100 {
		t.Errorf("only %d codes were found", codes)
	}
}

var codeOfDriver = regexp.MustCompile(`\bdriver\.CUDA_[A-Z_0-9]+`)

// namesOfDriver returns the result codes that files below root use with the prefix "driver.",
// including the prefix.
func namesOfDriver(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".go" && ext != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range codeOfDriver.FindAllString(string(text), -1) {
			names[name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// parse parses the files of a package, without its tests, and returns them by file name.
func parse(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = f
	}
	return files
}

// aliasesOfCu returns the aliases of package cu's types in a file. It also returns the exported
// constants and variables whose value is a constant or variable of package cu.
func aliasesOfCu(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Assign.IsValid() && isOfCu(s.Type) {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for i, v := range s.Values {
					if isOfCu(v) && s.Names[i].IsExported() {
						names = append(names, s.Names[i].Name)
					}
				}
			}
		}
	}
	return names
}

func isOfCu(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "cu"
}

// resultCodes returns the constants of type CUresult.
func resultCodes(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "CUresult" {
				names = append(names, v.Names[0].Name)
			}
		}
	}
	return names
}
