package trace

import (
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/purecuda/cuda/loader"
)

// longestText limits how many bytes of a C string are shown.
const longestText = 80

// value returns argument i as it was passed.
//
// Memory that an argument points to is read in place and never copied as a whole. It may contain
// pointers into a stack, which must not be copied to the heap.
func (p param) value(a loader.Args, i int) string {
	word := a.Word(i)
	switch {
	case p.large():
		return string(appendValue(nil, p.typ, a.Ptr(i)))
	case p.typ.Kind() == reflect.Pointer && p.in && word != 0:
		return p.pointee(a, i)
	}
	return string(appendValue(nil, p.typ, unsafe.Pointer(&word)))
}

// pointee returns the string or struct behind a pointer that the driver will read. Anything else is
// an array, for which pointee returns only the address.
func (p param) pointee(a loader.Args, i int) string {
	switch elem := p.typ.Elem(); elem.Kind() {
	case reflect.Uint8:
		return quoted(a.Ptr(i))
	case reflect.Struct:
		return "&" + string(appendValue(nil, elem, a.Ptr(i)))
	}
	return hex(a.Word(i))
}

// result returns the value that the driver has written through argument i, or "" if there is none.
func (p param) result(a loader.Args, i int) string {
	if p.typ.Kind() != reflect.Pointer || p.in || a.Word(i) == 0 {
		return ""
	}
	elem := p.typ.Elem()
	switch {
	case elem.Kind() == reflect.Uint8: // a buffer that receives text
		return ""
	case elem.Kind() == reflect.Pointer && elem.Elem().Kind() == reflect.Uint8:
		if s := *(*unsafe.Pointer)(a.Ptr(i)); s != nil {
			return quoted(s)
		}
	}
	return string(appendValue(nil, elem, a.Ptr(i)))
}

// quoted returns the C string at s, truncated if it is long.
func quoted(s unsafe.Pointer) string {
	var b []byte
	for n := range longestText {
		c := *(*byte)(unsafe.Add(s, n))
		if c == 0 {
			return strconv.Quote(string(b))
		}
		b = append(b, c)
	}
	return strconv.Quote(string(b)) + "…"
}

func hex(v uintptr) string {
	if v == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(uint64(v), 16)
}

// appendValue appends the value of type t that p points to.
func appendValue(b []byte, t reflect.Type, p unsafe.Pointer) []byte {
	switch t.Kind() {
	case reflect.Struct:
		return appendStruct(b, t, p)
	case reflect.Array:
		return appendArray(b, t, p)
	case reflect.Pointer, reflect.UnsafePointer:
		return append(b, hex(*(*uintptr)(p))...)
	case reflect.Func, reflect.Interface, reflect.Map, reflect.Slice, reflect.String, reflect.Chan:
		return append(b, '?')
	}
	return appendScalar(b, reflect.NewAt(t, p).Elem())
}

// appendScalar appends a number, the name of an enum value, or a handle.
func appendScalar(b []byte, v reflect.Value) []byte {
	named := v.Type().PkgPath() != ""
	switch {
	case named && v.CanInterface():
		if s, ok := v.Interface().(fmt.Stringer); ok {
			return append(b, s.String()...)
		}
	}
	switch v.Kind() {
	case reflect.Uintptr, reflect.Uint64:
		if named {
			return append(b, hex(uintptr(v.Uint()))...)
		}
		return strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, v.Type().Bits())
	}
	return strconv.AppendInt(b, v.Int(), 10)
}

// appendStruct appends the nonzero fields.
func appendStruct(b []byte, t reflect.Type, p unsafe.Pointer) []byte {
	b = append(b, '{')
	first := true
	for i := range t.NumField() {
		f := t.Field(i)
		at := unsafe.Add(p, f.Offset)
		if f.Name == "_" || !f.IsExported() || zero(at, f.Type.Size()) {
			continue
		}
		if !first {
			b = append(b, ' ')
		}
		first = false
		b = append(append(b, f.Name...), ':')
		b = appendValue(b, f.Type, at)
	}
	return append(b, '}')
}

// appendArray appends an array. A byte array becomes one hexadecimal number with two digits for
// each byte. Any other array becomes a list of elements.
func appendArray(b []byte, t reflect.Type, p unsafe.Pointer) []byte {
	if t.Elem().Kind() == reflect.Uint8 {
		return fmt.Appendf(b, "%x", unsafe.Slice((*byte)(p), t.Len()))
	}
	b = append(b, '[')
	for i := range t.Len() {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendValue(b, t.Elem(), unsafe.Add(p, uintptr(i)*t.Elem().Size()))
	}
	return append(b, ']')
}

func zero(p unsafe.Pointer, n uintptr) bool {
	for _, c := range unsafe.Slice((*byte)(p), n) {
		if c != 0 {
			return false
		}
	}
	return true
}
