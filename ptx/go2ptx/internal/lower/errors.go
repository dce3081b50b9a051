package lower

import (
	"fmt"
	"go/token"
	"go/types"
)

// Error describes source code that cannot be compiled for a device.
type Error struct {
	Pos     token.Position
	ID      string // the ID of a Refusal
	Message string
	Advice  string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Pos, e.Message)
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// A Refusal is a reason why the compiler refuses a kernel.
type Refusal struct {
	ID, Message, Advice string
}

// Refusals lists all reasons, for documentation and tests.
var Refusals = []Refusal{
	{"append", "append may need to allocate memory", "write to an index of a slice or array with enough elements"},
	{"array-compare", "arrays with more than 64 numbers cannot be compared", "compare the elements in a loop"},
	{"assign-table", "the variable is in constant memory", "use gpu.Global for a variable that kernels change"},
	{"assign-var", "a kernel cannot change the package-level variable %s", "declare it as a gpu.Global, or use gpu.Shared for the memory of a block"},
	{"builtin", "%s is not available in kernels", "use gpu.Printf"},
	{"cap-make", "the size of make is not a constant", "use a constant size, or pass the memory to the kernel"},
	{"chan", "channels are not available in kernels", "use barriers and shared memory"},
	{"const-arg", "the argument %s of %s must be a constant", "choose between calls with a switch"},
	{"defer", "defer is not available in kernels", "call the function at the end"},
	{"error-known", "the error is known only when the kernel runs", "return a bool instead of an error, or use gpu.Assert"},
	{"error-result", "a function that a kernel calls cannot return an error", "return a bool instead of an error, or use gpu.Assert"},
	{"func-in-memory", "a function or interface cannot be stored in memory", "pass functions only to functions, and index arrays of functions with constants"},
	{"func-known", "the function or interface is known only when the kernel runs", "use a switch between calls"},
	{"func-param", "a recursive or noinline function cannot have a parameter or result of type %s", "pass numbers and slices"},
	{"param-bytes", "kernel %s has at least %s bytes of parameters; no target allows more than %s", "pass a slice or a pointer"},
	{"go", "goroutines are not available in kernels", "launch more threads"},
	{"init-var", "the initial value of %s is not known when the kernel is compiled", "use a composite literal of constants, or a parameter"},
	{"internal", "the compiler failed: %s", "please report it with the source"},
	{"local-escapes", "the address of a local variable is stored in memory that outlives the thread", "store a copy of the value"},
	{"local-outlives", "the address of a variable is used after the iteration of the loop in which it is declared", "declare the variable before the loop"},
	{"map", "maps are not available in kernels", "use slices with sorted keys, or an array"},
	{"method-expr", "a method expression of an interface or an embedded type cannot be used", "write a function literal that calls the method"},
	{"no-body", "the function %s has no Go code that can be compiled", "write it in Go, or use gpu.Extern for PTX"},
	{"panic-value", "the message of panic must be a constant string", "use gpu.Assert or a constant"},
	{"printf", "gpu.Printf: %s", "%s"},
	{"recover", "recover is not available in kernels", "a panic ends the thread with a fault"},
	{"recursive-closure", "a function literal cannot call itself", "declare a function"},
	{"select", "select is not available in kernels", "use barriers and shared memory"},
	{"shared-dynamic", "dynamic shared memory cannot have elements of type %s", "use numbers, or arrays or structs of numbers"},
	{"shared-unset", "the %s in shared memory is never set", "%s"},
	{"string-build", "strings cannot be built in kernels", "use constant strings"},
	{"string-order", "the order of strings that are not constant is not available in kernels", "compare the strings for equality, or compare bytes"},
	{"string-range", "range over a string that is not constant is not available in kernels", "range over a []byte, or over a constant string"},
	{"too-large", "the kernel is too large when all calls are inlined", "mark large functions with //gpu:noinline"},
	{"type", "the type %s is not available in kernels", "%s"},
	{"type-switch", "the dynamic type is known only when the kernel runs", "use a type parameter, or a switch on a number"},
	{"unsafe", "unsafe.%s is not available in kernels", "use indices and slices"},
	{"gpu-ptx", "%s", "%s"},
}

func refusal(id string) Refusal {
	for _, r := range Refusals {
		if r.ID == id {
			return r
		}
	}
	return Refusal{ID: id, Message: id}
}

// errorf reports an error.
func (l *lowerer) errorf(pos token.Pos, id string, args ...any) {
	if !pos.IsValid() {
		pos = l.now
	}
	r := refusal(id)
	_, at := l.position(pos)
	at.Offset = 0
	e := &Error{Pos: at, ID: id, Advice: r.Advice, Message: r.Message}
	switch {
	case r.Advice == "%s" && len(args) == 2:
		e.Message, e.Advice = fmt.Sprintf(r.Message, args[0]), fmt.Sprint(args[1])
	case len(args) > 0:
		e.Message = fmt.Sprintf(r.Message, args...)
	}
	if g := l.inGo; g.pos.IsValid() {
		l.goError(g, "in "+g.in+": "+e.Message)
		return
	}
	if len(l.errs) < 1000 {
		l.errs = append(l.errs, e)
	}
}

// refusedType returns advice for the error that a type cannot be used.
func refusedType(t types.Type) string {
	switch t.Underlying().(type) {
	case *types.Map:
		return refusal("map").Advice
	case *types.Chan:
		return refusal("chan").Advice
	case *types.TypeParam:
		return "use a type argument"
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Kind() == types.UnsafePointer {
		return refusal("unsafe").Advice
	}
	return "use numbers, structs, arrays, slices and pointers"
}
