package ptx

import (
	"strconv"
	"strings"
)

// block = "{" { statement } "}". The current token is the "{".
func (p *parser) block() *Block {
	b := p.blocks.get()
	b.Pos = p.pos()
	defer p.leave()
	if !p.enter() {
		return b
	}
	p.next()
	stack, names := len(p.stmtStack), p.names.mark()
	for !p.at('}') && !p.unwind {
		if p.at(tokEOF) {
			p.expected(`"}" for the "{" of line ` + strconv.Itoa(int(b.Pos.Line)))
			break
		}
		start := p.tok.start
		p.statement()
		if p.failed && !p.recoverStatement(start) {
			break
		}
	}
	b.Stmts = p.stmts.copyOf(p.stmtStack[stack:])
	p.stmtStack = p.stmtStack[:stack]
	p.names.reset(names)
	b.End = p.pos()
	p.accept('}')
	return b
}

func (p *parser) push(s Stmt) { p.stmtStack = append(p.stmtStack, s) }

func (p *parser) statement() {
	switch p.tok.kind {
	case tokIdent:
		if p.atLabel() {
			p.label()
			return
		}
		p.instruction(Guard{})
	case '@':
		if p.off < len(p.src) && p.src[p.off] == '@' {
			p.push(p.dwarfLine())
			return
		}
		p.guarded()
	case tokDot:
		p.directive()
	case '{':
		p.push(p.block())
	case ';':
		p.next()
	default:
		p.expected(`an instruction, a label, a directive or "}"`)
	}
}

// atLabel reports whether a colon follows the current identifier.
func (p *parser) atLabel() bool {
	i := p.off
	if i == len(p.src) || p.src[i] == '.' {
		return false
	}
	if p.src[i] == ':' {
		return i+1 == len(p.src) || p.src[i+1] != ':'
	}
	return p.peek() == ':'
}

// label = name ":" [ .branchtargets ... | .calltargets ... | .callprototype ... ].
func (p *parser) label() {
	pos, name := p.pos(), p.text()
	p.next()
	p.expect(':', `":"`)
	if p.at(tokDot) {
		switch p.word() {
		case "branchtargets":
			p.push(&BranchTargets{Pos: pos, Label: name, Targets: p.targets("a label", true)})
			return
		case "calltargets":
			p.push(&CallTargets{Pos: pos, Label: name, Targets: p.targets("a function's name", false)})
			return
		case "callprototype":
			p.push(p.prototype(pos, name))
			return
		}
	}
	l := p.labels.get()
	l.Pos, l.Name = pos, name
	p.push(l)
}

// targets = name {, name} ;
//
// A label can be name<n>, which means name0, name1 ...
func (p *parser) targets(what string, ranges bool) []string {
	p.next()
	var out []string
	for more := true; more; more = p.accept(',') {
		name := p.ident(what)
		if ranges && p.at('<') {
			out = p.labelRange(out, name)
			continue
		}
		out = append(out, name)
	}
	p.expect(';', `"," or ";"`)
	return out
}

// labelRange appends prefix0, prefix1 ... A label takes at least two bytes of source, so more
// labels than half the bytes of the source are an error. Without this limit, a few bytes could create
// millions of names.
func (p *parser) labelRange(out []string, prefix string) []string {
	p.next()
	n := p.smallNumber("how many labels")
	if p.ranged += n; !p.failed && (n == 0 || p.ranged > len(p.src)/2) {
		p.fail("an empty range of labels, or more labels than the text can define")
	}
	p.expect('>', `">"`)
	if p.failed {
		return out
	}
	for i := range n {
		out = append(out, prefix+strconv.Itoa(i))
	}
	return out
}

// prototype = [(return)] _ [(parameters)] { performance } ;
func (p *parser) prototype(pos Pos, label string) *CallPrototype {
	c := &CallPrototype{Pos: pos, Label: label}
	mark := p.names.mark() // names in the prototype are not in scope outside it
	defer p.names.reset(mark)
	p.next()
	if p.at('(') {
		c.Return = p.parameters()
	}
	p.ident(`"_"`)
	if p.at('(') {
		c.Params = p.parameters()
	}
	p.performance(&c.Perf)
	p.expect(';', `";"`)
	return c
}

