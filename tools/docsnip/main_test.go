package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const code = `package x

func f() {
	// [whole]
	a := 1
	// [inner]
	if a > 0 {
		g()
	}
	// [end]

	// [end]
}

// [inner]
func h() {}
// [end]
`

func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPartsAreCut(t *testing.T) {
	for name, want := range map[string]string{
		"whole": "a := 1\nif a > 0 {\n\tg()\n}\n",
		"inner": "\tif a > 0 {\n\t\tg()\n\t}\n\nfunc h() {}\n",
		"":      "package x\n\nfunc f() {\n\ta := 1\n\tif a > 0 {\n\t\tg()\n\t}\n\n}\n\nfunc h() {}\n",
	} {
		got, err := cut(code, name)
		if err != nil || got != want {
			t.Errorf("part %q is %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestWrongPartsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		code:                   "no part is called p",
		"// [p]\nx\n":          "part p has no [end]",
		"x\n// [end]\n":        "line 2: [end] ends nothing",
		"// [p]\n\n// [end]\n": "part p is empty",
	} {
		if _, err := cut(text, "p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestOutputOfExamplesIsShown(t *testing.T) {
	root := repository(t, map[string]string{"x_test.go": "package x\n\nfunc Example_a() {\n\tf()\n\n\t// Output:\n\t// 1\n\t// 2\n}\n\n" +
		"func ExampleT() {\n\t// [end]\n\t// Output: 3\n}\n"})
	for part, want := range map[string]string{
		"Example_a/output": "1\n2\n",
		"ExampleT/output":  "ExampleT prints nothing that its test compares", // Go treats that comment as part of the comment above it
		"Example_b/output": "no example is called Example_b",
	} {
		got, err := source{root: root}.part("x_test.go", part)
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v, want %q", part, got, err, want)
		}
	}
}

func TestDocumentsAreWrittenAndChecked(t *testing.T) {
	root := repository(t, map[string]string{
		"x/x.go":      code,
		"README.md":   "# x\n\n<!-- snippet: x/x.go#whole -->\n```go\nold\n```\nafter\n",
		"docs/own.md": "<!-- snippet: none: C -->\n\n```go\nnot ours\n```\n\n```sh\nls\n```\n",
	})
	if err := run(root, nil, true); err == nil || !strings.Contains(err.Error(), "README.md:5: this is not what the code says") {
		t.Errorf("before: %v", err)
	}
	if err := run(root, nil, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, nil, true); err != nil {
		t.Errorf("after: %v", err)
	}
	got, err := os.ReadFile(filepath.Join(root, "README.md"))
	want := "# x\n\n<!-- snippet: x/x.go#whole -->\n```go\na := 1\nif a > 0 {\n\tg()\n}\n```\nafter\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWrongDocumentsAreNamed(t *testing.T) {
	root := repository(t, map[string]string{
		"x/x.go":          code,
		"x/testdata/t.go": code,
		"x/out.go":        "//go:build ignore\n\npackage x\n",
	})
	for text, want := range map[string]string{
		"```go\nx\n```\n":                  "d.md:1: this Go does not say which compiled code it is",
		"\n```go\nx\n":                     "d.md:2: this block of code has no end",
		block("x/y.go"):                    "d.md:1: no file x/y.go",
		block("x/x.go#no"):                 "d.md:1: x/x.go: no part is called no",
		block("../x.go"):                   "lies outside the repository",
		block("x/out.go"):                  "its build constraints leave it out",
		block("none"):                      "say after none: what code it is",
		block(""):                          "write <!-- snippet: file#part -->",
		"<!-- snippet: x/x.go -->\ntext\n": "d.md:1: no block of code follows it",
		"<!-- snippet: x/x.go -->\n":       "d.md:1: no block of code follows it",
		block("x/testdata/t.go"):           "it lies below testdata",
	} {
		_, err := rewrite("d.md", text, source{root: root}.part)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func block(file string) string { return "<!-- snippet: " + file + " -->\n```go\nx\n```\n" }
