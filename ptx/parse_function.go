package ptx

// function = ( .entry | .func [(return)] ) name [(parameters)] { performance } ( body | [;] ).
func (p *parser) function(f *Function) {
	mark := p.names.mark()
	p.functionHeader(f)
	if p.failed {
		p.recoverHeader()
	}
	if p.at('{') {
		f.Body = p.block()
	} else {
		p.accept(';')
	}
	p.names.reset(mark)
}

func (p *parser) functionHeader(f *Function) {
	p.next()
	if p.atWord("attribute") {
		f.Attributes = p.attributes()
	}
	p.performance(&f.Perf)
	if p.at('(') && !f.Entry {
		f.Return = p.parameters()
	}
	f.Name = p.ident("the function's name")
	if p.at('(') {
		f.Params = p.parameters()
	}
	p.performance(&f.Perf)
	if !p.at('{') && !p.at(';') && !endsWithPragma(f.Perf) && (f.Entry || !p.beforeNext()) {
		p.expected(`"{", ";" or a directive such as .maxntid`)
	}
}

// beforeNext reports whether the next token starts a declaration or ends the source. The prototype of
// a .func may lack a ";", because compilers up to CUDA 3.0 did not write it.
func (p *parser) beforeNext() bool {
	return p.at(tokEOF) || p.tok.kind == tokDot && p.declares() && p.word() != "pragma"
}

// endsWithPragma reports whether the last directive is a .pragma, whose ";" can also
// end the declaration.
func endsWithPragma(list []Directive) bool {
	return len(list) > 0 && list[len(list)-1].Name == "pragma"
}

// performance parses the directives between a function's header and its body. PTX ISA,
// "Performance-Tuning Directives", "Cluster Dimension Directives".
func (p *parser) performance(list *[]Directive) {
	for p.at(tokDot) {
		least, most := 0, 0
		switch p.word() {
		case "maxntid", "reqntid", "reqnctapercluster":
			least, most = 1, 3
		case "maxnreg", "minnctapersm", "maxnctapersm", "maxclusterrank", "abi_preserve", "abi_preserve_control", "minperctamemory":
			least, most = 1, 1
		case "noreturn", "explicitcluster", "blocksareclusters":
		case "pragma":
			p.headerPragma(list)
			continue
		case "language":
			*list = append(*list, p.language())
			continue
		default:
			return
		}
		d := Directive{Pos: p.pos(), Name: p.word()}
		p.next()
		if most > 0 {
			d.Args = p.numbers()
		}
		if n := len(d.Args); !p.failed && (n < least || n > most) {
			p.fail("." + d.Name + " takes fewer numbers")
		}
		*list = append(*list, d)
	}
}

func (p *parser) headerPragma(list *[]Directive) {
	d := Directive{Pos: p.pos(), Name: "pragma"}
	d.Text = p.pragmaText()
	p.accept(';')
	*list = append(*list, d)
}

// language = .language ( "name" | number ) {, ( "name" | number )}.
func (p *parser) language() Directive {
	d := Directive{Pos: p.pos(), Name: "language"}
	p.next()
	for more := true; more; more = p.accept(',') {
		if p.at(tokString) {
			d.Text = append(d.Text, p.quotedText("a string"))
		} else {
			d.Args = append(d.Args, p.plainNumber("a language in quotes"))
		}
	}
	return d
}

// recoverHeader skips to the body, so that the parser also reports errors there.
func (p *parser) recoverHeader() {
	if !p.recovering() {
		return
	}
	for !p.at('{') && !p.at(';') && !p.at(tokEOF) {
		if p.startsDeclaration() && startsLine(p.src, p.tok.start) {
			p.unwind = true
			return
		}
		p.next()
	}
}