func (p *parser) directive() {
	switch p.word() {
	case "loc", "loc_intermediate":
		p.push(p.loc())
		return
	case "pragma":
		p.push(p.pragma())
		return
	case "file":
		p.push(p.file())
		return
	case "section":
		p.push(p.section())
		return
	case "branchtargets", "calltargets", "callprototype":
		p.fail(p.text() + " needs a label before it")
		return
	}
	if p.startsDeclaration() {
		p.missingBrace()
		return
	}
	pos := p.pos()
	linkage := p.linkage()
	switch {
	case p.atSpace():
		p.variableList(Variable{Pos: pos, Linkage: linkage})
	case linkage != NoLinkage:
		p.expected("a state space")
	default:
		p.fail("unknown directive " + p.text())
	}
}

// missingBrace ends all open bodies, because the next directive belongs to the module.
func (p *parser) missingBrace() {
	p.expected(`"}" before ` + p.text())
	if p.recovering() {
		p.unwind = true
	}
}

// guarded = "@" ["!"] register instruction.
func (p *parser) guarded() {
	g := Guard{Pos: p.pos()}
	p.next()
	g.Not = p.accept('!')
	g.Reg = p.ident("a predicate register")
	if !p.at(tokIdent) {
		p.expected("an instruction after the predicate")
		return
	}
	p.instruction(g)
}

// instruction = opcode [operand {, operand}] ;
func (p *parser) instruction(g Guard) {
	in := p.instrs.get()
	in.Pos = p.pos()
	in.Guard = g
	in.Op = p.opcode()
	if p.at('}') || p.at(tokEOF) {
		p.expected(`an operand or ";"`)
	}
	call := in.Op != nil && in.Op.Name == "call"
	p.args.begin()
	for more := !p.at(';'); more; more = p.accept(',') {
		p.args.push(p.operand(call))
	}
	p.expect(';', `"," or ";"`)
	in.Args = p.args.end()
	if !p.failed {
		p.push(in)
	}
}

// opcode = name { .modifier }. Spaces before a modifier are allowed.
func (p *parser) opcode() *Opcode {
	start, at := p.tok.start, p.pos()
	end := p.tok.end
	src := p.src
	for end < len(src) {
		if inIdent[src[end]] || src[end] == '.' {
			end++
		} else if src[end] == ':' && end+1 < len(src) && src[end+1] == ':' {
			end += 2
		} else {
			break
		}
	}
	text := src[start:end]
	p.off = end
	p.scan()
	if p.at(tokDot) {
		text = p.spaced(text)
	}
	if op := p.opcodes[text]; op != nil {
		return op
	}
	op, ok := NewOpcode(text)
	if !ok {
		p.report(Error{Problem: "malformed instruction name " + strconv.Quote(text)}, start, at)
		return nil
	}
	p.opcodes[text] = op
	return op
}

// spaced returns the instruction name that begins with text and continues with the modifiers at the
// current token. White space may precede each modifier.
func (p *parser) spaced(text string) string {
	parts := []string{text}
	for p.at(tokDot) {
		parts = append(parts, p.text())
		p.scan()
	}
	return strings.Join(parts, "")
}

// recoverStatement skips to the next possible start of a statement. It returns false if
// the block cannot continue.
func (p *parser) recoverStatement(start int) bool {
	if !p.recovering() {
		return false
	}
	for depth := 0; !p.at(tokEOF); p.next() {
		if p.tok.start != start && p.startsStatement() {
			return true
		}
		switch {
		case p.at('{'):
			depth++
		case p.at(';'):
			p.next()
			return true
		case p.at('}') && depth > 0:
			depth--
		case p.at('}') && !strings.ContainsRune(",;|)]}", rune(p.peek())):
			return true
		}
	}
	return true // the caller reports the missing brace
}

// startsStatement guesses whether the current token starts a statement. The token must be
// the first on its line and have a suitable kind.
func (p *parser) startsStatement() bool {
	switch p.tok.kind {
	case tokDot, '@', '{':
		return startsLine(p.src, p.tok.start)
	case '}':
		return startsLine(p.src, p.tok.start) && p.peek() != ',' && p.peek() != ';'
	case tokIdent:
		if p.src[p.tok.start] == '%' || p.off == len(p.src) {
			return false
		}
		return (p.src[p.off] == '.' || p.atLabel()) && startsLine(p.src, p.tok.start)
	}
	return false
}
