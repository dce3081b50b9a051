package ptx

import "strings"

// file = .file index "name" [, timestamp, size].
func (p *parser) file() *File {
	f := &File{Pos: p.pos()}
	p.next()
	f.Index = p.smallNumber("a file number")
	f.Name = p.quotedText(`the file's name in quotes`)
	if p.accept(',') {
		f.Stamp = true
		f.Time = p.plainNumber("a timestamp")
		p.expect(',', `"," and the file's size`)
		f.Size = p.plainNumber("the file's size")
	}
	return f
}

// loc = ( .loc | .loc_intermediate ) file line column
// [, function_name label [+ n], inlined_at file line column].
func (p *parser) loc() *Loc {
	l := p.locs.get()
	l.Pos = p.pos()
	l.Intermediate = p.word() == "loc_intermediate"
	p.next()
	l.File = p.smallNumber("a file number")
	l.Line = p.smallNumber("a line number")
	l.Col = p.smallNumber("a column number")
	if p.accept(',') {
		l.Inlined = p.inlined()
	}
	return l
}

func (p *parser) inlined() *Inlined {
	in := &Inlined{}
	if !p.at(tokIdent) || p.text() != "function_name" {
		p.expected("function_name")
		return in
	}
	p.next()
	if p.at(tokDot) && strings.HasPrefix(p.word(), "debug") {
		in.Func = p.text()
		p.next()
	} else {
		in.Func = p.ident("a label of .debug_str")
	}
	in.FuncOffset = p.offset()
	p.expect(',', `"," and inlined_at`)
	if !p.at(tokIdent) || p.text() != "inlined_at" {
		p.expected("inlined_at")
		return in
	}
	p.next()
	in.File = p.smallNumber("a file number")
	in.Line = p.smallNumber("a line number")
	in.Col = p.smallNumber("a column number")
	return in
}

// section = .section name { text }.
func (p *parser) section() *Section {
	s := &Section{Pos: p.pos()}
	p.next()
	if !p.at(tokDot) && !p.at(tokIdent) {
		p.expected("a section's name")
		return s
	}
	s.Name = p.text()
	p.next()
	if !p.at('{') {
		p.expected(`"{"`)
		return s
	}
	end, ok := p.skipBraces()
	if !ok {
		p.fail("section is not closed: no \"}\" for this \"{\"")
		return s
	}
	s.Text = p.src[p.tok.end : end-1]
	p.jump(end)
	return s
}

// sourceSection is the directive that contains the source of intermediate code.
const sourceSection = "nv_intermediate_source_section"

// intermediateSource = .nv_intermediate_source_section { text }.
func (p *parser) intermediateSource() *Section {
	s := &Section{Pos: p.pos(), Name: p.text()}
	p.next()
	if !p.at('{') {
		p.expected(`"{"`)
		return s
	}
	end, ok := p.skipSource()
	if !ok {
		p.fail("section is not closed: no \"}\" for this \"{\"")
		return s
	}
	s.Text = p.src[p.tok.end : end-1]
	p.jump(end)
	return s
}

// jump moves to offset off and counts the lines in between.
func (p *parser) jump(off int) {
	between := p.src[p.off:off]
	if n := strings.Count(between, "\n"); n > 0 {
		p.line += int32(n)
		p.lineStart = p.off + strings.LastIndexByte(between, '\n') + 1
	}
	p.off = off
	p.next()
}

// dwarfLine = @@DWARF and any text up to the end of the line.
func (p *parser) dwarfLine() *Raw {
	r := &Raw{Pos: p.pos()}
	end := endOfLine(p.src, p.tok.start)
	r.Text = strings.TrimRight(p.src[p.tok.start:end], " \t\r")
	p.off = end
	p.next()
	return r
}

// pragma = .pragma "text" {, "text"} ;
func (p *parser) pragma() *Pragma {
	n := &Pragma{Pos: p.pos()}
	n.Text = p.pragmaText()
	p.expect(';', `";"`)
	return n
}

func (p *parser) pragmaText() []string {
	p.next()
	var out []string
	for more := true; more; more = p.accept(',') {
		out = append(out, p.quotedText("a string"))
	}
	return out
}

// quotedText parses a string. It removes the quotes and leaves escapes unchanged.
func (p *parser) quotedText(what string) string {
	if !p.at(tokString) {
		p.expected(what)
		return ""
	}
	s := p.text()
	p.next()
	return s[1 : len(s)-1]
}

// plainNumber parses an unsigned integer literal, not an expression.
func (p *parser) plainNumber(what string) uint64 {
	if !p.at(tokNumber) {
		p.expected(what)
		return 0
	}
	v, ok := parseNumber(p.text())
	if !ok || v.Kind >= ImmF32 {
		p.expected(what)
		return 0
	}
	p.next()
	return v.Bits
}

// smallNumber parses a plainNumber that must fit in an int32.
func (p *parser) smallNumber(what string) int {
	if p.at(tokNumber) {
		if v, ok := parseNumber(p.text()); ok && v.Kind < ImmF32 && v.Bits > 1<<31-1 {
			p.fail("number is too large")
			return 0
		}
	}
	return int(p.plainNumber(what))
}
