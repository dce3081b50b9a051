package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"modernc.org/cc/v4"
)

func (l *loaderState) collectTypes(ast *cc.AST) {
	declarations(ast, func(decl *cc.Declaration, d *cc.Declarator) {
		if d != nil && d.IsTypename() {
			l.typeNames[d.Name()] = true
		}
	})
	declarations(ast, func(decl *cc.Declaration, d *cc.Declarator) {
		switch {
		case d == nil:
			if e, ok := specifierType(decl).(*cc.EnumType); ok {
				l.types = append(l.types, enumDecl("", e))
			}
		case d.IsTypename():
			l.collectType(decl, d)
		}
	})
	l.preferPlainScalars()
}

func specifierType(decl *cc.Declaration) cc.Type {
	if decl.DeclarationSpecifiers == nil {
		return nil
	}
	return decl.DeclarationSpecifiers.Type()
}

// basic maps C types to built-in Go types.
var basic = map[string]string{
	"size_t": "uintptr", "uint32_t": "uint32", "uint64_t": "uint64", "cuuint32_t": "uint32", "cuuint64_t": "uint64",
}

func (l *loaderState) collectType(decl *cc.Declaration, d *cc.Declarator) {
	name, t := d.Name(), d.Type()
	if basic[name] != "" {
		return
	}
	if from := typedefName(decl); from != "" && d.Pointer == nil && l.typeNames[from] && basic[from] == "" {
		l.types = append(l.types, &typeDecl{name: name, kind: kindAlias, target: from})
		return
	}
	switch t := t.(type) {
	case *cc.EnumType:
		l.types = append(l.types, enumDecl(name, t))
	case *cc.StructType:
		l.record(&typeDecl{name: name, kind: kindStruct, size: t.Size(), align: int64(t.Align()), cPath: name}, t)
	case *cc.UnionType:
		l.record(&typeDecl{name: name, kind: kindUnion, size: t.Size(), align: int64(t.Align()), cPath: name}, t)
	case *cc.PointerType:
		if t.Elem().Kind() == cc.Function {
			l.types = append(l.types, &typeDecl{name: name, kind: kindCallback, cDecl: strings.TrimPrefix(prototype(decl), "typedef ")})
			return
		}
		l.types = append(l.types, &typeDecl{name: name, kind: kindHandle})
	default:
		l.types = append(l.types, &typeDecl{name: name, kind: kindScalar, target: l.scalar(t), size: t.Size()})
	}
}

// typedefName returns the name that a typedef refers to, or "" if decl does not refer to a named
// type.
func typedefName(decl *cc.Declaration) string {
	for s := decl.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		if s.Case == cc.DeclarationSpecifiersTypeSpec && s.TypeSpecifier.Case == cc.TypeSpecifierTypeName {
			return s.TypeSpecifier.Token.SrcStr()
		}
	}
	return ""
}

// preferPlainScalars makes the name without a version suffix the defined type, and the other an
// alias. A value then prints as CUdeviceptr and not as CUdeviceptr_v2.
func (l *loaderState) preferPlainScalars() {
	byName := map[string]*typeDecl{}
	for _, t := range l.types {
		byName[t.name] = t
	}
	for _, t := range l.types {
		if t.kind != kindAlias {
			continue
		}
		if d := byName[t.target]; d != nil && d.kind == kindScalar && strings.HasPrefix(d.name, t.name+"_v") {
			t.kind, t.target, t.size = kindScalar, d.target, d.size
			d.kind, d.target = kindAlias, t.name
		}
	}
}

func enumDecl(name string, t *cc.EnumType) *typeDecl {
	e := &typeDecl{name: name, kind: kindEnum, anon: name == "", size: t.Size()}
	for _, v := range t.Enumerators() {
		x := enumerator{name: v.Token.SrcStr()}
		switch n := v.Value().(type) {
		case cc.Int64Value:
			x.value = int64(n)
		case cc.UInt64Value:
			x.value = int64(n)
		default:
			panic(fmt.Sprintf("%s: value %T", x.name, n))
		}
		e.signed = e.signed || x.value < 0
		e.values = append(e.values, x)
	}
	return e
}

type fielder interface {
	cc.Type
	NumFields() int
	FieldByIndex(int) *cc.Field
}

// record collects a struct or union, after the types nested in it.
func (l *loaderState) record(decl *typeDecl, t fielder) {
	for i := range t.NumFields() {
		f := t.FieldByIndex(i)
		x := field{name: f.Name(), offset: f.Offset(), size: f.Type().Size()}
		x.goName = exported(x.name)
		if n, ok := f.Type().(fielder); ok && !l.isNamed(f.Type()) {
			member := x.goName
			if x.name == "" {
				member = "U"
				x.goName = "U"
			}
			nested := &typeDecl{name: decl.name + "_" + member, kind: kindStruct, nested: true, size: n.Size(), align: int64(n.Align())}
			nested.cPath = decl.cPath
			if x.name != "" {
				nested.cPath += "." + x.name
			}
			if _, ok := f.Type().(*cc.UnionType); ok {
				nested.kind = kindUnion
			}
			l.record(nested, n)
			x.goType, x.embedded = nested.name, nested
			x.pointers = nested.hasPointers()
		} else {
			x.goType = l.goType(f.Type())
			x.pointers = l.pointers(f.Type())
		}
		decl.fields = append(decl.fields, x)
	}
	l.types = append(l.types, decl)
}

func (t *typeDecl) hasPointers() bool {
	return slices.ContainsFunc(t.fields, func(f field) bool { return f.pointers })
}

