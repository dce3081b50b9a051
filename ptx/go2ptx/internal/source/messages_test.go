package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/language"
)

// elsewhere lists messages that other tests trigger, or that only repeat another error.
var elsewhere = []string{"%v", "%s", "not loaded", "import cycle", "build constraint: %w", "package %s: no source is available",
	"%s is not a list of types separated by commas: %s", "%s is not a list of types separated by commas", "go2ptx: the generated Go is not correct: %w",
	"no package %s", "an instance of kernel %s: %v", "variable %s: %v", "the type %v is not exported, so the launcher cannot name it",
	"the type %v is declared in a function; declare it in the package"}

// For each error message of this package and of package launch, package language has code that
// triggers it. The tests of package language compile that code.
func TestEachMessageHasCode(t *testing.T) {
	names, err := filepath.Glob("../[sl]*/*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	verb := regexp.MustCompile(`%[a-z]`)
	n := 0
	for _, name := range names {
		name = filepath.ToSlash(name)
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "../lower") {
			continue
		}
		for _, m := range messages(t, name) {
			n++
			pattern := regexp.MustCompile(verb.ReplaceAllString(regexp.QuoteMeta(m), ".+"))
			if !slices.Contains(elsewhere, m) && !slices.ContainsFunc(language.RefusedFiles, func(r language.Refusal) bool { return pattern.MatchString(r.Error) }) {
				t.Errorf("%s: nothing is refused with %q", name, m)
			}
		}
	}
	if n < 40 {
		t.Errorf("there are only %d messages", n)
	}
}

// messages returns the error formats that occur in a file.
func messages(t *testing.T, name string) (list []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Add", "errorf", "Errorf"}, s.Sel.Name) {
			return true
		}
		for _, a := range call.Args {
			if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, text)
				break
			}
		}
		return true
	})
	return list
}
