package gen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// addressType is the Go type of a device address that is passed as a number.
const addressType = "driver.CUdeviceptr"

// The types of package num.
const (
	f16Type  = "num.F16"
	bf16Type = "num.BF16"
	e4m3Type = "num.E4M3"
	e5m2Type = "num.E5M2"
)

// qualified maps types from other packages that generated code uses to their sizes.
var qualified = map[string]int{addressType: 8, f16Type: 2, bf16Type: 2, e4m3Type: 1, e5m2Type: 1}

// basic maps the Go types that a kernel parameter can have to their sizes.
var basic = map[string]int{
	"bool": 1, "byte": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4, "rune": 4,
	"int64": 8, "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16, "uintptr": 8,
}

// noSize contains Go types that look suitable but have no fixed size.
var noSize = map[string]string{
	"int": "int32 or int64", "uint": "uint32 or uint64", "string": "an array of bytes", "error": "a number", "any": "its type",
}

// goType holds the known properties of a Go type expression.
type goType struct {
	text  string
	size  int
	known bool // the size is known; if not, the package declares the type elsewhere
}

// parseType parses a Go type of fixed size: a number, an array or a type of the package.
func parseType(s string) (goType, error) {
	e, err := parser.ParseExpr(s)
	if err != nil {
		return goType{}, fmt.Errorf("%q is not a Go type", s)
	}
	return typeOf(e)
}

func typeOf(e ast.Expr) (goType, error) {
	switch e := e.(type) {
	case *ast.Ident:
		if better := noSize[e.Name]; better != "" {
			return goType{}, fmt.Errorf("a Go %s has no fixed size or no place on a device; use %s", e.Name, better)
		}
		size, ok := basic[e.Name]
		return goType{e.Name, size, ok}, nil
	case *ast.ArrayType:
		return arrayType(e)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			name := x.Name + "." + e.Sel.Name
			if size, ok := qualified[name]; ok {
				return goType{name, size, true}, nil
			}
		}
		return goType{}, fmt.Errorf("of other packages' types only %s, %s, %s, %s and %s are supported; declare one in the package (type T = pkg.T)",
			addressType, f16Type, bf16Type, e4m3Type, e5m2Type)
	}
	return goType{}, fmt.Errorf("this Go type cannot be on a device; use numbers, arrays of them and structs of the package")
}

func arrayType(e *ast.ArrayType) (goType, error) {
	lit, ok := e.Len.(*ast.BasicLit)
	if !ok {
		return goType{}, fmt.Errorf("an array needs a length in digits, and slices cannot be passed")
	}
	n, err := strconv.Atoi(lit.Value)
	if err != nil || n < 1 || n > 1<<16 {
		return goType{}, fmt.Errorf("%s is not the length of an array that can be passed", lit.Value)
	}
	elem, err := typeOf(e.Elt)
	if err != nil {
		return goType{}, err
	}
	return goType{fmt.Sprintf("[%d]%s", n, elem.text), n * elem.size, elem.known}, nil
}

// plain returns the Go type of a parameter that neither the source nor a directive
// describes.
func plain(p ptx.Param) string {
	if p.Kind == ptx.ParamAggregate || p.Size != p.Type.Size() || p.Size > 8 {
		return fmt.Sprintf("[%d]byte", p.Size)
	}
	bits := strconv.Itoa(8 * p.Size)
	switch p.Type.Kind() {
	case ptx.KindSigned:
		if p.Type != ptx.S16x2 {
			return "int" + bits
		}
	case ptx.KindFloat:
		switch p.Type {
		case ptx.F32, ptx.F64:
			return "float" + bits
		case ptx.F16:
			return f16Type
		case ptx.BF16:
			return bf16Type
		}
	}
	return "uint" + bits // unsigned integers also represent the bits of packed types
}

// fits checks that a parameter passed by value can have the given Go type.
func fits(p ptx.Param, t goType) error {
	if t.known && t.size != p.Size {
		return fmt.Errorf("a %s has %d bytes, but the parameter is %s with %d", t.text, t.size, ptxType(p), p.Size)
	}
	if !t.known || p.Kind == ptx.ParamAggregate || p.Size != p.Type.Size() {
		return nil
	}
	float := t.text == "float32" || t.text == "float64"
	switch p.Type.Kind() {
	case ptx.KindSigned, ptx.KindUnsigned:
		if float {
			return fmt.Errorf("the parameter is %s, not a %s", ptxType(p), t.text)
		}
	case ptx.KindFloat:
		if !float && p.Type.Size() >= 4 && (p.Type == ptx.F32 || p.Type == ptx.F64) {
			return fmt.Errorf("the parameter is %s, not a %s", ptxType(p), t.text)
		}
	}
	return nil
}

// ptxType returns the type of a parameter in PTX notation.
func ptxType(p ptx.Param) string {
	if p.Kind == ptx.ParamAggregate {
		return fmt.Sprintf(".%v[%d]", p.Type, p.Len)
	}
	return "." + p.Type.String()
}

// isAddress reports whether a parameter can hold an address.
func isAddress(p ptx.Param) bool {
	k := p.Type.Kind()
	return p.Kind == ptx.ParamPointer ||
		p.Kind == ptx.ParamScalar && p.Size == 8 && (k == ptx.KindUnsigned || k == ptx.KindSigned || k == ptx.KindBits)
}
