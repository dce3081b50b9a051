package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatSharesMemoryIsConcurrent(t *testing.T) {
	for text, want := range map[string]bool{
		"func f() {}":                                                     false,
		"import \"sync\"\n\nvar mu sync.Mutex":                            true,
		"import \"sync/atomic\"\n\nvar n atomic.Int32":                    true,
		"func f() { go f() }":                                             true,
		"func f(c chan int) {}":                                           true,
		"func f(a, b []int) { g := func() { go func() {}() }; g() }":      true,
		"import \"testing\"\n\nfunc TestX(t *testing.T) { t.Parallel() }": true,
		"import \"async\"\n\nvar x = async.X // sync":                     false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\n\n"+text+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := concurrent(f); got != want {
			t.Errorf("%v for %s", got, text)
		}
	}
}

func TestPackagesAreListedByTheirCodeAndTests(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.25\n",
		"pure/pure.go":      "package pure\n",
		"user/user.go":      "package user\n",
		"code/code.go":      "package code\n\nfunc f() { go f() }\n",
		"tests/tests.go":    "package tests\n",
		"tests/in_test.go":  "package tests\n\nimport \"sync\"\n\nvar mu sync.Mutex\n",
		"out/out.go":        "package out\n",
		"out/out_test.go":   "package out_test\n\nvar c chan int\n",
		"pure/pure_test.go": "package pure\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := packages(root, []string{"example.com/m/user", "example.com/m/code"}, nil)
	want := []string{"example.com/m/code", "example.com/m/out", "example.com/m/tests", "example.com/m/user"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	got, err = packages(root, nil, []string{filepath.Join(root, "tests"), filepath.Join(root, "pure"), t.TempDir()})
	if want := []string{"example.com/m/code", "example.com/m/out"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("without two folders: %v, %v; want %v", got, err, want)
	}
	if got, err := packages(root, []string{"example.com/m/gone"}, nil); err == nil {
		t.Errorf("a package that is not there is no error, but %v", got)
	}
	if got, err := packages(root, nil, []string{filepath.Join(root, "gone")}); err == nil {
		t.Errorf("a folder that is not there is no error, but %v", got)
	}
}
