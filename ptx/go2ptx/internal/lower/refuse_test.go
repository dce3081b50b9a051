package lower

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// refused are statements of a kernel with parameters x []int32, n int and f func values around it,
// and the refusals that they cause.
var refused = []struct{ id, code string }{
	{"append", "x = append(x, 1)"},
	{"assign-table", "table[0] = 1"},
	{"assign-var", "counter++"},
	{"cap-make", "x = make([]int32, n)"},
	{"chan", "c := make(chan int); c <- 1"},
	{"defer", "defer helper(1)"},
	{"go", "go helper(1)"},
	{"map", "m := map[int]int{}; m[1] = 2"},
	{"select", "select {}"},
	{"recover", "recover()"},
	{"panic-value", "panic(n)"},
	{"string-build", "s := \"a\"; if n > 3 { s = \"b\" }; s += \"c\"; _ = s"},
	{"func-known", "f := helper; if n > 3 { f = other }; x[0] = int32(f(1))"},
	{"func-in-memory", "fs := [2]func(int) int{helper, other}; p := &fs; if n > 2 { p = nil }; _ = p[0]"},
	{"recursive-closure", "var f func(int) int; f = func(i int) int { return f(i - 1) }; f(n)"},
	{"local-outlives", "var p *int; for i := range n { if i > 2 { x[0] = int32(*p) }; y := i; p = &y }; x[1] = int32(*p)"},
	{"type-switch", "var a any = n; if n > 3 { a = x[0] }; switch a.(type) { case int: x[0] = 1 }"},
	{"func-param", "walk(func() {}, n)"},
	{"unsafe", "_ = unsafe.Pointer(&x[0])"},
}

func TestRefusals(t *testing.T) {
	for _, c := range refused {
		t.Run(c.id+" "+c.code, func(t *testing.T) {
			errs := lowerText(t, c.code)
			for _, e := range errs {
				if e.ID == c.id || c.id == "assign-table" && e.ID == "assign-var" {
					if e.Pos.Line != 19 && c.id != "func-param" || e.Message == "" || strings.Contains(e.Error(), "%!") {
						t.Errorf("the error is %v", e)
					}
					return
				}
			}
			t.Errorf("the errors are %v", errs)
		})
	}
}

func lowerText(t *testing.T, code string) []*Error {
	t.Helper()
	text := `package p

import "github.com/purecuda/cuda/ptx/gpu"
import "unsafe"

var table = [4]int32{1, 2, 3, 4}
var counter int

const size = unsafe.Sizeof(counter)

func helper(i int) int { return i + 1 }
func other(i int) int { return i + int(size) }
func walk(f func(), n int) { if n > 0 { f(); walk(f, n-1) } }

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
