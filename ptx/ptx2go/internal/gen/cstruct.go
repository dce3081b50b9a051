package gen

import (
	"fmt"
	"strings"
)

// cstruct is a struct of a CUDA source in Go form, with explicit padding.
type cstruct struct {
	name   string // name of the Go type
	body   string
	doc    string
	size   int
	align  int
	fields int
	uses   []*cstruct
	at     place
}

// structAt parses "struct Name { fields };" or "typedef struct { fields } Name;". It does
// not add the type if the struct has unsupported parts, such as methods, unions or bit
// fields.
func (c *csource) structAt(t []ctoken, start, i int) {
	open := i + 1
	for open < len(t) && t[open].text != "{" {
		switch t[open].text {
		case "(":
			if w := t[open-1].text; w != "alignas" && w != "__align__" {
				return
			}
			open = closing(t, open)
		case ";", ")", ":", ",", "*":
			return
		}
		open++
	}
	end := closing(t, open)
	if end >= len(t)-1 {
		return
	}
	name := t[open-1].text
	if t[end+1].text != ";" {
		name = t[end+1].text
	}
	st := &cstruct{name: c.naming(name), doc: t[start].doc, align: 1, at: place{t[i].file, t[i].line}}
	if n := alignas(t[i:open]); n > 0 {
		st.align = n
	}
	if c.fields(st, t[open+1:end]) {
		st.end()
		c.types[name] = ctype{st.name, st.size, st.align}
		c.structs[name] = st
	}
}

// alignas returns n if the tokens contain "__align__(n)" or "alignas(n)".
func alignas(t []ctoken) int {
	for i := range t {
		if (t[i].text == "__align__" || t[i].text == "alignas") && i+2 < len(t) {
			n := 0
			_, _ = fmt.Sscan(t[i+2].text, &n)
			return n
		}
	}
	return 0
}

func (c *csource) fields(st *cstruct, t []ctoken) bool {
	for len(t) > 0 {
		n := 0
		for n < len(t) && t[n].text != ";" {
			switch t[n].text {
			case "(", "{", ":", "union", "operator", "public", "private":
				return false
			}
			n++
		}
		if n == len(t) || !c.fieldList(st, t[:n]) {
			return false
		}
		t = t[n+1:]
	}
	return st.fields > 0
}

// fieldList parses "float x, y, z[4]".
func (c *csource) fieldList(st *cstruct, t []ctoken) bool {
	var k ckernel
	c.parameters(&k, t)
	for i, f := range k.params {
		if i > 0 { // the type is written only once; the name and its modifiers remain
			f.name, f.typ = strings.TrimSpace(f.typ+f.name), k.params[0].typ
		}
		if f.name == "" || !c.field(st, f) {
			return false
		}
	}
	return true
}

func (c *csource) field(st *cstruct, f cparam) bool {
	t, ok := c.lookup(f.typ)
	if f.stars > 0 {
		t, ok = ctype{addressType, 8, 8}, true
	}
	if !ok {
		return false
	}
	if used := c.structs[f.typ]; used != nil && f.stars == 0 {
		st.uses = append(st.uses, used)
	}
	for i := len(f.dims) - 1; i >= 0; i-- {
		if f.dims[i] < 1 || f.dims[i] > 1<<16 {
			return false
		}
		t.text, t.size = fmt.Sprintf("[%d]%s", f.dims[i], t.text), t.size*int(f.dims[i])
	}
	st.pad(t.align)
	st.body += fmt.Sprintf("\t%s %s\n", exported(f.name), t.text)
	st.size += t.size
	st.align = max(st.align, t.align)
	st.fields++
	return true
}

// pad adds explicit padding before a field, because C aligns some types more strictly
// than Go.
func (st *cstruct) pad(align int) {
	if gap := (align - st.size%align) % align; gap > 0 {
		st.body += fmt.Sprintf("\t_ [%d]byte\n", gap)
		st.size += gap
	}
}

func (st *cstruct) end() { st.pad(st.align) }
