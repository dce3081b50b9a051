package ptx

// warpSize is the predefined constant for the warp size.
const warpSize = "WARP_SZ"

// operand = simple [ "|" simple ]. In a call, "(" opens a list.
func (p *parser) operand(call bool) Operand {
	x := p.simple(call)
	if !p.at('|') {
		return x
	}
	pair := p.pairs.get()
	pair.Pos = x.Position()
	pair.A = x
	p.next()
	pair.B = p.simple(false)
	return pair
}

func (p *parser) simple(call bool) Operand {
	switch p.tok.kind {
	case tokIdent:
		return p.name()
	case '[':
		return p.address()
	case '{':
		return p.vector()
	case '(':
		if call {
			return p.list()
		}
	case '!', '-':
		if c := p.peek(); c == '%' || class[c] == clIdent {
			return p.negated()
		}
	case tokNumber, '+', '~':
	default:
		p.expected("an operand")
		return &Sink{}
	}
	return p.immediate()
}

// name = "_" | register [.selector] [+ n] | symbol [+ n] | array [index] | WARP_SZ.
func (p *parser) name() Operand {
	s := p.text()
	if s == "_" {
		n := p.sinks.get()
		n.Pos = p.pos()
		p.scan()
		return n
	}
	if p.names.isRegister(s) {
		r := p.register()
		if p.at('+') || p.at('-') {
			return p.regSum(r)
		}
		return r
	}
	if s == warpSize {
		return p.immediate()
	}
	pos := p.pos()
	p.scan()
	if p.at('[') {
		return p.element(pos, s)
	}
	n := p.syms.get()
	n.Pos, n.Name = pos, s
	if p.at('+') || p.at('-') {
		n.Offset = p.offset()
	}
	return n
}

// register parses a register and its selector at the current identifier.
func (p *parser) register() *Reg {
	n := p.regs.get()
	n.Pos, n.Name = p.pos(), p.text()
	n.Special = isSpecial(n.Name)
	n.Sel = p.attached()
	p.scan()
	return n
}

// regSum parses an optional constant that is added to r.
func (p *parser) regSum(r *Reg) Operand {
	offset := p.offset()
	if offset == 0 {
		return r
	}
	n := p.sums.get()
	n.Pos, n.Reg, n.Offset = r.Pos, r, offset
	return n
}

// attached returns the dotted suffix that immediately follows the current token, and
// extends the token over it. It returns "" if there is none.
func (p *parser) attached() string {
	if p.off == len(p.src) || p.src[p.off] != '.' {
		return ""
	}
	start := p.off + 1
	end := endOfModifier(p.src, start)
	if end > start { // if nothing follows the dot, the dot is a separate error
		p.off = end
	}
	return p.src[start:end]
}

// negated = ( "!" | "-" ) register. -WARP_SZ is a number.
func (p *parser) negated() Operand {
	pos, op := p.pos(), p.tok.kind
	p.scan()
	if p.text() == warpSize {
		v := p.unaryOn(op, p.unary())
		return p.newImm(pos, p.exprFrom(v, lowest))
	}
	if !p.at(tokIdent) || !p.names.isRegister(p.text()) {
		p.expected("a register or a number")
		return &Sink{}
	}
	n := p.register()
	n.Pos = pos
	n.Not, n.Neg = op == '!', op == '-'
	return n
}

// vector = "{" operand {, operand} "}".
func (p *parser) vector() *Vec {
	n := p.vecs.get()
	n.Pos = p.pos()
	n.Elems = p.elements('}', `"," or "}"`)
	return n
}

// list = "(" [operand {, operand}] ")".
func (p *parser) list() *List {
	n := p.lists.get()
	n.Pos = p.pos()
	n.Elems = p.elements(')', `"," or ")"`)
	return n
}

// elements parses operands from the current opening token to the closing token.
func (p *parser) elements(end tokenKind, what string) []Operand {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	p.next()
	mark := len(p.argStack)
	for more := !p.at(end); more; more = p.accept(',') {
		p.argStack = append(p.argStack, p.operand(false))
	}
	p.expect(end, what)
	out := p.elems.copyOf(p.argStack[mark:])
	p.argStack = p.argStack[:mark]
	return out
}

// address = "[" ( register | symbol | constant ) {+ n} {, operand} "]" [.suffix].
func (p *parser) address() *Addr {
	n := p.addrs.get()
	n.Pos = p.pos()
	p.next()
	switch {
	case !p.at(tokIdent) || p.text() == warpSize:
		n.Offset = p.integer("an address")
	case p.names.isRegister(p.text()):
		n.Base = p.register()
		n.Offset = p.offset()
	default:
		s := p.syms.get()
		s.Pos, s.Name = p.pos(), p.text()
		p.scan()
		n.Base = s
		n.Offset = p.offset()
	}
	if p.at(',') {
		n.Rest = p.addressRest()
	}
	if !p.at(']') {
		p.expected(`"+", "," or "]"`)
		return n
	}
	n.Suffix = p.attached()
	p.scan()
	return n
}

// addressRest = {, operand}.
func (p *parser) addressRest() []Operand {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	mark := len(p.argStack)
	for p.accept(',') {
		p.argStack = append(p.argStack, p.operand(false))
	}
	out := p.elems.copyOf(p.argStack[mark:])
	p.argStack = p.argStack[:mark]
	return out
}

// element = array "[" ( register {+ n} | constant ) "]". The current token is the "[".
func (p *parser) element(pos Pos, array string) *Elem {
	n := p.arrays.get()
	n.Pos, n.Name = pos, array
	p.next()
	if p.at(tokIdent) && p.names.isRegister(p.text()) {
		n.Index = p.register()
		n.Offset = p.offset()
	} else {
		n.Offset = p.integer("an index")
	}
	p.expect(']', `"]"`)
	return n
}

// offset = { ( "+" | "-" ) term }: the constant added to a name, or 0.
func (p *parser) offset() int64 {
	var sum int64
	for {
		switch {
		case p.accept('+'):
			sum += p.offsetTerm()
		case p.accept('-'):
			sum -= p.offsetTerm()
		default:
			return sum
		}
	}
}

func (p *parser) offsetTerm() int64 {
	if p.at(tokNumber) && p.off < len(p.src) && p.src[p.off] == ']' { // fast path for the usual form [%rd1+8]
		if v, ok := parseNumber(p.text()); ok && v.Kind < ImmF32 {
			p.scan()
			return int64(v.Bits)
		}
	}
	return p.integerOf(p.exprFrom(p.unary(), precProduct), "an offset")
}

// integer parses a constant expression that must be an integer.
func (p *parser) integer(what string) int64 {
	if !p.startsConstant() {
		p.expected(what)
		return 0
	}
	return p.integerOf(p.expression(), what)
}

func (p *parser) integerOf(v value, what string) int64 {
	if v.Kind >= ImmF32 {
		p.fail(what + " must be an integer")
	}
	return int64(v.Bits)
}

func (p *parser) immediate() *Imm {
	pos := p.pos()
	if p.at(tokNumber) && p.off < len(p.src) && (p.src[p.off] == ';' || p.src[p.off] == ',') {
		if v, ok := parseNumber(p.text()); ok { // fast path, because the expression is nearly always a plain number
			p.scan()
			return p.newImm(pos, v)
		}
	}
	return p.newImm(pos, p.expression())
}

func (p *parser) newImm(pos Pos, v value) *Imm {
	n := p.imms.get()
	n.Pos, n.Kind, n.Bits = pos, v.Kind, v.Bits
	return n
}
