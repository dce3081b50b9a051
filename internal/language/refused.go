package language

import (
	"fmt"
	"strings"
)

// Refusal is code that the compiler rejects.
type Refusal struct {
	// Code contains statements for a kernel with the parameters x []int32 and n int, or a whole
	// file. The text /**/ marks the position of the error.
	Code  string
	Decls string // declarations outside of the kernel
	// Imports lists the imported packages of the Go distribution, separated by spaces.
	Imports string
	Error   string // the compiler's message with its advice; empty if Go itself reports the error
	whole   bool   // whether Code is a whole file
}

// Place is the text that marks the position of the error.
const Place = "/**/"

// Text returns the source file, without Place, and the line and column of the error.
func (r Refusal) Text() (text string, line, column int) {
	text = r.Code
	if !r.whole {
		place := ""
		if !strings.Contains(r.Code+r.Decls, Place) {
			place = Place
		}
		text = "package p\n\nimport (\n"
		for _, path := range append(strings.Fields(r.Imports), "unsafe") {
			text += "\t\"" + path + "\"\n"
		}
		text += "\n\t\"github.com/purecuda/cuda/ptx/gpu\"\n)\n\n" + r.Decls + "\n\n//gpu:kernel block=64\n" + place + "func k(t gpu.Thread, x []int32, n int) {\n\t" + r.Code + "\n}\n"
	}
	before, after, _ := strings.Cut(text, Place)
	return before + after, 1 + strings.Count(before, "\n"), len(before) - strings.LastIndex(before, "\n")
}

// Short returns the code for documentation: the statements, or the directive and the signature.
func (r Refusal) Short() string {
	text := strings.TrimPrefix(r.Code, head)
	if r.Decls != "" && len(r.Decls) < 200 {
		text = r.Decls + " ⋯ " + text
	}
	for _, empty := range []string{"\nfunc k(t gpu.Thread) {}", "\nfunc f() {}", "\nfunc k[T any](t gpu.Thread) {}"} {
		text = strings.Replace(text, empty, "", 1)
	}
	return strings.ReplaceAll(text, Place, "")
}

