package main

// layoutProgram returns a C program that includes the real headers and prints these lines:
//
//	type NAME size align
//	field NAME.path size offset
//	value NAME number
//	constant NAME number
func layoutProgram(a *api) []byte {
	f := &file{}
	f.printf("#include <stddef.h>\n#include <stdio.h>\n#include <cuda.h>\n#include <cudaProfiler.h>\n\n")
	f.printf("#define TYPE(t) printf(\"type %%s %%zu %%zu\\n\", #t, sizeof(t), _Alignof(t));\n")
	f.printf("#define FIELD(t, f) printf(\"field %%s.%%s %%zu %%zu\\n\", #t, #f, sizeof(((t *)0)->f), offsetof(t, f));\n")
	f.printf("#define VALUE(v) printf(\"value %%s %%lld\\n\", #v, (long long)v);\n")
	f.printf("static void constant(const char *name, long long n) { printf(\"constant %%s %%lld\\n\", name, n); }\n\n")
	f.printf("int main(void)\n{\n")
	for _, t := range a.types {
		if !t.measurable() {
			continue
		}
		f.printf("TYPE(%s)\n", t.name)
		walk(t, "", "", func(path, _, _ string) { f.printf("FIELD(%s, %s)\n", t.name, path) })
	}
	for _, t := range a.types {
		for _, v := range t.values {
			f.printf("VALUE(%s)\n", v.name)
		}
	}
	for _, c := range a.constants {
		f.printf("constant(%q, (long long)%s);\n", c.name, c.name)
	}
	f.printf("return 0;\n}\n")
	return f.Bytes()
}

// measurable reports whether t has a name in C.
func (t *typeDecl) measurable() bool { return !t.nested && !t.anon }
