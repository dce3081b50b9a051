package language

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each language feature must be used by a kernel or be rejected.
func TestTheTableIsComplete(t *testing.T) {
	rows, _, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, r := range rows {
		if r.Refusal != nil {
			refused++
		}
	}
	t.Logf("%d rows, %d of them refused", len(rows), refused)
	if len(rows) < 450 || refused < 50 {
		t.Errorf("%d rows, %d refused", len(rows), refused)
	}
}

// The rows must match the features of the current Go version.
func TestTheRowsAreThoseOfGo(t *testing.T) {
	same(t, "nodes", strings.Fields(nodes), withMethod(t, "go/ast", "End"))
	same(t, "types", strings.Fields(typeKinds), withMethod(t, "go/types", "Underlying"))
	names := types.Universe.Names()
	for _, n := range types.Unsafe.Scope().Names() {
		names = append(names, "unsafe."+n)
	}
	same(t, "names", strings.Fields(universe), names)
	keys, err := Keys()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []Key{{Token, "&^="}, {Token, "~"}, {Token, "fallthrough"}, {Type, "untyped nil"}, {Operator, "pointer =="}, {Operator, "float *"},
		{Operator, "<- channel"}, {Conversion, "[]rune to string"}, {Conversion, "slice to pointer to array"}, {Form, "range over function with two values"}} {
		if !slices.Contains(keys, k) {
			t.Errorf("%s has no row", k)
		}
	}
}

// same compares the names with those of the current Go version. It permits nodes that exist only in
// newer versions.
func same(t *testing.T, what string, ours, theirs []string) {
	t.Helper()
	for _, n := range theirs {
		if !slices.Contains(ours, n) {
			t.Errorf("%s: Go has %s, and the table does not", what, n)
		}
	}
	if len(ours) > len(theirs)+2 {
		t.Errorf("%s: the table has %d, Go %d", what, len(ours), len(theirs))
	}
}

// withMethod returns the exported types of a standard library package that have the given method.
func withMethod(t *testing.T, path, method string) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go command")
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src", filepath.FromSlash(path))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Skipf("the Go distribution has no source here: %v", err)
	}
	names := map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			fun, ok := d.(*ast.FuncDecl)
			if !ok || fun.Recv == nil || fun.Name.Name != method {
				continue
			}
			t := fun.Recv.List[0].Type
			if p, ok := t.(*ast.StarExpr); ok {
				t = p.X
			}
			if name := t.(*ast.Ident).Name; ast.IsExported(name) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
