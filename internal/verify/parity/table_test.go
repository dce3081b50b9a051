package parity_test

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

//go:embed *_test.go
var sources embed.FS

// systems maps each section of the table to its test file.
var systems = map[string]string{
	"cuda-async": "cudaasync_test.go", "aprender-gpu": "aprender_test.go", "baracuda-runtime": "baracuda_test.go",
	"ferrotorch-gpu": "ferrotorch_test.go", "numr": "numr_test.go",
}

// Each line of docs/internals/parity.md must name a test, and each test must have one line in the
// section of its file.
func TestEachLineHasItsTest(t *testing.T) {
	text, err := os.ReadFile("../../../docs/internals/parity.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := linesOf(t, string(text))
	for _, file := range must[[]string](&kit{TB: t})(fs.Glob(sources, "*_test.go")) {
		system := systemOf(file)
		for _, name := range testsIn(t, file) {
			if in, ok := listed[name]; !ok {
				t.Errorf("%s in %s has no line", name, file)
			} else if in != system {
				t.Errorf("%s of %s is listed under %s", name, file, in)
			}
			delete(listed, name)
		}
	}
	for name, system := range listed {
		t.Errorf("a line under %s names %s, which is not there", system, name)
	}
}

var line = regexp.MustCompile("^\\| [^|]+ \\| [^|]+ \\| `(Test\\w+)` \\|$")

// linesOf maps each test to the section that names it.
func linesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	listed := map[string]string{}
	system := ""
	for _, l := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(l, "## "); ok {
			if system = name; systems[system] == "" {
				t.Errorf("section %q has no tests", system)
			}
		}
		if !strings.HasPrefix(l, "|") || strings.HasPrefix(l, "|-") || l == "| there | here | test |" {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("not a line of three cells, the last a test: %s", l)
			continue
		}
		if listed[m[1]] != "" {
			t.Errorf("%s is listed twice", m[1])
		}
		listed[m[1]] = system
	}
	return listed
}

// systemOf returns the section that a file belongs to, or "" for other files.
func systemOf(file string) string {
	for system, f := range systems {
		if f == file {
			return system
		}
	}
	return ""
}

// testsIn returns the tests of a file, except TestEachLineHasItsTest.
func testsIn(t *testing.T, file string) (names []string) {
	t.Helper()
	src, err := sources.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestEachLineHasItsTest" {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}
