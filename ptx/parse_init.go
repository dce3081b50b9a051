package ptx

import (
	"math/bits"
	"strings"
)

// initialiser = { initialiser {, initialiser} } | [field =] value.
func (p *parser) initialiser() Init {
	pos := p.pos()
	if p.at('{') {
		return Init{Pos: pos, List: true, Elems: p.initList()}
	}
	in := Init{Pos: pos, Value: p.initValue()}
	if s, ok := in.Value.(*Sym); ok && p.accept('=') {
		in.Field = s.Name
		in.Value = p.initValue()
	}
	return in
}

func (p *parser) initList() []Init {
	defer p.leave()
	if !p.enter() {
		return nil
	}
	var list []Init
	if n := p.commas(); n > 0 {
		list = make([]Init, 0, n+1)
	}
	p.next()
	for more := !p.at('}'); more; more = p.accept(',') {
		list = append(list, p.initialiser())
	}
	p.expect('}', `"," or "}"`)
	return list
}

// commas counts the commas up to the next brace, so that the caller can preallocate a list. For
// long data tables, growing the lists used to take most of the time.
func (p *parser) commas() int {
	rest := p.src[p.off:]
	if i := strings.IndexAny(rest, "{}"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Count(rest, ",")
}

// initValue = constant | address | mask ( address | constant ).
func (p *parser) initValue() Operand {
	if p.at(tokIdent) && p.text() != warpSize {
		return p.initAddress()
	}
	imm := p.immediate()
	if !p.at('(') {
		return imm
	}
	if imm.IsFloat() || imm.Bits == 0 {
		p.fail("a mask must be an integer such as 0xff")
		return imm
	}
	p.next()
	if p.startsConstant() {
		return p.maskedConstant(imm)
	}
	s := p.initAddress()
	s.Mask = imm.Bits
	s.Pos = imm.Pos
	p.expect(')', `")"`)
	return s
}

// maskedConstant folds mask(constant): it extracts the masked bits and shifts them down
// to bit 0.
func (p *parser) maskedConstant(mask *Imm) *Imm {
	v := uint64(p.integer("an address or an integer"))
	p.expect(')', `")"`)
	mask.Kind, mask.Bits = ImmInt, v&mask.Bits>>bits.TrailingZeros64(mask.Bits)
	return mask
}

// initAddress = ( name | generic ( name [+ n] ) ) [+ n].
func (p *parser) initAddress() *Sym {
	s := p.syms.get()
	s.Pos = p.pos()
	s.Name = p.ident("a variable's or function's name")
	if s.Name == "generic" && p.accept('(') {
		s.Generic = true
		s.Name = p.ident("a variable's name")
		s.Offset = p.offset()
		p.expect(')', `")"`)
	}
	s.Offset += p.offset()
	return s
}
