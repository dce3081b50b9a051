package gen

import (
	"os"
	"path/filepath"
	"slices"
)

// findSource parses the CUDA source of a PTX file, or returns nil if there is none. The
// source has the same name with .cu. It is in the same folder or in the folder of -src.
func (g *generator) findSource(path, base string) (*csource, error) {
	for _, dir := range []string{g.opts.Source, filepath.Dir(path)} {
		if dir == "" {
			continue
		}
		file := filepath.Join(dir, base+".cu")
		if c, err := g.readSource(file); !os.IsNotExist(err) {
			return c, err
		}
	}
	return nil, nil
}

func (g *generator) readSource(file string) (*csource, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseC(file, string(text), g.goName), nil
}

// fromSource copies a kernel's names, types and comment from the CUDA source, and returns
// the directives in the comment.
func (g *generator) fromSource(u *unit, k *kernel) (list []directive, err error) {
	if u.source == nil {
		return nil, nil
	}
	ck := u.source.find(k.name, len(k.params))
	if ck == nil {
		return nil, nil
	}
	doc, list := splitDoc(ck.doc, ck.at)
	if k.doc == "" {
		k.doc = doc
	}
	var errs problems
	_, args := sourceOf(k.name)
	for i, cp := range ck.params {
		if j := slices.Index(ck.template, cp.typ); j >= 0 && j < len(args) {
			cp.typ = args[j]
		}
		errs.add(g.typeParam(u, k.params[i], cp, ck.at))
	}
	return list, errs.err()
}

// typeParam sets the C name of a parameter and the Go form of its C type.
func (g *generator) typeParam(u *unit, p *param, cp cparam, at place) error {
	if cp.name != "" {
		p.name = cp.name
	}
	t, ok := u.source.lookup(cp.typ)
	if cp.stars > 0 || len(cp.dims) > 0 {
		return g.pointTo(u, p, cp, t, ok, at)
	}
	if !ok || canonical(cp.typ) == "long" || canonical(cp.typ) == "long unsigned" {
		return nil // the PTX contains its size
	}
	if t.size != p.Size {
		return at.errorf("parameter %s: a %s has %d bytes as declared here, but the PTX has %s of %d; recompile it, or describe the parameter in a %s comment",
			cp.name, cp.typ, t.size, ptxType(p.Param), p.Size, marker)
	}
	p.typ, p.memory = t.text, false
	return g.useStruct(u, cp.typ)
}

func (g *generator) pointTo(u *unit, p *param, cp cparam, t ctype, ok bool, at place) error {
	if !isAddress(p.Param) {
		return at.errorf("parameter %s is a pointer here, but %s in the PTX", cp.name, ptxType(p.Param))
	}
	p.memory = true
	if cp.konst && cp.stars == 1 {
		p.mode = modeIn
	}
	switch {
	case cp.stars > 1:
		p.typ = addressType
	case ok && cp.typ != "void":
		p.typ = t.text
		return g.useStruct(u, cp.typ)
	}
	return nil
}

// useStruct declares a struct of the source in Go, together with the structs it contains.
func (g *generator) useStruct(u *unit, name string) error {
	st := u.source.structs[name]
	if st == nil {
		return nil
	}
	return g.useStructs(u, st)
}

func (g *generator) useStructs(u *unit, st *cstruct) error {
	for _, used := range st.uses {
		if err := g.useStructs(u, used); err != nil {
			return err
		}
	}
	doc, _ := splitDoc(st.doc, st.at)
	return g.addStruct(u, &structType{name: st.name, doc: doc, body: st.body, size: st.size, at: st.at})
}
