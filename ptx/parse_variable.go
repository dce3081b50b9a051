package ptx

// atSpace reports whether the current token is a state space that can start a
// declaration.
func (p *parser) atSpace() bool {
	if p.tok.kind != tokDot {
		return false
	}
	s, ok := ParseSpace(p.word())
	return ok && s != SRegSpace
}

// variableList = qualifiers name [= init] {, name [= init]} ;
//
// Each name becomes a node in the current body or in the module.
func (p *parser) variableList(head Variable) {
	p.qualifiers(&head, false)
	for !p.failed {
		v := head
		v.Pos = p.pos()
		p.declarator(&v)
		if p.accept('=') {
			in := p.initialiser()
			v.Init = &in
		}
		if p.failed {
			return
		}
		p.finish(&v)
		head.Doc = ""
		if !p.accept(',') {
			break
		}
	}
	p.expect(';', `"," or ";"`)
}

func (p *parser) finish(v *Variable) {
	if v.Space != RegSpace {
		p.names.declare(v.Name, variable, v.Count)
		n := p.vars.get()
		*n = *v
		p.emit(n)
		return
	}
	if v.Init != nil || len(v.Dims) > 0 {
		p.fail("a register cannot be an array or have an initialiser")
		return
	}
	p.names.declare(v.Name, register, v.Count)
	r := p.regDecls.get()
	*r = RegDecl{Pos: v.Pos, Type: v.Type, Vector: v.Vector, Align: v.Align, Name: v.Name, Count: v.Count}
	p.emit(r)
}

// emit adds a node to the current body, or to the module outside of bodies.
func (p *parser) emit(n interface {
	Decl
	Stmt
}) {
	if p.depth > 0 {
		p.push(n)
	} else {
		p.declare(n)
	}
}

// parameters = ( [ parameter {, parameter} ] ).
func (p *parser) parameters() []*Variable {
	p.expect('(', `"("`)
	if p.accept(')') {
		return nil
	}
	p.params.begin()
	for !p.failed {
		v := p.vars.get()
		v.Pos = p.pos()
		if !p.atWord("param") && !p.atWord("reg") {
			p.expected(`.param, .reg or ")"`)
			break
		}
		p.qualifiers(v, true)
		v.Pos = p.pos()
		p.declarator(v)
		kind := variable
		if v.Space == RegSpace {
			kind = register
		}
		p.names.declare(v.Name, kind, v.Count)
		p.params.push(v)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')', `"," or ")"`)
	return p.params.end()
}

// qualifiers = space { .align n | .v2 | .attribute(...) | .ptr [.space] [.align n] | type }.
func (p *parser) qualifiers(v *Variable, param bool) {
	v.Space, _ = ParseSpace(p.word())
	p.next()
	if v.Space == ConstSpace && p.accept('[') {
		v.Bank = p.smallNumber("the bank's number")
		p.expect(']', `"]"`)
	}
	for p.at(tokDot) {
		p.qualifier(v, param)
	}
	if v.Type == NoType {
		p.expected("a type such as .b32")
	}
}

func (p *parser) qualifier(v *Variable, param bool) {
	word := p.word()
	switch word {
	case "align":
		p.next()
		align := &v.Align
		if v.Ptr != nil {
			align = &v.Ptr.Align
		}
		*align = p.alignment()
		return
	case "v2", "v4", "v8":
		v.Vector = int(word[1] - '0')
	case "attribute":
		v.Attributes = append(v.Attributes, p.attributes()...)
		return
	case "ptr":
		if !param {
			p.fail(".ptr is for kernel parameters")
			return
		}
		v.Ptr = p.ptrs.get()
	default:
		p.typeOrSpace(v, word)
	}
	p.next()
}

func (p *parser) typeOrSpace(v *Variable, word string) {
	if s, ok := ParseSpace(word); ok && v.Ptr != nil {
		v.Ptr.Space = s
		return
	}
	t := ParseType(word)
	switch {
	case t == NoType:
		p.expected("a type such as .b32, .align or .v4")
	case v.Type != NoType:
		p.expected("a name: the type is ." + v.Type.String() + " already")
	}
	v.Type = t
}

func (p *parser) alignment() int {
	if p.at(tokNumber) {
		if v, ok := parseNumber(p.text()); ok && (v.Bits == 0 || v.Bits&(v.Bits-1) != 0) {
			p.fail("alignment must be a power of two")
			return 0
		}
	}
	return p.smallNumber("an alignment in bytes")
}

// attributes = .attribute ( .name [(n {, n})] {, ...} ).
func (p *parser) attributes() []Attribute {
	p.next()
	p.expect('(', `"("`)
	var out []Attribute
	for !p.failed {
		if !p.at(tokDot) {
			p.expected("an attribute such as .managed")
			return out
		}
		a := Attribute{Name: p.word()}
		p.next()
		if p.accept('(') {
			a.Args = p.numbers()
			p.expect(')', `"," or ")"`)
		}
		out = append(out, a)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')', `"," or ")"`)
	return out
}

// numbers = n {, n}.
func (p *parser) numbers() []uint64 {
	p.sizes.begin()
	for more := true; more; more = p.accept(',') {
		p.sizes.push(p.plainNumber("a number"))
	}
	return p.sizes.end()
}

// declarator = name [<count>] { [size] }.
func (p *parser) declarator(v *Variable) {
	v.Name = p.ident("a name")
	if p.accept('<') {
		if v.Count = p.smallNumber("how many registers"); v.Count == 0 {
			p.fail("an empty range of registers")
		}
		p.expect('>', `">"`)
	}
	p.dims.begin()
	for elements := int64(1); p.accept('['); {
		d := p.dimension(p.dims.open == p.dims.used)
		p.dims.push(d)
		if d > 0 && elements > maxElements/d {
			p.fail("array is too large")
		}
		elements *= max(d, 1)
		p.expect(']', `"]"`)
	}
	v.Dims = p.dims.end()
}

// maxElements limits the size of an array, so that computed sizes do not overflow.
const maxElements = 1 << 40

func (p *parser) dimension(first bool) int64 {
	if p.at(']') && first {
		return Unsized
	}
	n := p.integer("the array's size")
	if n < 0 || n > maxElements {
		p.fail("array size is out of range")
		return 0
	}
	return n
}
