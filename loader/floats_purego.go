//go:build !static && ((windows && arm64) || (linux && purecuda_syscall && (amd64 || arm64)))

package loader

import (
	"math"
	"reflect"
	"sync"

	"github.com/ebitengine/purego"
)

const passesFloats = true

// floatFuncs maps an address and a Call.N to a Go function that calls C. purego.SyscallN passes
// only integer words. RegisterFunc also passes floating-point numbers, as the Go function's type
// specifies.
var floatFuncs sync.Map // floatFunc to reflect.Value

type floatFunc struct{ addr, n uintptr }

var (
	wordType   = reflect.TypeFor[uintptr]()
	doubleType = reflect.TypeFor[float64]() // on amd64 and arm64, a float is in the lower half
)

// invokeFloats makes one call to a C function with floating-point words.
func invokeFloats(c *Call) uintptr {
	key := floatFunc{c.Proc.addr, c.N}
	fn, ok := floatFuncs.Load(key)
	if !ok {
		fn, _ = floatFuncs.LoadOrStore(key, registerFloats(key))
	}
	words := c.words()
	in := make([]reflect.Value, len(words))
	for i, w := range words {
		if c.isFloat(i) {
			in[i] = reflect.ValueOf(math.Float64frombits(uint64(w)))
		} else {
			in[i] = reflect.ValueOf(w)
		}
	}
	out := fn.(reflect.Value).Call(in)[0]
	if c.N&FloatResult != 0 {
		return uintptr(math.Float64bits(out.Float()))
	}
	return uintptr(out.Uint())
}

func registerFloats(f floatFunc) reflect.Value {
	c := Call{N: f.n}
	in := make([]reflect.Type, c.count())
	for i := range in {
		in[i] = wordType
		if c.isFloat(i) {
			in[i] = doubleType
		}
	}
	out := wordType
	if f.n&FloatResult != 0 {
		out = doubleType
	}
	fn := reflect.New(reflect.FuncOf(in, []reflect.Type{out}, false))
	purego.RegisterFunc(fn.Interface(), f.addr)
	return fn.Elem()
}
