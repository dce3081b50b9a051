package gen

import (
	"fmt"
	"sort"
	"strings"
)

// ctype is the Go form of a C type.
type ctype struct {
	text        string // the Go type
	size, align int
}

// ctypes contains the built-in types of C and CUDA. long has the size that it has on Linux: see
// scalar.
var ctypes = map[string]ctype{
	"float": {"float32", 4, 4}, "double": {"float64", 8, 8}, "bool": {"bool", 1, 1},
	"char": {"int8", 1, 1}, "char signed": {"int8", 1, 1}, "char unsigned": {"uint8", 1, 1},
	"int8_t": {"int8", 1, 1}, "uint8_t": {"uint8", 1, 1}, "int16_t": {"int16", 2, 2}, "uint16_t": {"uint16", 2, 2},
	"int32_t": {"int32", 4, 4}, "uint32_t": {"uint32", 4, 4}, "int64_t": {"int64", 8, 8}, "uint64_t": {"uint64", 8, 8},
	"short": {"int16", 2, 2}, "short unsigned": {"uint16", 2, 2}, "int": {"int32", 4, 4}, "unsigned": {"uint32", 4, 4},
	"long": {"int64", 8, 8}, "long unsigned": {"uint64", 8, 8},
	"uchar": {"uint8", 1, 1}, "ushort": {"uint16", 2, 2}, "uint": {"uint32", 4, 4}, "ulong": {"uint64", 8, 8},
	"size_t": {"uint64", 8, 8}, "ptrdiff_t": {"int64", 8, 8}, "uintptr_t": {"uint64", 8, 8}, "intptr_t": {"int64", 8, 8},
	"half": {f16Type, 2, 2}, "__half": {f16Type, 2, 2}, "__nv_bfloat16": {bf16Type, 2, 2}, "nv_bfloat16": {bf16Type, 2, 2},
	"half2": {"[2]" + f16Type, 4, 4}, "__half2": {"[2]" + f16Type, 4, 4}, "__nv_bfloat162": {"[2]" + bf16Type, 4, 4}, "nv_bfloat162": {"[2]" + bf16Type, 4, 4},
	"__nv_fp8_e4m3": {e4m3Type, 1, 1}, "__nv_fp8_e5m2": {e5m2Type, 1, 1}, "dim3": {"[3]uint32", 12, 4},
	"CUdeviceptr": {"uint64", 8, 8}, "cudaTextureObject_t": {"uint64", 8, 8}, "cudaSurfaceObject_t": {"uint64", 8, 8},
	"cudaGraphConditionalHandle": {"uint64", 8, 8}, "CUgraphConditionalHandle": {"uint64", 8, 8},
}

func init() {
	for name, elem := range map[string]ctype{
		"char": {"int8", 1, 1}, "uchar": {"uint8", 1, 1}, "short": {"int16", 2, 2}, "ushort": {"uint16", 2, 2},
		"int": {"int32", 4, 4}, "uint": {"uint32", 4, 4}, "longlong": {"int64", 8, 8}, "ulonglong": {"uint64", 8, 8},
		"float": {"float32", 4, 4}, "double": {"float64", 8, 8},
	} {
		for n := 1; n <= 4; n++ {
			v := ctype{fmt.Sprintf("[%d]%s", n, elem.text), n * elem.size, elem.size}
			if n != 3 {
				v.align = min(n*elem.size, 16)
			}
			ctypes[fmt.Sprint(name, n)] = v
		}
	}
}

func (c *csource) lookup(name string) (ctype, bool) {
	name = strings.TrimPrefix(name, "std : : ")
	if t, ok := c.types[name]; ok {
		return t, true
	}
	if t, ok := ctypes[canonical(name)]; ok {
		return t, true
	}
	size, ok := basic[name] // a template argument is already a Go type
	if !ok {
		return ctype{}, false
	}
	return ctype{name, size, min(size, 8)}, true
}

// canonical sorts the words of an integer type: "unsigned long long int" becomes "long
// unsigned".
func canonical(name string) string {
	words := strings.Fields(name)
	if len(words) < 2 {
		if name == "signed" {
			return "int"
		}
		return name
	}
	sort.Strings(words)
	var out []string
	for i, w := range words {
		switch {
		case w == "int" || w == "signed" && words[0] != "char" || w == "long" && i > 0 && words[i-1] == "long":
		default:
			out = append(out, w)
		}
	}
	if len(out) == 0 {
		return "int"
	}
	return strings.Join(out, " ")
}

// typedef parses "typedef unsigned int u32;" and "using u32 = unsigned int;".
func (c *csource) typedef(t []ctoken, i int) {
	end := i
	for end < len(t) && t[end].text != ";" {
		if t[end].text == "{" || t[end].text == "(" {
			return
		}
		end++
	}
	if end-i < 3 || end == len(t) {
		return
	}
	name, of := t[end-1].text, t[i+1:end-1]
	if t[i].text == "using" {
		if t[i+2].text != "=" {
			return
		}
		name, of = t[i+1].text, t[i+3:end]
	}
	p := c.declarator(append(append([]ctoken{}, of...), ctoken{text: "x"}))
	if ct, ok := c.lookup(p.typ); ok && p.stars == 0 {
		c.types[name] = ct
		if st := c.structs[p.typ]; st != nil {
			c.structs[name] = st
		}
	}
}
