package gen

import (
	"strconv"
	"strings"
)

type csource struct {
	path    string
	naming  func(string) string
	kernels []*ckernel
	types   map[string]ctype // structs and typedefs, by name
	structs map[string]*cstruct
	macros  map[string]int64
}

type ckernel struct {
	name     string
	doc      string
	at       place
	params   []cparam
	template []string // names of the template parameters
}

type cparam struct {
	name  string
	typ   string // C type, without const and *
	stars int
	konst bool // the pointer points to a const type
	dims  []int64
}

// parseC parses a CUDA source and the files it includes by "name". The function naming
// converts names of structs to Go.
func parseC(path, text string, naming func(string) string) *csource {
	s := scanC(path, text)
	c := &csource{path: path, naming: naming, types: map[string]ctype{}, structs: map[string]*cstruct{}, macros: s.macros}
	start := 0
	for i := 0; i < len(s.tokens); i++ {
		switch s.tokens[i].text {
		case ";", "}", "{":
			start = i + 1
		case "struct":
			c.structAt(s.tokens, start, i)
		case "typedef", "using":
			c.typedef(s.tokens, i)
		case "constexpr":
			c.constant(s.tokens, i)
		case "__global__":
			c.kernel(s.tokens, start, i)
		}
	}
	return c
}

// constant parses "constexpr int N = 8;".
func (c *csource) constant(t []ctoken, i int) {
	for j := i; j+2 < len(t) && t[j].text != ";"; j++ {
		if t[j+1].text == "=" {
			if n, err := strconv.ParseInt(strings.Trim(t[j+2].text, "uUlL"), 0, 64); err == nil && j+3 < len(t) && t[j+3].text == ";" {
				c.macros[t[j].text] = n
			}
			return
		}
	}
}

// kernel parses a function whose declaration begins at token start.
func (c *csource) kernel(t []ctoken, start, i int) {
	k := &ckernel{at: place{t[i].file, t[i].line}, doc: t[start].doc, template: templateNames(t[start:i])}
	for i++; i < len(t); i++ {
		switch {
		case t[i].text == "__launch_bounds__":
			i = closing(t, i+1)
		case i+1 < len(t) && t[i+1].text == "(" && t[i].text != "__launch_bounds__":
			k.name = t[i].text
			end := closing(t, i+1)
			if end < len(t) {
				c.parameters(k, t[i+2:end])
				c.add(k)
			}
			return
		case t[i].text == ";" || t[i].text == "{":
			return
		}
	}
}

// templateNames parses "template <typename T, int N>".
func templateNames(t []ctoken) (names []string) {
	if len(t) < 2 || t[0].text != "template" {
		return nil
	}
	depth := 0
	for i, tok := range t[1:] {
		switch tok.text {
		case "<":
			depth++
		case ">", ",":
			if depth == 1 {
				names = append(names, t[i].text)
			}
			if tok.text == ">" {
				depth--
			}
		}
		if depth == 0 {
			break
		}
	}
	return names
}

// add stores a kernel. A comment at its declaration also applies to its definition.
func (c *csource) add(k *ckernel) {
	for _, other := range c.kernels {
		if other.name == k.name && len(other.params) == len(k.params) {
			if k.doc == "" {
				k.doc, k.at = other.doc, other.at
			}
			*other = *k
			return
		}
	}
	c.kernels = append(c.kernels, k)
}

// closing returns the index of the bracket that closes the bracket at i, or len(t) if there is
// none.
func closing(t []ctoken, i int) int {
	for depth := 0; i < len(t); i++ {
		switch t[i].text {
		case "(", "{", "[":
			depth++
		case ")", "}", "]":
			if depth--; depth <= 0 {
				return i
			}
		}
	}
	return i
}

func (c *csource) parameters(k *ckernel, t []ctoken) {
	depth, start := 0, 0
	for i := 0; i <= len(t); i++ {
		switch {
		case i == len(t) || t[i].text == "," && depth == 0:
			if i > start && !(i-start == 1 && t[start].text == "void") {
				k.params = append(k.params, c.declarator(t[start:i]))
			}
			start = i + 1
		case strings.Contains("<([", t[i].text):
			depth++
		case strings.Contains(">)]", t[i].text):
			depth--
		}
	}
}

// ignored contains words that do not affect the layout of a declaration.
var ignored = map[string]bool{
	"__restrict__": true, "__restrict": true, "restrict": true, "volatile": true, "struct": true, "register": true,
	"__grid_constant__": true, "static": true, "inline": true, "typename": true, "constexpr": true,
}

// declarator parses one parameter or field: "const float *__restrict__ x".
func (c *csource) declarator(t []ctoken) (p cparam) {
	var words []string
	for i := 0; i < len(t); i++ {
		switch w := t[i].text; {
		case w == "=":
			i = len(t)
		case w == "const":
			p.konst = p.konst || p.stars == 0
		case w == "*" || w == "&":
			p.stars++
		case w == "[":
			end := closing(t, i)
			p.dims = append(p.dims, c.number(t[i+1:min(end, len(t))]))
			i = end
		case ignored[w]:
		default:
			words = append(words, w)
		}
	}
	if n := len(words); n > 1 && !isCWord(words[n-1]) {
		p.name, words = words[n-1], words[:n-1]
	}
	p.typ = strings.Join(words, " ")
	return p
}

// isCWord reports whether s is a C keyword that is used in the names of built-in types.
func isCWord(s string) bool {
	switch s {
	case "unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "void":
		return true
	}
	return false
}

// number returns the size of an array, or 0 if it is neither a plain number nor a
// constant.
func (c *csource) number(t []ctoken) int64 {
	if len(t) != 1 {
		return 0
	}
	if n, ok := c.macros[t[0].text]; ok {
		return n
	}
	n, _ := strconv.ParseInt(strings.Trim(t[0].text, "uUlL"), 0, 64)
	return n
}

// find returns the source kernel for a name in the PTX and a number of parameters. It returns nil
// if there is none or more than one.
func (c *csource) find(name string, params int) *ckernel {
	var found *ckernel
	plain, _ := sourceOf(name)
	for _, k := range c.kernels {
		if len(k.params) != params {
			continue
		}
		if k.name == name {
			return k
		}
		if k.name == plain {
			if found != nil {
				return nil
			}
			found = k
		}
	}
	return found
}
