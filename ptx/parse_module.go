package ptx

import "strconv"

// module = header { declaration }.
func (p *parser) module() *Module {
	m := &Module{Name: p.path, Source: p.src}
	p.mod = m
	p.header()
	for !p.at(tokEOF) {
		start := p.tok.start
		p.declaration()
		if p.failed || p.unwind {
			p.recoverModule(start)
		}
	}
	return m
}

// header = .version major.minor  .target name {, name}  [.address_size n].
func (p *parser) header() {
	if !p.atWord("version") {
		p.expected(`".version" (a module starts with .version and .target)`)
	} else {
		p.versionDirective()
		if !p.failed && !p.atWord("target") {
			p.expected(`".target" after .version`)
		}
	}
	if p.failed {
		p.recoverModule(-1)
	}
}

func (p *parser) versionDirective() {
	p.next()
	v, ok := parseVersion(p.text())
	if !p.at(tokNumber) || !ok {
		p.expected("a version number such as 8.0")
		return
	}
	p.next()
	p.mod.Version = v
}

func parseVersion(s string) (Version, bool) {
	for i := range len(s) {
		if s[i] != '.' {
			continue
		}
		major, err1 := strconv.ParseUint(s[:i], 10, 16)
		minor, err2 := strconv.ParseUint(s[i+1:], 10, 16)
		return Version{int(major), int(minor)}, err1 == nil && err2 == nil
	}
	return Version{}, false
}

func (p *parser) targetDirective() {
	p.next()
	for {
		if !p.at(tokIdent) {
			p.expected("a target such as sm_80")
			return
		}
		p.mod.Targets = append(p.mod.Targets, p.text())
		p.next()
		if !p.accept(',') {
			return
		}
	}
}

func (p *parser) addressSizeDirective() {
	p.next()
	if s := p.text(); !p.at(tokNumber) || s != "32" && s != "64" {
		p.expected("32 or 64")
		return
	}
	p.mod.AddressSize = 64
	if p.text() == "32" {
		p.mod.AddressSize = 32
	}
	p.next()
}

func (p *parser) declaration() {
	if p.accept(';') { // a stray semicolon, which is harmless
		return
	}
	if p.at('@') && p.off < len(p.src) && p.src[p.off] == '@' {
		p.declare(p.dwarfLine())
		return
	}
	if !p.at(tokDot) {
		p.expected("a directive such as .visible, .entry, .func or .global")
		return
	}
	switch p.word() {
	case "version":
		p.versionDirective()
	case "target":
		p.targetDirective()
	case "address_size":
		p.addressSizeDirective()
	case "file":
		p.declare(p.file())
	case "loc", "loc_intermediate":
		p.declare(p.loc())
	case "section":
		p.declare(p.section())
	case sourceSection:
		p.declare(p.intermediateSource())
	case "pragma":
		p.declare(p.pragma())
	case "alias":
		p.declare(p.alias())
	default:
		p.linked()
	}
}

func (p *parser) declare(d Decl) { p.mod.Decls = append(p.mod.Decls, d) }

// linked = [linkage] ( entry | func | variable ).
func (p *parser) linked() {
	doc := p.docBefore()
	pos := p.pos()
	linkage := p.linkage()
	switch {
	case p.atWord("entry"), p.atWord("func"):
		f := &Function{Pos: pos, Doc: doc, Linkage: linkage, Entry: p.word() == "entry"}
		p.declare(f)
		p.function(f)
	case p.atSpace():
		p.variableList(Variable{Pos: pos, Doc: doc, Linkage: linkage})
	case linkage != NoLinkage:
		p.expected(".entry, .func or a state space")
	default:
		p.fail("unknown directive " + p.text())
	}
}

func (p *parser) linkage() Linkage {
	if !p.at(tokDot) {
		return NoLinkage
	}
	for l := Visible; l < numLinkages; l++ {
		if p.word() == linkageNames[l] {
			p.next()
			return l
		}
	}
	return NoLinkage
}

// alias = .alias name, function ;
func (p *parser) alias() *Alias {
	a := &Alias{Pos: p.pos()}
	p.next()
	a.Name = p.ident("a function's name")
	p.expect(',', `","`)
	a.Target = p.ident("the aliased function's name")
	p.expect(';', `";"`)
	return a
}

func (p *parser) ident(what string) string {
	if !p.at(tokIdent) {
		p.expected(what)
		return ""
	}
	s := p.text()
	p.next()
	return s
}

// startsDeclaration reports whether the current token starts a module-level directive
// that is not allowed inside a body.
func (p *parser) startsDeclaration() bool {
	if p.tok.kind != tokDot {
		return false
	}
	switch p.word() {
	case "entry", "func", "visible", "version", "alias":
		return true
	}
	return false
}

// recoverModule skips to the next possible start of a declaration, after the failed
// declaration at offset start.
func (p *parser) recoverModule(start int) {
	p.unwind = false
	if p.failed && !p.recovering() {
		return
	}
	if p.tok.start == start {
		p.next()
	}
	for depth := 0; !p.at(tokEOF); p.next() {
		switch {
		case p.at('{'):
			depth++
		case p.at('}'):
			if depth--; depth <= 0 {
				p.next()
				return
			}
		case p.at(';') && depth == 0:
			p.next()
			return
		case p.tok.kind == tokDot && startsLine(p.src, p.tok.start):
			if depth == 0 && p.declares() || p.startsDeclaration() {
				return
			}
		}
	}
}

// declares reports whether the current directive starts a declaration at module level.
func (p *parser) declares() bool {
	switch p.word() {
	case "target", "address_size", "extern", "weak", "common", "global", "const", "shared", "tex",
		"file", "section", "pragma", sourceSection:
		return true
	}
	return p.startsDeclaration()
}
