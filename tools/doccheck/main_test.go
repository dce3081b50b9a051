package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module returns a folder that contains package p: a file with the given text, and its
// tests.
func module(t *testing.T, text, tests string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module m\n")
	write(t, filepath.Join(root, "p/p.go"), text)
	write(t, filepath.Join(root, "p/gen.go"), "//go:build ignore\n\npackage main\n\nfunc X() {}\n")
	write(t, filepath.Join(root, "p/internal/q/q.go"), "package q\n\nfunc X() {}\n")
	write(t, filepath.Join(root, "tools/go.mod"), "module tools\n")
	write(t, filepath.Join(root, "tools/q.go"), "package q\n\nfunc X() {}\n")
	if tests != "" {
		write(t, filepath.Join(root, "p/p_test.go"), tests)
	}
	return root
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const documented = `// Package p is documented.
package p

// A group.
const (
	A = 1
	B = 2
)

var (
	C int // beside it
	// D is above it.
	D int
	e int
)

// T is a type.
type T struct {
	X int // beside it

	// Y and Z share this.
	Y int
	Z int
}

// M is a method.
func (t *T) M() {}

func (t *T) m() {}

type hidden struct{}

func (h hidden) M() {}

// I has one method.
type I interface{ Do() }

// New makes one.
func New() (*T, error) { return nil, nil }
`

func TestDocumentedNamesPass(t *testing.T) {
	if err := run(module(t, documented, ""), true, false); err != nil {
		t.Error(err)
	}
}

func TestNamesWithoutACommentAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"package p\n": "p: the package has no comment",
		"// Package p.\npackage p\n\nfunc F() {}\n":                                              "p/p.go:4: F has no comment",
		"// Package p.\npackage p\n\n//go:noinline\nfunc F() {}\n":                               "F has no comment",
		"// Package p.\npackage p\n\nconst (\n\ta = 1\n\tB = 2\n)\n":                             "p/p.go:6: B has no comment",
		"// Package p.\npackage p\n\n// T.\ntype T[E any] int\n\nfunc (t T[E]) M() {}\n":         "T.M has no comment",
		"// Package p.\npackage p\n\n// I.\ntype I interface {\n\t// A.\n\tA()\n\n\tB()\n}\n":    "I.B has no comment",
		"// Package p.\npackage p\n\n// T.\ntype T struct {\n\tA int // a\n\n\tB int\n}\n":       "T.B has no comment",
		"// Package p.\npackage p\n\n// T.\ntype T struct {\n\t// A.\n\tA int\n\n\n\tB int\n}\n": "T.B has no comment",
	} {
		err := run(module(t, text, ""), true, false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Examples in a module of tests count too.
func TestExamplesOfModulesInInternalFoldersAreFound(t *testing.T) {
	root := module(t, documented, "")
	write(t, filepath.Join(root, "internal/more/go.mod"), "module m/internal/more\n")
	write(t, filepath.Join(root, "internal/more/more_test.go"), "package more\n\nfunc ExampleA() {\n\t// Output:\n}\n\nfunc ExampleB() {\n}\n")
	n, err := listed(root, nil)
	if n != 1 || err == nil || !strings.Contains(err.Error(), "more_test.go:7:1: m/internal/more.ExampleB is never run") {
		t.Errorf("%d are run, %v", n, err)
	}
}

// Go ignores an output comment that is part of another comment, so doccheck must report that
// the example never runs.
func TestExamplesThatAreNotRunAreFound(t *testing.T) {
	root := module(t, documented, "package p\n\nfunc ExampleT() {\n\t// Output:\n}\n\nfunc ExampleNew() {\n\t// [end]\n\t// Output:\n}\n\n"+
		"func ExampleI() {\n}\n")
	for _, c := range []struct {
		exempt map[string]string
		want   []string
	}{
		{nil, []string{"p_test.go:7:1: m/p.ExampleNew is never run", "m/p.ExampleI is never run"}},
		{map[string]string{"m/p.ExampleNew": "", "m/p.ExampleI": ""}, nil},
		{map[string]string{"m/p.ExampleNew": "", "m/p.ExampleI": "", "m/p.ExampleT": "so"}, []string{"m/p.ExampleT is run, and need not be exempt (so)"}},
		{map[string]string{"m/p.ExampleNew": "", "m/p.ExampleI": "", "m/p.ExampleNo": ""}, []string{"m/p.ExampleNo is exempt, and there is no such example"}},
	} {
		n, err := listed(root, c.exempt)
		if n != 1 || (err == nil) != (c.want == nil) {
			t.Errorf("exempt %v: %d are run, %v", c.exempt, n, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("exempt %v: %v, want %q", c.exempt, err, want)
			}
		}
	}
}

func TestTestsThatPassByReturningAreFound(t *testing.T) {
	head := "package p\n\nimport \"testing\"\n\n"
	for body, bad := range map[string]bool{
		"func TestA(t *testing.T) {\n\tif gpu {\n\t\treturn\n\t}\n\tf()\n}\n":                                                     true,
		"func TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {\n\t\tif gpu {\n\t\t\treturn\n\t\t}\n\t})\n}\n":           true,
		"func TestA(t *testing.T) {\n\tif gpu {\n\t\tt.Skip()\n\t}\n\tf()\n}\n":                                                   false,
		"func TestA(t *testing.T) {\n\tif gpu {\n\t\tf()\n\t\treturn\n\t}\n\tg()\n}\n":                                            false,
		"func FuzzA(f *testing.F) {\n\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif s == \"\" {\n\t\t\treturn\n\t\t}\n\t})\n}\n": false,
		"func help(x int) {\n\tif x == 0 {\n\t\treturn\n\t}\n}\n":                                                                 false,
	} {
		err := returns(module(t, documented, head+body))
		if (err != nil) != bad || bad && !strings.Contains(err.Error(), "p_test.go:") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestMainTypesNeedAnExampleThatIsRun(t *testing.T) {
	for tests, want := range map[string]bool{
		"": false,
		"package p\n\nfunc ExampleT() {\n\t// Output: x\n}\n":         true,
		"package p\n\nfunc ExampleT_M() {\n\t// Output: x\n}\n":       true,
		"package p\n\nfunc ExampleNew() {\n\t// Output:\n}\n":         true,
		"package p\n\nfunc ExampleT() {\n}\n":                         false,
		"package p\n\nfunc ExampleOther() {\n\t// Output: x\n}\n":     false,
		"package p\n\nfunc ExampleT_suffix() {\n\t// Output: x\n}\n":  true,
		"package p\n\nfunc ExampleTother() {\n\t// Output: x\n}\n":    false,
		"package p\n\nfunc Example_suffix() {\n\t// Output: x\n}\n\n": false,
	} {
		if err := run(module(t, documented, tests), false, true); (err == nil) != want {
			t.Errorf("%q: %v", tests, err)
		}
	}
}
