package nvrtc

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/purecuda/cuda/internal/gputest"
)

func write(t *testing.T, text string, elem ...string) {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestChangedHeaderMakesAnotherKey(t *testing.T) {
	dir := gputest.TempDir(t)
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	write(t, "#include \"deep/b.h\"\n", second, "a.h")
	write(t, "#include <c.h>\n", second, "deep", "b.h")
	write(t, "int c;", second, "deep", "c.h")
	write(t, "not reached", second, "other.h")
	c := newFake(t, &fake{}, WithCache(testCache(t)))
	p := Program{Source: "#include <a.h>\n", IncludePaths: []string{first, second}}
	known := map[key]string{}
	changed := func(what string, want bool) {
		t.Helper()
		k, ok := c.key(&p)
		if !ok {
			t.Fatalf("%s: no key", what)
		}
		if before, there := known[k]; there == want {
			t.Errorf("%s: the key is that of %q: %v", what, before, there)
		}
		known[k] = what
	}
	changed("at first", true)
	changed("nothing", false)
	write(t, "anything", second, "other.h")
	changed("a header that is not included", false)
	write(t, "int d;", second, "deep", "c.h")
	changed("a header of a header", true)
	write(t, "", first, "a.h")
	changed("a header that goes before", true)
	write(t, "int before;", first, "c.h")
	changed("a header of a header that goes before", true)
}

func TestHeadersAreSeenInEveryForm(t *testing.T) {
	dir := gputest.TempDir(t)
	write(t, "", dir, "h.h")
	for text, want := range map[string]string{
		"":                                    "none",
		`#include "h.h"`:                      "h.h",
		"#include <h.h>\r\n":                  "h.h",
		"int x;\n\t # \t include\t<h.h> // y": "h.h",
		"#include/**/<h.h>":                   "h.h",
		"/* a */ # /* b */ include /* c */ \"h.h\"":      "h.h",
		"/* a\n b */ #include <h.h>":                     "h.h",
		"#inc\\\nlude \\\n<h.h>":                         "h.h",
		"#inc\\\r\nlude <h.h>":                           "h.h",
		"%:include <h.h>":                                "h.h",
		"#include_next <h.h>":                            "h.h",
		"#if 0\n#include <h.h>\n#endif":                  "h.h",
		"#if __has_include(\"h.h\")":                     "h.h",
		"#if __has_include(<x>) && __has_include(<h.h>)": "h.h",
		"#include NAME":                                  "opaque",
		"#include":                                       "opaque",
		"#if __has_include(NAME)":                        "opaque",
		"#ifdef __has_include":                           "none",
		"// to include \"h.h\"":                          "none",
		"#error do not include this":                     "none",
		"#define include_h 1":                            "none",
		"int include; #":                                 "none",
		"#include \"missing.h\"\n#include \"h.h\"\n":     "h.h",
	} {
		s := newScan(&Program{Source: text, IncludePaths: []string{dir}}, newDigest())
		ok := s.run()
		got := "none"
		if s.seen[filepath.Join(dir, "h.h")] {
			got = "h.h"
		}
		if !ok {
			got = "opaque"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestHeadersOfOptionsAndOfHeadersInMemoryAreSeen(t *testing.T) {
	dir := gputest.TempDir(t)
	write(t, "", dir, "h.h")
	path := filepath.Join(dir, "h.h")
	for _, p := range []Program{
		{Source: "#include <h.h>", Options: []string{"-I" + dir}},
		{Source: "#include <h.h>", Options: []string{"-I", dir}},
		{Source: "#include <h.h>", Options: []string{"--include-path=" + dir}},
		{Source: "#include <h.h>", Options: []string{"--include-path", dir}},
		{Source: "#include <h.h>", Name: filepath.Join(dir, "k.cu")},
		{Source: "#include \"" + filepath.ToSlash(path) + "\""},
		{Options: []string{"--pre-include=" + path}},
		{Options: []string{"-include", path}},
		{Options: []string{"-include=h.h", "-I" + dir}},
		{Source: "#include <m>", Headers: map[string]string{"m": "#include <h.h>"}, IncludePaths: []string{dir}},
	} {
		s := newScan(&p, newDigest())
		if ok := s.run(); !ok || !s.seen[path] {
			t.Errorf("%+v: the header is not seen (%v)", p, ok)
		}
	}
}

func TestHeadersThatIncludeEachOtherEnd(t *testing.T) {
	dir := gputest.TempDir(t)
	write(t, "#include <b.h>\n#include <a.h>", dir, "a.h")
	write(t, "#include <a.h>", dir, "b.h")
	if !newScan(&Program{Source: "#include <a.h>", IncludePaths: []string{dir}}, newDigest()).run() {
		t.Error("not found out")
	}
}

func TestProgramWhoseHeadersCannotBeToldIsCompiledEachTime(t *testing.T) {
	f, cache := &fake{}, testCache(t)
	c := newFake(t, f, WithCache(cache))
	for range 2 {
		compileOK(t, c, Program{Source: "#define H <h.h>\n#include H\n"})
	}
	if s := cache.Stats(); f.compiled.Load() != 2 || s.Stored != 0 || s.Hits != 0 {
		t.Errorf("%d compilations, %+v", f.compiled.Load(), s)
	}
}

func TestHeaderThatChangesDuringACompilationLeavesNoResult(t *testing.T) {
	dir := gputest.TempDir(t)
	write(t, "1", dir, "h.h")
	f, cache := &fake{}, testCache(t)
	f.compile = func(*fakeProgram) (Code, string) { write(t, "2", dir, "h.h"); return 0, "" }
	c := newFake(t, f, WithCache(cache))
	compileOK(t, c, Program{Source: "#include <h.h>", IncludePaths: []string{dir}})
	if s := cache.Stats(); s.Stored != 0 {
		t.Errorf("statistics %+v", s)
	}
}

func TestWorkingDirectoryIsInTheKeyWhereItIsInTheResult(t *testing.T) {
	c := newFake(t, &fake{})
	for option, want := range map[string]bool{"-lineinfo": true, "--device-debug": true, "-DN": false} {
		p := &Program{Source: "s", Options: []string{option}}
		t.Chdir(gputest.TempDir(t))
		a, _ := c.key(p)
		t.Chdir(gputest.TempDir(t))
		if b, ok := c.key(p); !ok || (a != b) != want {
			t.Errorf("%s: another key in another directory: %v, want %v", option, a != b, want)
		}
	}
}

func TestCUDAIncludesAreThoseOfTheToolkit(t *testing.T) {
	root := gputest.TempDir(t)
	t.Setenv("CUDA_PATH", root)
	t.Setenv("CUDA_HOME", "")
	write(t, "", root, "include", "cuda_fp16.h")
	write(t, "", root, "include", "cccl", "x")
	got, err := newFake(t, &fake{}).CUDAIncludes()
	want := []string{filepath.Join(root, "include"), filepath.Join(root, "include", "cccl")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	wheel := gputest.TempDir(t)
	write(t, "", wheel, "nvidia", "cuda_runtime", "include", "cuda_fp16.h")
	c := newFake(t, &fake{})
	c.file = filepath.Join(wheel, "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12")
	if got, err := c.CUDAIncludes(); err != nil || got[0] != filepath.Join(wheel, "nvidia", "cuda_runtime", "include") {
		t.Errorf("%q, %v; want those of the wheels", got, err)
	}
}
