package ptx

import (
	"strings"
	"unsafe"
)

// Signatures reads the header of PTX text and the signatures of its kernels. It skips
// everything else, so it ignores errors in bodies. The result does not refer to src.
//
// For a syntax error in the header of the module or of a kernel, Signatures returns an error of
// type [Errors]. The ModuleInfo then holds the parts that could be read. Signatures does not report
// PTX that is cut off inside a body, but the driver does when it loads the PTX.
func Signatures(src []byte) (*ModuleInfo, error) {
	src = untilNUL(src)
	if len(src) == 0 {
		return signaturesOf("")
	}
	// No copy is needed, because only errors refer to the source.
	info, err := signaturesOf(unsafe.String(&src[0], len(src)))
	if err != nil {
		return signaturesOf(string(src))
	}
	return info, nil
}

// signaturesOf returns values that refer to src only if it returns an error.
func signaturesOf(src string) (*ModuleInfo, error) {
	p := newParser("", src)
	p.mod = &Module{}
	info := &ModuleInfo{}
	p.signatures(info)
	info.copyNames()
	info.Version, info.AddressSize = p.mod.Version, p.mod.AddressSize
	for _, t := range p.mod.Targets {
		info.Targets = append(info.Targets, strings.Clone(t))
	}
	if len(p.errs) > 0 {
		return info, p.errs
	}
	return info, nil
}

func (p *parser) signatures(info *ModuleInfo) {
	p.header()
	entries := min(len(p.src)>>10+1, 256) // an estimate of the number of entries
	index := make(map[string]int, entries)
	info.Kernels = make([]Signature, 0, entries)
	for !p.at(tokEOF) {
		p.signatureOrSkip(info, index)
		if p.failed {
			p.recovering()
			p.next()
		}
	}
}

func (p *parser) signatureOrSkip(info *ModuleInfo, index map[string]int) {
	switch p.tok.kind {
	case '{':
		p.skipBody()
		return
	case '@': // a line that starts with @@DWARF
		p.dwarfLine()
		return
	case tokDot:
	default:
		p.next()
		return
	}
	switch p.word() {
	case "version":
		p.versionDirective()
	case "target":
		p.targetDirective()
	case "address_size":
		p.addressSizeDirective()
	case "entry":
		p.entry(info, index)
	case sourceSection:
		p.next()
		if p.at('{') {
			end, _ := p.skipSource()
			p.jump(end)
		}
	case "func":
		p.skipFunction()
	case "section":
		p.skipDeclaration(true)
	case "global", "const", "shared", "local", "tex", "reg", "param", "pragma", "alias":
		p.skipDeclaration(false)
	default: // skip linkage, .file and unknown directives token by token
		p.next()
	}
}

// skipDeclaration skips past the ";" or, if body is set, past the body.
func (p *parser) skipDeclaration(body bool) {
	p.jump(p.skipHead(body))
	if p.at('{') {
		p.skipBody()
		return
	}
	p.next()
}

// skipFunction skips a .func with its body. A prototype may lack a ";" and end at the
// next declaration.
func (p *parser) skipFunction() {
	depth := 0
	for p.next(); !p.at(tokEOF); p.next() {
		switch {
		case p.at('('):
			depth++
		case p.at(')'):
			depth--
		case p.at('{'):
			p.skipBody()
			return
		case p.at(';'):
			p.next()
			return
		case depth <= 0 && p.beforeNext():
			return
		}
	}
}

func (p *parser) skipBody() {
	end, _ := p.skipBraces()
	p.jump(end)
}

// entry reads a kernel's header and stores its signature, once per name. A definition
// replaces a declaration.
func (p *parser) entry(info *ModuleInfo, index map[string]int) {
	f := Function{Pos: p.pos(), Entry: true, Perf: p.perf[:0]}
	mark := p.names.mark()
	vars, params, sizes, dims, ptrs := p.vars.used, p.params.used, p.sizes.used, p.dims.used, p.ptrs.used
	p.entryHeader(&f)
	p.names.reset(mark)
	if p.failed {
		p.recoverHeader()
		p.unwind = false
	} else {
		p.keep(info, index, &f)
	}
	p.perf = f.Perf
	p.vars.rewind(vars) // reuse the space for the next kernel
	p.params.rewind(params)
	p.sizes.rewind(sizes)
	p.dims.rewind(dims)
	p.ptrs.rewind(ptrs)
	if p.at('{') {
		p.skipBody()
	}
}

// entryHeader parses the same header as functionHeader, but accepts unknown directives.
func (p *parser) entryHeader(f *Function) {
	p.next()
	f.Name = p.ident("the kernel's name")
	if p.at('(') {
		f.Params = p.parameters()
	}
	for !p.failed {
		p.performance(&f.Perf)
		if !p.at(tokDot) || endsWithPragma(f.Perf) {
			break
		}
		p.next()
		for p.at(tokNumber) || p.at(',') {
			p.next()
		}
	}
	if !p.at('{') && !p.at(';') && !endsWithPragma(f.Perf) {
		p.expected(`"{", ";" or a directive such as .maxntid`)
	}
}

func (p *parser) keep(info *ModuleInfo, index map[string]int, f *Function) {
	s := Signature{Name: f.Name, Line: int(f.Pos.Line)}
	s.read(f, p.kept.take(len(f.Params)))
	if i, ok := index[s.Name]; ok {
		if p.at('{') {
			info.Kernels[i] = s
		}
		return
	}
	index[s.Name] = len(info.Kernels)
	info.Kernels = append(info.Kernels, s)
}

// copyNames replaces the names with copies, so that they do not keep the source alive.
func (m *ModuleInfo) copyNames() {
	size := 0
	for i := range m.Kernels {
		k := &m.Kernels[i]
		size += len(k.Name)
		for j := range k.Params {
			size += len(k.Params[j].Name)
		}
	}
	var names strings.Builder
	names.Grow(size)
	copied := func(name *string) {
		from := names.Len()
		names.WriteString(*name)
		*name = names.String()[from:]
	}
	for i := range m.Kernels {
		k := &m.Kernels[i]
		copied(&k.Name)
		for j := range k.Params {
			copied(&k.Params[j].Name)
		}
	}
}
