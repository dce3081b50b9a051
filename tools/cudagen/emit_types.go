package main

import (
	"fmt"
	"strings"
)

func emitTypes(a *api, f *file) {
	for _, t := range a.types {
		switch t.kind {
		case kindHandle:
			f.printf("// %s is an opaque handle of the driver.\ntype %s uintptr\n\n", t.name, t.name)
		case kindCallback:
			f.printf("// %s is the address of C code:\n//\n//\t%s\ntype %s uintptr\n\n", t.name, t.cDecl, t.name)
		case kindScalar:
			f.printf("// %s is an integer type of the driver.\ntype %s %s\n\n", t.name, t.name, t.target)
		case kindAlias:
			f.printf("// %s is an alias of [%s].\ntype %s = %s\n\n", t.name, t.target, t.name, t.target)
		}
	}
}

func emitConstants(a *api, f *file) {
	f.printf("// Numbers that cuda.h defines by macro.\nconst (\n")
	for _, c := range a.constants {
		f.printf("%s %s = %s\n", c.name, c.goType, c.value)
	}
	f.printf(")\n")
}

func isFlags(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), "flags")
}

// emitEnums writes each enum with its constants and their names.
func emitEnums(a *api, f *file) {
	for _, t := range a.types {
		if t.kind == kindEnum {
			emitEnum(f, t)
		}
	}
}

func emitEnum(f *file, t *typeDecl) {
	if t.anon {
		f.printf("const (\n")
		for _, v := range t.values {
			f.printf("%s = %d\n", v.name, v.value)
		}
		f.printf(")\n\n")
		return
	}
	under := "uint32"
	if t.signed {
		under = "int32"
	}
	f.printf("// %s is the C enum of that name.\ntype %s %s\n\n", t.name, t.name, under)
	f.printf("// The values of [%s].\nconst (\n", t.name)
	for _, v := range t.values {
		f.printf("%s %s = %s\n", v.name, t.name, number10(v.value))
	}
	f.printf(")\n\n")

	if isFlags(t.name) && !t.signed {
		f.printf("// String returns the names of the bits that are set, joined by |.\n")
		f.printf("func (v %s) String() string { return flagsString(%q, v, %s.name) }\n\n", t.name, t.name, t.name)
	} else {
		f.printf("// String returns the C name of the value.\n")
		f.printf("func (v %s) String() string { return enumString(%q, v, v.name()) }\n\n", t.name, t.name)
	}
	f.printf("func (v %s) name() string {\nswitch v {\n", t.name)
	seen := map[int64]bool{}
	for _, v := range t.values {
		if seen[v.value] {
			continue // another name for the same value; the generator uses only the first name
		}
		seen[v.value] = true
		f.printf("case %s:\nreturn %q\n", v.name, v.name)
	}
	f.printf("}\nreturn \"\"\n}\n\n")
}

func number10(v int64) string {
	if v > 0xffff {
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}

func emitStructs(a *api, f *file) {
	for _, t := range a.types {
		switch t.kind {
		case kindStruct:
			emitStruct(f, t)
		case kindUnion:
			emitUnion(f, t)
		}
	}
}

func emitStruct(f *file, t *typeDecl) {
	if t.nested {
		f.printf("// %s is the struct at %s, which has no name in C.\n", t.name, t.cPath)
	} else {
		f.printf("// %s is the C struct of that name.\n", t.name)
	}
	if t.align > 8 {
		f.printf("//\n// C aligns it to %d bytes, which Go cannot: see New%s.\n", t.align, t.name)
	}
	f.printf("type %s struct {\n", t.name)
	for _, x := range t.fields {
		f.printf("%s %s\n", x.goName, x.goType)
	}
	f.printf("}\n\n")
	for _, x := range t.fields {
		if x.name != "" {
			continue
		}
		if x.embedded.kind != kindUnion {
			panic(t.name + ": a struct without a name")
		}
		for _, m := range x.embedded.fields {
			if m.goName[0] == '_' {
				continue
			}
			f.printf("// %s returns the member %s of the union inside.\n", m.goName, m.name)
			f.printf("func (s *%s) %s() *%s { return s.U.%s() }\n\n", t.name, m.goName, m.goType, m.goName)
		}
	}
}

func emitUnion(f *file, t *typeDecl) {
	if t.nested {
		f.printf("// %s is the union at %s, which has no name in C.\n", t.name, t.cPath)
	} else {
		f.printf("// %s is the C union of that name.\n", t.name)
	}
	f.printf("// Its methods return its members, all of which share its bytes.\n")
	if t.hasPointers() {
		f.printf("//\n// The garbage collector sees no pointers in it: whatever a member points at\n")
		f.printf("// must be kept alive elsewhere.\n")
	}
	elem := map[int64]string{8: "uint64", 4: "uint32", 2: "uint16", 1: "byte"}[t.align]
	f.printf("type %s struct { words [%d]%s }\n\n", t.name, t.size/t.align, elem)
	for _, m := range t.fields {
		if m.goName[0] == '_' {
			continue
		}
		f.printf("// %s returns the member %s.\n", m.goName, m.name)
		f.printf("func (u *%s) %s() *%s { return (*%s)(unsafe.Pointer(u)) }\n\n", t.name, m.goName, m.goType, m.goType)
	}
}

// walk visits each field of a type, including fields of unnamed nested types. visit receives the
// field's path in C, and Go expressions for its offset and size.
func walk(t *typeDecl, prefix, base string, visit func(path, goOffset, goSize string)) {
	for _, x := range t.fields {
		path := strings.TrimPrefix(prefix+"."+x.name, ".")
		if x.name == "" {
			path = prefix
		}
		offset, size := base, fmt.Sprintf("unsafe.Sizeof(*(*%s)(nil))", x.goType)
		if t.kind == kindStruct {
			offset += fmt.Sprintf("+unsafe.Offsetof(%s{}.%s)", t.name, x.goName)
		}
		if x.name != "" {
			visit(path, offset, size)
		}
		if x.embedded != nil {
			walk(x.embedded, path, offset, visit)
		}
	}
}

// emitLayoutTest writes a table of the layouts in Go, which a test compares with the layouts that a
// C compiler reports.
func emitLayoutTest(a *api, f *file) {
	f.printf("var goLayouts = map[string]layout{\n")
	for _, t := range a.types {
		if !t.measurable() {
			continue
		}
		f.printf("%q: {unsafe.Sizeof(*new(%s)), unsafe.Alignof(*new(%s))},\n", t.name, t.name, t.name)
		walk(t, "", "0", func(path, offset, size string) {
			f.printf("%q: {%s, %s},\n", t.name+"."+path, size, strings.TrimPrefix(offset, "0+"))
		})
	}
	f.printf("}\n\nvar goValues = map[string]int64{\n")
	for _, t := range a.types {
		for _, v := range t.values {
			f.printf("%q: int64(%s),\n", v.name, v.name)
		}
	}
	f.printf("}\n\nvar goConstants = map[string]int64{\n")
	for _, c := range a.constants {
		f.printf("%q: int64(%s),\n", c.name, c.name)
	}
	f.printf("}\n")
}
