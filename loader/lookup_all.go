package loader

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"unsafe"
)

// LookupAll fills a table of C functions. table points to a struct. Each field with a function type
// becomes a Go function that calls a symbol of lib. The symbol is the field's name with its first
// letter in lower case, or the name in the field's symbol tag:
//
//	var curand struct {
//		CurandCreateGenerator func(g *uintptr, kind int32) int32
//		CurandGenerateNormal  func(g uintptr, out driver.DevicePtr, n uint64, mean, stddev float32) int32
//		Version               func(v *int32) int32 `symbol:"curandGetVersion"`
//		CurandSetStreamAsync  func(g, stream uintptr) int32 `symbol:",optional"`
//	}
//	err := loader.LookupAll(lib, drv.Scope(), &curand)
//
// Every call runs under s, which may be nil. The scope of a context's driver makes the context
// current in the same native call.
//
// Each parameter has the Go type that corresponds to its C type: an integer of the same size,
// float32 for float, float64 for double, bool, uintptr for handles, and *T or unsafe.Pointer for
// pointers. A string becomes a C string that is valid until the call returns. The result has one of
// these types or is absent. A string result is a copy of the char* that C returns. Structs by
// value, slices, functions and variadic parameters have no single counterpart in C, so LookupAll
// returns an error for them. Pass a pointer to the struct, &s[0] or the address from [NewCallback]
// instead.
//
// Memory that an argument points to is on the heap and stays alive until the call returns. If C
// keeps the pointer longer, retain the memory and pin it with [runtime.Pinner].
//
// The error joins the errors of all fields. For a missing symbol, it matches [ErrSymbolNotFound].
// If an optional symbol is missing, its field stays nil. A call allocates and takes about a
// microsecond. Code that makes many calls should build its own block (see [Call]).
func LookupAll(lib Library, s *Scope, table any) error {
	if lib == nil {
		return errors.New("loader.LookupAll: the library is nil; Open returns one")
	}
	v := reflect.ValueOf(table)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("loader.LookupAll: the table is a %T; pass the address of a struct", table)
	}
	v = v.Elem()
	var errs []error
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Type.Kind() == reflect.Func {
			if err := lookupField(lib, s, f, v.Field(i)); err != nil {
				errs = append(errs, fmt.Errorf("field %s: %w", f.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

func lookupField(lib Library, s *Scope, f reflect.StructField, to reflect.Value) error {
	if !to.CanSet() {
		return errors.New("not exported: reflection cannot set it")
	}
	symbol, option, _ := strings.Cut(f.Tag.Get("symbol"), ",")
	if option != "" && option != "optional" {
		return fmt.Errorf("tag symbol has the option %q; there is only optional", option)
	}
	if symbol == "" {
		symbol = strings.ToLower(f.Name[:1]) + f.Name[1:]
	}
	shape, err := shapeOf(f.Type)
	if err != nil {
		return err
	}
	p, err := lib.Lookup(symbol)
	if err != nil {
		if option != "" && errors.Is(err, ErrSymbolNotFound) {
			return nil
		}
		return err
	}
	if shape >= FloatArg && !p.IsGo() && !passesFloats {
		return fmt.Errorf("%s takes or returns a floating-point number: %w", symbol, errNoFloats)
	}
	to.Set(reflect.MakeFunc(f.Type, func(args []reflect.Value) []reflect.Value {
		return callTyped(&p, s, shape, f.Type, args)
	}))
	return nil
}

var errNoFloats = errors.New("this build cannot pass one to C (see PassesFloats)")

// shapeOf returns the value of Call.N for calls of a function type.
func shapeOf(t reflect.Type) (uintptr, error) {
	if t.IsVariadic() {
		return 0, errors.New("a variadic function has no fixed type in C; write one field for each way it is called")
	}
	if t.NumIn() >= FloatArg {
		return 0, fmt.Errorf("%d parameters are more than a call can have", t.NumIn())
	}
	n := uintptr(t.NumIn())
	for i := range t.NumIn() {
		float, err := isFloatKind(t.In(i))
		if err != nil {
			return 0, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		if float && i >= MaxFloatArgs {
			return 0, fmt.Errorf("parameter %d is a floating-point number; only the first %d can be", i+1, MaxFloatArgs)
		}
		if float {
			n |= FloatArg << i
		}
	}
	switch t.NumOut() {
	case 0:
	case 1:
		float, err := isFloatKind(t.Out(0))
		if err != nil {
			return 0, fmt.Errorf("result: %w", err)
		}
		if float {
			n |= FloatResult
		}
	default:
		return 0, fmt.Errorf("%d results; a C function has at most one", t.NumOut())
	}
	return n, nil
}

// isFloatKind reports whether C passes a type in a vector register. It returns an error if the type
// cannot be passed.
func isFloatKind(t reflect.Type) (bool, error) {
	switch k := t.Kind(); k {
	case reflect.Float32, reflect.Float64:
		return true, nil
	case reflect.Int64, reflect.Uint64:
		if unsafe.Sizeof(uintptr(0)) < 8 {
			return false, fmt.Errorf("%v takes two words on this system, which LookupAll does not pass", t)
		}
		return false, nil
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32,
		reflect.Uintptr, reflect.Pointer, reflect.UnsafePointer, reflect.String:
		return false, nil
	case reflect.Slice:
		return false, fmt.Errorf("%v has no counterpart in C; take a pointer and pass &s[0]", t)
	case reflect.Func:
		return false, fmt.Errorf("%v has no counterpart in C; take a uintptr and pass what NewCallback returns", t)
	default:
		return false, fmt.Errorf("%v has no counterpart in C that LookupAll passes", t)
	}
}

// callTyped makes one call. Its block and all memory that its words point to are on the heap, so C
// may call back into Go.
func callTyped(p *Proc, s *Scope, shape uintptr, t reflect.Type, args []reflect.Value) []reflect.Value {
	block := make([]uintptr, callWords+max(len(args), minWords))
	words := block[callWords:]
	var strings []*byte
	for i, a := range args {
		switch a.Kind() {
		case reflect.Bool:
			if a.Bool() {
				words[i] = 1
			}
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			words[i] = uintptr(a.Int())
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
			words[i] = uintptr(a.Uint())
		case reflect.Float32:
			words[i] = uintptr(math.Float32bits(float32(a.Float())))
		case reflect.Float64:
			words[i] = uintptr(math.Float64bits(a.Float()))
		case reflect.String:
			c := CString(a.String())
			strings = append(strings, c)
			words[i] = uintptr(unsafe.Pointer(c))
		default:
			words[i] = a.Pointer()
		}
	}
	c := (*Call)(unsafe.Pointer(&block[0]))
	*c = Call{Proc: p, Scope: s, N: shape}
	InvokeEscaping(c)
	runtime.KeepAlive(args)
	runtime.KeepAlive(strings)
	if t.NumOut() == 0 {
		return nil
	}
	return []reflect.Value{resultOf(c, t.Out(0))}
}

func resultOf(c *Call, t reflect.Type) reflect.Value {
	v, r := reflect.New(t).Elem(), c.Ret
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(uint8(r) != 0)
	case reflect.Int8, reflect.Uint8:
		*(*uint8)(v.Addr().UnsafePointer()) = uint8(r)
	case reflect.Int16, reflect.Uint16:
		*(*uint16)(v.Addr().UnsafePointer()) = uint16(r)
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		*(*uint32)(v.Addr().UnsafePointer()) = uint32(r)
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(uint64(r)))
	case reflect.String:
		v.SetString(GoString(*(**byte)(unsafe.Pointer(&c.Ret))))
	default: // one word: an integer, a handle or a pointer
		v.Set(reflect.NewAt(t, unsafe.Pointer(&c.Ret)).Elem())
	}
	return v
}
