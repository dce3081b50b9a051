package go2ptx

import (
	"fmt"
	"strings"
	"testing"
)

// lib counts as a package of the Go distribution, because its path has no dot.
const lib = `package lib

import "missing"

func Long(n int) int { return double(n) }

func double(n int) int {
	go double(n)
	defer double(n)
	return 2 * n
}

func Each(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

func Seq(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func BadSeq() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		recover()
		yield(1)
	}
}

func Recursive(n int) int {
	if n > 0 {
		println()
		return Recursive(n - 1)
	}
	return 0
}

func Undefined() int { return undefined }

func Fine(n int) int { return n + 1 }

func Missing() int { return missing.F() }

const Size = elsewhere

type Array [Size]int

func UsesSize() int { return Size + 1 }

func UsesArray(a Array) int { return len(a) }

type Pair struct{ A, B int }

func (p Pair) Sum() int { return p.A + p.B }

func (p Pair) String() string { return undefined }

var Table = compute()

func compute() int { return *new(int) + len(map[int]int{}) }

func Assembly(n int) int
`

// An error in the Go distribution must be reported where the kernel uses the faulty code, once for
// each place.
func TestErrorsInTheGoDistribution(t *testing.T) {
	const again = "use it on the host, or write it in the kernel"
	for _, test := range []struct {
		code string // /**/ marks the positions of the errors
		want string // expected error; it may omit the usual advice
	}{
		{"x[0] = /**/lib.Long(n)", "lib.Long cannot be compiled for kernels (in lib.double: goroutines are not available in kernels)"},
		{"x[0] = /**/lib.Long(n) + 1; x[1] = /**/lib.Long(n)", "lib.Long cannot be compiled for kernels (in lib.double: goroutines are not available in kernels)"},
		{"f := lib.Long; x[0] = /**/f(n)", "lib.Long cannot be compiled for kernels (in lib.double: goroutines are not available in kernels)"},
		{"x[0] = twice(n) }; func twice(n int) int { return 2 * /**/lib.Long(n)", "lib.Long cannot be compiled for kernels (in lib.double: goroutines are not available in kernels)"},
		{"x[0] = /**/lib.Recursive(n)", "lib.Recursive cannot be compiled for kernels (in lib.Recursive: println is not available in kernels)"},
		{"for range /**/lib.BadSeq() {}", "lib.BadSeq cannot be compiled for kernels (in lib.BadSeq: recover is not available in kernels)"},
		{"x[0] = /**/lib.Undefined()", "lib.Undefined cannot be compiled for kernels (in lib.Undefined: undefined: undefined)"},
		{"f := lib.Undefined; x[0] = /**/f()", "lib.Undefined cannot be compiled for kernels (in lib.Undefined: undefined: undefined)"},
		{"x[0] = /**/lib.Missing()", "lib.Missing cannot be compiled for kernels (in lib.Missing: F is not available)"},
		{"x[0] = /**/lib.UsesSize()", "lib.UsesSize cannot be compiled for kernels (in lib.Size: undefined: elsewhere)"},
		{"x[0] = lib.UsesArray(lib./**/Array{})", "lib.Array cannot be compiled for kernels (in lib.Size: undefined: elsewhere)"},
		{"x[0] = /**/lib.Table", "lib.Table cannot be compiled for kernels (in lib.compute: maps are not available in kernels)"},
		{"x[0] = /**/lib.Assembly(n)", "lib.Assembly cannot be compiled for kernels (lib.Assembly has no Go code)"},
		{"_ = /**/lib.Pair{}.String()", "lib.Pair.String cannot be compiled for kernels (in lib.Pair.String: undefined: undefined)"},

		// An error in the user's code is reported there, even if the Go distribution calls that
		// code.
		{"lib.Each(n, func(i int) { /**/recover() })", "recover is not available in kernels: a panic ends the thread with a fault"},
		{"for range lib.Seq(n) { /**/recover() }", "recover is not available in kernels: a panic ends the thread with a fault"},
		{"lib.Each(n, func(i int) { x[i] = /**/lib.Undefined() })", "lib.Undefined cannot be compiled for kernels (in lib.Undefined: undefined: undefined)"},

		// Functions that are not called may contain errors.
		{"x[0] = lib.Fine(n); x[1] = lib.Pair{1, n}.Sum(); if false { x[2] = lib.Undefined() } }; type local struct{}; func (local) String() {}; func other() { local{}.String()", ""},
	} {
		t.Run(test.code, func(t *testing.T) {
			text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\nimport \"lib\"\n\n//gpu:kernel\nfunc k(t gpu.Thread, x []int, n int) { " + test.code + " }\n"
			var want []string
			for i, before := 0, ""; ; i++ {
				head, rest, found := strings.Cut(text, "/**/")
				if before += head; !found {
					text = before
					break
				}
				lines := strings.Split(test.want, "\n")
				message := lines[min(i, len(lines)-1)]
				if strings.HasSuffix(message, ")") {
					message += ": " + again
				}
				want = append(want, fmt.Sprintf("p.go:7:%d: %s", len(before)-strings.LastIndexByte(before, '\n'), message))
				text = rest
			}
			_, err := Compile(Config{Package: Package{Path: "example.org/p", Files: []File{{Name: "p.go", Data: []byte(text)}}}, Import: func(path string) (Package, error) {
				if path != "lib" {
					return Package{}, fmt.Errorf("there is no package %s", path)
				}
				return Package{Path: path, Files: []File{{Name: "lib/lib.go", Data: []byte(lib)}}}, nil
			}})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != strings.Join(want, "\n") {
				t.Errorf("the errors are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

// A module's path may have no dot. Errors in its packages must still be reported at their own
// positions.
func TestErrorsInAModuleWithoutADot(t *testing.T) {
	text := "package p\n\nimport \"github.com/purecuda/cuda/ptx/gpu\"\nimport \"heat/lib\"\n\n//gpu:kernel\nfunc k(t gpu.Thread, n int) { lib.Recursive(n) }\n"
	_, err := Compile(Config{Package: Package{Path: "heat/p", Files: []File{{Name: "p.go", Data: []byte(text)}}}, Import: func(path string) (Package, error) {
		return Package{Path: path, Files: []File{{Name: "lib/lib.go", Data: []byte(lib)}}}, nil
	}})
	if err == nil || err.Error() != "lib/lib.go:38:3: println is not available in kernels: use gpu.Printf" {
		t.Errorf("the error is %v", err)
	}
}