// pointers reports whether the Go type for t contains pointers.
func (l *loaderState) pointers(t cc.Type) bool {
	switch t := t.(type) {
	case *cc.PointerType:
		g := l.goType(t)
		return strings.HasPrefix(g, "*") || g == "unsafe.Pointer"
	case *cc.ArrayType:
		return l.pointers(t.Elem())
	case *cc.StructType:
		for i := range t.NumFields() {
			if l.pointers(t.FieldByIndex(i).Type()) {
				return true
			}
		}
	case *cc.UnionType:
		for i := range t.NumFields() {
			if l.pointers(t.FieldByIndex(i).Type()) {
				return true
			}
		}
	}
	return false
}

func (l *loaderState) isNamed(t cc.Type) bool {
	d := t.Typedef()
	return d != nil && l.typeNames[d.Name()]
}

func (l *loaderState) goType(t cc.Type) string {
	if d := t.Typedef(); d != nil {
		if g := basic[d.Name()]; g != "" {
			return g
		}
		if l.typeNames[d.Name()] {
			return d.Name()
		}
	}
	switch t := t.(type) {
	case *cc.PointerType:
		elem := t.Elem()
		switch {
		case elem.Kind() == cc.Void:
			return "unsafe.Pointer"
		case elem.Kind() == cc.Function:
			return "uintptr"
		}
		return "*" + l.goType(elem)
	case *cc.ArrayType:
		return fmt.Sprintf("[%d]%s", t.Len(), l.goType(t.Elem()))
	case *cc.StructType, *cc.UnionType:
		panic("unnamed type " + t.String())
	}
	return l.scalar(t)
}

func (l *loaderState) scalar(t cc.Type) string {
	switch t.Kind() {
	case cc.Char, cc.UChar:
		return "byte"
	case cc.SChar:
		return "int8"
	case cc.Short:
		return "int16"
	case cc.UShort:
		return "uint16"
	case cc.Int:
		return "int32"
	case cc.UInt:
		return "uint32"
	case cc.Long, cc.LongLong:
		return "int64"
	case cc.ULong, cc.ULongLong:
		return "uint64"
	case cc.Float:
		return "float32"
	case cc.Double:
		return "float64"
	}
	panic(fmt.Sprintf("no Go type for %s (%v)", t, t.Kind()))
}

// exported returns s with the first letter in upper case, or unchanged if s begins with an
// underscore.
func exported(s string) string {
	if s == "" || s[0] == '_' {
		return s
	}
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// deviceAddresses lists parameters of type void* that accept a device address. Their Go type is an
// integer, because go vet reports the conversion of an address to unsafe.Pointer.
var deviceAddresses = map[string]bool{
	"cuTensorMapEncodeTiled.globalAddress":      true,
	"cuTensorMapEncodeIm2col.globalAddress":     true,
	"cuTensorMapEncodeIm2colWide.globalAddress": true,
	"cuTensorMapReplaceAddress.globalAddress":   true,
}

var reserved = map[string]string{
	"func": "fn", "type": "typ", "range": "rng", "map": "m", "var": "v", "interface": "iface", "select": "sel",
	"d": "dd", "a": "aa", "c": "cc", "error": "code", "loader": "ld", "unsafe": "us",
}

func (l *loaderState) collectParams(f *function, d *cc.Declarator) error {
	for i, p := range d.Type().(*cc.FunctionType).Parameters() {
		t := p.Type()
		if t.Kind() == cc.Void {
			continue
		}
		x := param{name: p.Name(), goType: l.goType(t)}
		if x.name == "" {
			x.name = fmt.Sprintf("arg%d", i)
		}
		if deviceAddresses[f.base+"."+x.name] {
			x.goType = "CUdeviceptr"
		}
		if r := reserved[x.name]; r != "" {
			x.name = r
		}
		switch {
		case t.Kind() == cc.Struct && t.Size() == 8:
			x.class = classPacked
		case t.Kind() == cc.Struct && t.Size() > 16:
			x.class = classIndirect
		case t.Kind() == cc.Struct || t.Kind() == cc.Union:
			return fmt.Errorf("%s: argument %s of %d bytes by value", f.symbol, x.name, t.Size())
		case x.goType == "float32":
			x.class = classFloat
		case x.goType == "float64":
			return fmt.Errorf("%s: argument %s is a double", f.symbol, x.name)
		case strings.HasPrefix(x.goType, "*") || x.goType == "unsafe.Pointer":
			x.class = classPointer
		}
		f.params = append(f.params, x)
	}
	return nil
}

var define = regexp.MustCompile(`(?m)^[ \t]*#define[ \t]+((?:CU|CUDA)_\w+)[ \t]+(\S.*)$`)

var number = regexp.MustCompile(`^-?(0x)?[0-9a-fA-F]+$`)

func (l *loaderState) collectConstants(ast *cc.AST, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "cuda.h"))
	if err != nil {
		panic(err)
	}
	enumType := map[string]string{}
	for _, t := range l.types {
		for _, v := range t.values {
			enumType[v.name] = t.name
		}
	}
	handle := regexp.MustCompile(`^\(\((CU\w+)\)\s*\(?(-?\w+)\)?\)`)
	void := regexp.MustCompile(`^\(\(void\*\)`)
	for _, m := range define.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		mac := ast.Macros[name]
		if mac == nil || mac.IsFnLike || void.MatchString(m[2]) {
			continue
		}
		value := strings.TrimSpace(strings.SplitN(m[2], "/*", 2)[0])
		c := constant{name: name, value: value}
		if h := handle.FindStringSubmatch(value); h != nil {
			c.goType, c.value = h[1], h[2]
		}
		if enumType[value] != "" {
			c.goType = ""
		}
		if !number.MatchString(c.value) && enumType[c.value] == "" {
			continue
		}
		if name == "CUDA_VERSION" {
			fmt.Sscan(value, &l.version)
		}
		l.constants = append(l.constants, c)
	}
}