// Refused lists function bodies and declarations that the compiler rejects.
var Refused = []Refusal{
	{Code: "/**/go f()", Decls: "func f() {}", Error: "goroutines are not available in kernels: launch more threads"},
	{Code: "/**/defer f()", Decls: "func f() {}", Error: "defer is not available in kernels: call the function at the end"},
	{Code: "/**/select {}", Error: "select is not available in kernels: use barriers and shared memory"},
	{Code: "/**/select { case <-c: }", Decls: "var c chan int", Error: "select is not available in kernels: use barriers and shared memory"},
	{Code: "/**/c <- 1", Decls: "var c chan int", Error: "channels are not available in kernels: use barriers and shared memory"},
	{Code: "x[0] = /**/<-c", Decls: "var c chan int32", Error: "channels are not available in kernels: use barriers and shared memory"},
	{Code: "/**/for range c {}", Decls: "var c chan int", Error: "channels are not available in kernels: use barriers and shared memory"},
	{Code: "/**/close(c)", Decls: "var c chan int", Error: "channels are not available in kernels: use barriers and shared memory"},
	{Code: "c := /**/make(chan int); _ = c", Error: "channels are not available in kernels: use barriers and shared memory"},
	{Code: "if /**/c == nil { x[0] = 1 }", Decls: "var c chan int", Error: "the type chan int is not available in kernels: use barriers and shared memory"},
	{Code: "if /**/c != nil { x[0] = 1 }", Decls: "var c chan int", Error: "the type chan int is not available in kernels: use barriers and shared memory"},
	{Code: "p := &/**/c; _ = p", Decls: "var c chan int", Error: "the type chan int is not available in kernels: use barriers and shared memory"},
	{Code: "_ = (<-chan int)(/**/c)", Decls: "var c chan int", Error: "the type chan int is not available in kernels: use barriers and shared memory"},
	{Code: "_ = any(/**/c)", Decls: "var c chan int", Error: "the type chan int is not available in kernels: use barriers and shared memory"},
	{Code: "m := /**/make(map[int]int); _ = m", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "m := /**/map[int]int{1: 2}; _ = m", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "x[0] = /**/m[1]", Decls: "var m map[int]int32", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "/**/for range m {}", Decls: "var m map[int]int", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "/**/delete(m, 1)", Decls: "var m map[int]int", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "/**/clear(m)", Decls: "var m map[int]int", Error: "maps are not available in kernels: use slices with sorted keys, or an array"},
	{Code: "if /**/m == nil { x[0] = 1 }", Decls: "var m map[int]int", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "if /**/m != nil { x[0] = 1 }", Decls: "var m map[int]int", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "p := &/**/m; _ = p", Decls: "var m map[int]int", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "type other map[int]int; _ = other(/**/m)", Decls: "var m map[int]int", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "_ = any(/**/m)", Decls: "var m map[int]int", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "x = /**/append(x, 1)", Error: "append may need to allocate memory: write to an index of a slice or array with enough elements"},
	{Code: "/**/recover()", Error: "recover is not available in kernels: a panic ends the thread with a fault"},
	{Code: "/**/print(n)", Error: "print is not available in kernels: use gpu.Printf"},
	{Code: "/**/println(n)", Error: "println is not available in kernels: use gpu.Printf"},
	{Code: "/**/panic(n)", Error: "the message of panic must be a constant string: use gpu.Assert or a constant"},
	{Code: "s := /**/make([]int32, n); _ = s", Error: "the size of make is not a constant: use a constant size, or pass the memory to the kernel"},
	{Code: "s := \"a\"; if n > 3 { s = \"b\" }; _ = /**/s + \"c\"", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "s := \"a\"; if n > 3 { s = \"b\" }; _ = /**/min(s, \"c\")", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "s := \"a\"; if n > 3 { s = \"b\" }; if /**/s < \"c\" { x[0] = 1 }", Error: "the order of strings that are not constant is not available in kernels: compare the strings for equality, or compare bytes"},
	{Code: "s := \"a\"; if n > 3 { s = \"b\" }; for range /**/s { x[0]++ }", Error: "range over a string that is not constant is not available in kernels: range over a []byte, or over a constant string"},
	{Code: "s := \"a\"; _ = /**/[]byte(s)", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "s := \"a\"; _ = /**/[]rune(s)", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "b := []byte{1}; _ = /**/string(b)", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "b := []rune{1}; _ = /**/string(b)", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "_ = /**/string(rune(n))", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "_ = /**/string(rune(uint8(n)))", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "_ = /**/string(uint8(n))", Error: "strings cannot be built in kernels: use constant strings"},
	{Code: "_ = /**/unsafe.Pointer(&x[0])", Error: "unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.Pointer((*[2]int32)(x))", Error: "unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.Pointer(uintptr(n))", Error: "unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = (*int32)(/**/p)", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = (*[2]int32)(/**/p)", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.Pointer(p)", Decls: "var p unsafe.Pointer", Error: "unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = uintptr(/**/p)", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = any(/**/p)", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "q := &/**/p; _ = q", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "if /**/p == nil { x[0] = 1 }", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "if /**/p != nil { x[0] = 1 }", Decls: "var p unsafe.Pointer", Error: "the type unsafe.Pointer is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.Add(nil, n)", Error: "unsafe.Add is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.Slice(&x[0], n)", Error: "unsafe.Slice is not available in kernels: use indices and slices"},
	{Code: "_ = /**/unsafe.SliceData(x)", Error: "unsafe.SliceData is not available in kernels: use indices and slices"},
	{Code: "b := []byte{1}; _ = /**/unsafe.String(&b[0], 1)", Error: "unsafe.String is not available in kernels: use indices and slices"},
	{Code: "s := \"a\"; _ = /**/unsafe.StringData(s)", Error: "unsafe.StringData is not available in kernels: use indices and slices"},
	{Code: "/**/table[0] = 1", Decls: "var table = [4]int32{1, 2}", Error: "a kernel cannot change the package-level variable table: declare it as a gpu.Global, or use gpu.Shared for the memory of a block"},
	{Code: "/**/counter++", Decls: "var counter int", Error: "a kernel cannot change the package-level variable counter: declare it as a gpu.Global, or use gpu.Shared for the memory of a block"},
	{Code: "p := c.Ptr(); /**/*p = 1", Decls: "var c gpu.Constant[int32]", Error: "the variable is in constant memory: use gpu.Global for a variable that kernels change"},
	{Code: "x[0] = start", Decls: "var start = /**/first()\n\nfunc first() int32 { return *g.Ptr() }\n\nvar g gpu.Global[int32]", Error: "the initial value of start is not known when the kernel is compiled: use a composite literal of constants, or a parameter"},
	{Code: "x[0] = /**/start", Decls: "var start, other = two()\n\nfunc two() (int32, int32) { return 1, 2 }", Error: "the initial value of start is not known when the kernel is compiled: use a composite literal of constants, or a parameter"},
	{Code: "f := add; if n > 3 { f = sub }; x[0] = int32(/**/f(1))", Decls: "func add(i int) int { return i + 1 }\n\nfunc sub(i int) int { return i - 1 }", Error: "the function or interface is known only when the kernel runs: use a switch between calls"},
	{Code: "fs := [2]func(int) int{add, add}; p := &fs; if n > 2 { p = nil }; _ = /**/p[0]", Decls: "func add(i int) int { return i + 1 }", Error: "a function or interface cannot be stored in memory: pass functions only to functions, and index arrays of functions with constants"},
	{Code: "var f func(int) int; f = func(i int) int { return /**/f(i - 1) }; f(n)", Error: "a function literal cannot call itself: declare a function"},
	{Code: "var p *int; for i := range n { if i > 2 { x[0] = int32(*p) }; y := i; /**/p = &y }; x[1] = int32(*p)", Error: "the address of a variable is used after the iteration of the loop in which it is declared: declare the variable before the loop"},
	{Code: "s := gpu.Shared[[2]*int](t); y := n; /**/s[0] = &y; x[0] = int32(*s[0])", Error: "the address of a local variable is stored in memory that outlives the thread: store a copy of the value"},
	{Code: "var a any = n; if n > 3 { a = x[0] }; switch /**/a.(type) { case int: x[0] = 1 }", Error: "the dynamic type is known only when the kernel runs: use a type parameter, or a switch on a number"},
	{Code: "walk(func() {}, n)", Decls: "func walk(/**/f func(), n int) {\n\tif n > 0 {\n\t\tf()\n\t\twalk(f, n-1)\n\t}\n}", Error: "a recursive or noinline function cannot have a parameter or result of type func(): pass numbers and slices"},
	{Code: "/**/elsewhere(n)", Decls: "func elsewhere(n int)", Error: "the function p.elsewhere has no Go code that can be compiled: write it in Go, or use gpu.Extern for PTX"},
	{Code: "s := \"a\"; if n > 3 { s = \"b\" }; /**/gpu.Assert(t, n > 3, s)", Error: "the argument message of gpu.Assert must be a constant: choose between calls with a switch"},
	{Code: "a, b := [100]int{}, [100]int{1: n}; if /**/a == b { x[0] = 1 }", Error: "arrays with more than 64 numbers cannot be compared: compare the elements in a loop"},
	{Code: "x[0] = int32(/**/summer.sum(point{n}))", Decls: "type summer interface{ sum() int }\n\ntype point struct{ n int }\n\nfunc (p point) sum() int { return p.n }", Error: "a method expression of an interface or an embedded type cannot be used: write a function literal that calls the method"},
	{Code: "s := \"nop\"; if n > 3 { s = \"ret\" }; gpu.PTX(/**/s)", Error: "the argument text of PTX must be a constant: choose between calls with a switch"},
	{Code: "gpu.PTX(\"mov.u32 %0, 1;\", /**/operand)", Decls: "var operand gpu.Operand", Error: "the operand of inline PTX is not a call of a function for operands: call gpu.Out, InOut, In, Addr or SharedAddr"},
	{Code: "/**/gpu.PTX(\"mov.u32 %1, 1;\", gpu.Out(&x[0]))", Error: "inline PTX names an operand that it does not have: the operands are numbered from %0"},
	{Code: "/**/gpu.PTX(\"mov.u33 %0, 1;\", gpu.Out(&x[0]))", Error: "inline PTX is not correct: mov.u33 %r1, 1; mov has no modifier .u33: see the PTX ISA for the forms of instructions"},
	{Code: "/**/gpu.PTX(\"nop\")", Error: "inline PTX is not correct: nop: expected an operand or \";\", found \"}\": }: see the PTX ISA for the forms of instructions"},
	{Code: "gpu.Printf(t, /**/\"%d\")", Error: "gpu.Printf: the format has more verbs than the call has arguments: add an argument"},
	{Code: "x[0] = /**/gpu.ShuffleXorMask(t, ^uint32(0), x[0], 1, 3)", Error: "gpu.ShuffleXorMask: the width is not a power of two up to 32: use 1, 2, 4, 8, 16 or 32"},
	{Code: "s := /**/gpu.Shared[[]int32](t); (*s)[n] = 1", Error: "the slice in shared memory is never set: use gpu.Shared[[N]int32] with a constant N, or gpu.DynamicShared[int32]"},
	{Code: "s := /**/gpu.Shared[struct { n int; row []float32 }](t); s.row[s.n] = 1", Error: "the slice in shared memory is never set: use gpu.Shared[[N]float32] with a constant N, or gpu.DynamicShared[float32]"},
	{Code: "s := /**/gpu.Shared[[4]*int32](t); x[0] = *s[n]", Error: "the pointer in shared memory is never set: set it in one thread, before a barrier"},
	{Code: "s := /**/gpu.Shared[string](t); x[0] = int32(len(*s))", Error: "the string in shared memory is never set: set it in one thread, before a barrier"},
	{Code: "s := /**/gpu.DynamicShared[[]int32](t); x[0] = s[0][0]", Error: "dynamic shared memory cannot have elements of type []int32: use numbers, or arrays or structs of numbers"},
	{Code: "s := /**/gpu.DynamicShared[any](t); x[0] = int32(len(s))", Error: "dynamic shared memory cannot have elements of type any: use numbers, or arrays or structs of numbers"},
	{Code: "s := gpu.Shared[[2]int8](t); /**/gpu.CopyAsync(t, &s[0], (*int8)(&b[0]))", Decls: "var b [1]int8", Error: "gpu.CopyAsync: the type has a size other than 4, 8 and 16 bytes: copy elements of such a size"},
	{Code: "if t.ThreadX() < 7 { /**/t.Sync() }; x[0]++", Error: "only some threads of a block reach this barrier: move it out of the condition in line 13"},
	{Code: "s := gpu.Shared[[1 << 20]int32](t); s[n] = 1; x[0] = s[1]", Error: "kernel k has 4194304 bytes of .shared variables; at most 167936 are allowed for any GPU: use less, or gpu.DynamicShared"},
	{Code: "_ = f10(n)", Decls: explosion(), Error: "the kernel is too large when all calls are inlined: mark large functions with //gpu:noinline"},
	{Code: "v, err := /**/half(n); if err == nil { x[0] = v }", Decls: "func half(n int) (int32, error) {\n\tif n%2 != 0 {\n\t\treturn 0, errors.New(\"odd\")\n\t}\n\treturn int32(n / 2), nil\n}", Imports: "errors", Error: "a function that a kernel calls cannot return an error: return a bool instead of an error, or use gpu.Assert"},
	{Code: "if /**/check(n) != nil { x[0] = 1 }", Decls: "func check(n int) error { return nil }", Error: "a function that a kernel calls cannot return an error: return a bool instead of an error, or use gpu.Assert"},
	{Code: "check := func() error { return nil }; if /**/check() != nil { x[0] = 1 }", Error: "a function that a kernel calls cannot return an error: return a bool instead of an error, or use gpu.Assert"},
	{Code: "var err error; if n > 1 { err = code(n) }; if /**/err == nil { x[0] = 1 }", Decls: "type code int\n\nfunc (c code) Error() string { return \"code\" }", Error: "the error is known only when the kernel runs: return a bool instead of an error, or use gpu.Assert"},
	{Code: "var m map[int]int; x[0] = int32(/**/len(m))", Error: "the type map[int]int is not available in kernels: use slices with sorted keys, or an array"},
	{Code: "/**/t.WaitGroup(n)", Error: "the argument n of gpu.Thread.WaitGroup must be a constant: choose between calls with a switch"},
}

// explosion returns functions that call each other so often that inlining exceeds the compiler's
// limit.
func explosion() string {
	var b strings.Builder
	b.WriteString("func f0(n int) int { return n }\n")
	for i := range 10 {
		call := fmt.Sprintf("f%d(n)", i)
		fmt.Fprintf(&b, "\nfunc f%d(n int) int { return %s }\n", i+1, strings.Repeat(call+" + ", 9)+call)
	}
	return b.String()
}
