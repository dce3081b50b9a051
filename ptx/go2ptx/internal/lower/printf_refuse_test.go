package lower

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// printRefused lists invalid calls of Printf, each with a part of the expected error. The calls use
// x []int32, n int, u uint64, f float64, s of a struct type, and a string that is not constant.
var printRefused = []struct{ code, want string }{
	{`gpu.Printf(t, "%d\n")`, "more verbs than the call has arguments"},
	{`gpu.Printf(t, "text\n", n)`, "fewer verbs than the call has arguments"},
	{`gpu.Printf(t, "%")`, "ends inside of a verb"},
	{`gpu.Printf(t, "%5", n)`, "ends inside of a verb"},
	{`gpu.Printf(t, "%*d", n, n)`, "has a width or an index that a device cannot print"},
	{`gpu.Printf(t, "%[1]d", n)`, "has a width or an index that a device cannot print"},
	{`gpu.Printf(t, "%1000001d", n)`, "has a width or an index that a device cannot print"},
	{`gpu.Printf(t, "%v", f)`, "give a precision, as in %.6g"},
	{`gpu.Printf(t, "%g", float32(f))`, "give a precision, as in %.6g"},
	{`gpu.Printf(t, "%d", f)`, "%d of a floating-point number: use %f, %e or %.6g"},
	{`gpu.Printf(t, "%#.3g", f)`, "%#.3g of a floating-point number"},
	{`gpu.Printf(t, "%x", n)`, "%x of a signed number, which C prints without its sign: convert it to an unsigned type"},
	{`gpu.Printf(t, "%#8x", u)`, "flags that a device prints differently"},
	{`gpu.Printf(t, "%+d", u)`, "%+d of an unsigned number of 64 bits: leave out the sign"},
	{`gpu.Printf(t, "%c", n)`, "%c of an integer: use %d"},
	{`gpu.Printf(t, "%t", n)`, "%t of an integer: use %d"},
	{`gpu.Printf(t, "%d", n > 1)`, "%d of a bool: use %t or %v"},
	{`gpu.Printf(t, "%05t", n > 1)`, "%05t of a bool"},
	{`gpu.Printf(t, "%v", x)`, "%v of []int32: print numbers, bools and constant strings one by one"},
	{`gpu.Printf(t, "%v", &x[0])`, "%v of a pointer: use %p"},
	{`gpu.Printf(t, "%v", 1i)`, "print numbers, bools and constant strings one by one"},
	{`gpu.Printf(t, "%s", pick(n))`, "print constant strings, with"},
	{`gpu.Printf(t, "%d", "text")`, "print constant strings, with"},
	{`gpu.Printf(t, "%v", celsius(f))`, "%v calls a method of celsius: convert the argument to a number"},
	{`gpu.Printf(t, "%v", any(nil))`, "the argument is nil"},
	{`gpu.Printf(t, "a\x00b")`, "contains a NUL"},
	{`gpu.Printf(t, "%v\n", []any{n}...)`, "the arguments are not listed in the call: list them"},
	{`gpu.Printf(t, pick(n))`, "the argument format of gpu.Printf must be a constant"},
	{`gpu.Printf(t, "` + strings.Repeat("%d", 33) + `"` + strings.Repeat(", n", 33) + `)`, "33 arguments, of which a device prints at most 32: use several calls"},
}

func TestPrintfRefusals(t *testing.T) {
	for _, c := range printRefused {
		t.Run(c.code, func(t *testing.T) {
			errs := lowerText(t, "u, f := uint64(n), float64(n); _, _ = u, f; "+c.code)
			if len(errs) != 1 || errs[0].Pos.Line != 19 || !strings.Contains(errs[0].Error(), c.want) || strings.Contains(errs[0].Error(), "%!") || errs[0].Advice == "" {
				t.Errorf("the errors are %v", errs)
			}
		})
	}
	if errs := lowerText(t, `gpu.Printf(t, "%d %.1f `+strings.Repeat("%d", 30)+`", n, celsius(n)`+strings.Repeat(", n", 30)+`)`); len(errs) > 0 {
		t.Errorf("what is printed is refused: %v", errs)
	}
}

// externRefused lists invalid declarations and calls of f, each with a part of the expected error.
var externRefused = []struct{ decl, call, want string }{
	{`var f = gpu.Extern[func(int)]("../f.ptx", "f", nil)`, "f(n)", "the file ../f.ptx is not in the folder of the package: name a file"},
	{`var f = gpu.Extern[func(int)]("f*.ptx", "f", nil)`, "f(n)", "is not in the folder of the package"},
	{`var f = gpu.Extern[func(int)]("f.ptx", "f g", nil)`, "f(n)", "the function f g has no name of PTX: name a .visible .func"},
	{`var f = gpu.Extern[func(...int)]("f.ptx", "f", nil)`, "f(n)", "variadic or has several results: pass a pointer"},
	{`var f = gpu.Extern[func() (int, int)]("f.ptx", "f", nil)`, "f()", "variadic or has several results"},
	{`var f = gpu.Extern[func([]int32)]("f.ptx", "f", nil)`, "f(x)", "a parameter or result of type []int32: pass numbers and pointers"},
	{`var f = gpu.Extern[func() [2]int]("f.ptx", "f", nil)`, "f()", "a parameter or result of type [2]int"},
	{`var f = gpu.Extern("f.ptx", "f", 1)`, "_ = f", "the type is not that of a function: pass a function"},
	{`var f = gpu.Extern[func(int)]("f.ptx", "f", nil); var g = gpu.Extern[func(int32)]("f.ptx", "f", nil)`, "f(n); g(1)", "the function f of other PTX has two signatures: declare it once"},
	{`var f = gpu.Extern[func(int)]("f.ptx", "k", nil)`, "f(n)", "has the name of a kernel, function or variable of this module: rename that"},
	{`const f = 1`, `gpu.Extern[func(int)]("f.ptx", "f", nil)(n)`, "gpu.Extern: a call in a function: initialize a package-level variable with it"},
}

func TestExternRefusals(t *testing.T) {
	for _, c := range externRefused {
		t.Run(c.decl, func(t *testing.T) {
			errs := lowerPackage(t, c.decl, c.call)
			for _, e := range errs {
				if strings.Contains(e.Error(), c.want) && e.Pos.Line > 0 {
					return
				}
			}
			t.Errorf("the errors are %v", errs)
		})
	}
}

func lowerText(t *testing.T, code string) []*Error {
	t.Helper()
	return lowerPackage(t, "", code)
}

func lowerPackage(t *testing.T, decl, code string) []*Error {
	t.Helper()
	text := `package p

import "github.com/purecuda/cuda/ptx/gpu"
import "unsafe"

var table = [4]int32{1, 2, 3, 4}
var counter int

const size = unsafe.Sizeof(counter); ` + decl + `

func helper(i int) int { return i + 1 }
func other(i int) int { return i + int(size) }
func walk(f func(), n int) { if n > 0 { f(); walk(f, n-1) } }; type celsius float64; func (celsius) String() string { return undefined }; func pick(n int) string { if n > 1 { return "a" }; return "b" }

//gpu:kernel
func k(t gpu.Thread, x []int32, n int) {
	walk0 := other(helper(n))
	_ = walk0
	` + code + `
}
`
	p, err := source.Load(source.Config{Main: source.Sources{Path: "p", Files: []source.File{{Name: "p.go", Data: []byte(text)}}}, Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	_, errs := Lower(p, Options{})
	return errs
}
