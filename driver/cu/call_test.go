package cu_test

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// rawArgument returns a value for parameter i in which no byte is zero, and a check that the
// function received that value.
func rawArgument(t *testing.T, i int, typ reflect.Type) (reflect.Value, func(a loader.Args) bool) {
	t.Helper()
	v := reflect.New(typ).Elem()
	pattern := uint64(0x8182838485868780) + uint64(i)
	switch typ.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(typ.Elem()))
		return v, func(a loader.Args) bool { return a.Ptr(i) == v.UnsafePointer() }
	case reflect.UnsafePointer:
		v.SetPointer(unsafe.Pointer(new(uint64)))
		return v, func(a loader.Args) bool { return a.Ptr(i) == v.UnsafePointer() }
	case reflect.Int32:
		v.SetInt(int64(int32(pattern)))
		return v, func(a loader.Args) bool { return int64(a.Int32(i)) == v.Int() }
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(pattern & (1<<(8*typ.Size()-1)<<1 - 1))
		return v, func(a loader.Args) bool {
			return uint64(a.Word(i))<<(64-8*typ.Size()) == v.Uint()<<(64-8*typ.Size())
		}
	case reflect.Float32:
		v.SetFloat(1.5 + float64(i))
		return v, func(a loader.Args) bool { return math.Float32frombits(a.Uint32(i)) == float32(v.Float()) }
	case reflect.Struct:
		bytes := unsafe.Slice((*byte)(v.Addr().UnsafePointer()), typ.Size())
		for k := range bytes {
			bytes[k] = byte(i + k + 1)
		}
		return v, func(a loader.Args) bool {
			arrived := unsafe.Pointer(&[]uintptr{a.Word(i)}[0])
			if typ.Size() > 8 {
				arrived = a.Ptr(i)
			}
			return string(unsafe.Slice((*byte)(arrived), typ.Size())) == string(bytes)
		}
	}
	t.Fatalf("no value for a %v", typ)
	return v, nil
}

// Each method is called with a different value for each parameter. It must call its own function
// and pass all arguments in the order of the C declaration.
func TestEveryMethodPassesItsArguments(t *testing.T) {
	var reached cu.Function
	var check func(a loader.Args)
	d := rawDriver(t, &rawLibrary{handler: func(f cu.Function, a loader.Args) uintptr {
		reached = f
		check(a)
		return 0
	}})
	value := reflect.ValueOf(d)
	tested := 0
	for f := range cu.Functions() {
		if f == cu.FnCuDriverGetVersion {
			continue // rawLibrary implements this function itself
		}
		method := value.MethodByName(methodOf(f))
		in := make([]reflect.Value, method.Type().NumIn())
		checks := make([]func(loader.Args) bool, len(in))
		for i := range in {
			in[i], checks[i] = rawArgument(t, i, method.Type().In(i))
		}
		reached = 0
		check = func(a loader.Args) {
			if a.Len() != len(in) {
				t.Errorf("%v: %d words, want %d", f, a.Len(), len(in))
				return
			}
			for i, ok := range checks {
				if !ok(a) {
					t.Errorf("%v: argument %d (%v) arrived as %#x", f, i, in[i].Type(), a.Word(i))
				}
			}
		}
		if out := method.Call(in); !out[0].IsNil() {
			t.Errorf("%v: %v", f, out[0])
		}
		if reached != f {
			t.Errorf("%v reached %v", f, reached)
		}
		tested++
	}
	if tested < 470 {
		t.Errorf("only %d methods tested", tested)
	}
}

func TestInstantiateIsTheFormOfTheCurrentHeader(t *testing.T) {
	d := rawDriver(t, &rawLibrary{handler: func(f cu.Function, a loader.Args) uintptr {
		if f != cu.FnCuGraphInstantiateWithFlags || a.Word(1) != 7 || a.Word(2) != 2 {
			t.Errorf("reached %v with graph %d, flags %d", f, a.Word(1), a.Word(2))
		}
		return 0
	}})
	var x cu.CUgraphExec
	if err := d.CuGraphInstantiate(&x, 7, 2); err != nil {
		t.Error(err)
	}
}
