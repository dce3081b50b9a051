package ptx

import (
	"bytes"
	"strconv"
)

// maxDepth limits the nesting of scopes, braces and parentheses. Compiler output stays far below
// it. Without a limit, source that consists only of "{" would exhaust the stack.
const maxDepth = 200

// Parse parses PTX text. Error messages contain name. Like the driver, Parse ends the
// text at the first NUL byte.
//
// For syntax errors, Parse returns an error of type [Errors] and a module with the parts
// that could be parsed. Use that module only for inspection.
func Parse(name string, src []byte) (*Module, error) {
	p := newParser(name, string(untilNUL(src)))
	m := p.module()
	if len(p.errs) > 0 {
		return m, p.errs
	}
	return m, nil
}

// parser turns tokens into nodes. After an error the current token is tokStop, which no production
// accepts, so every loop and every production ends. The statement loop then recovers. The parser
// drops further errors before the recovery, because they result from the first one.
type parser struct {
	lexer
	path   string // name passed to Parse, for messages
	errs   Errors
	failed bool
	stop   tokenKind // the token that tokStop replaces
	unwind bool      // a body contains a module-level directive: its closing brace is missing
	fatal  bool      // an error without recovery: the parser does not read the rest
	depth  int
	ranged int // number of labels that ranges created

	mod     *Module
	names   scope
	opcodes map[string]*Opcode

	// Stacks on which lists grow until their length is known.
	stmtStack []Stmt
	argStack  []Operand

	// The following slabs hold the nodes.
	instrs   slab[Instr]
	labels   slab[Label]
	regs     slab[Reg]
	imms     slab[Imm]
	syms     slab[Sym]
	vecs     slab[Vec]
	addrs    slab[Addr]
	pairs    slab[Pair]
	lists    slab[List]
	arrays   slab[Elem]
	sums     slab[RegSum]
	sinks    slab[Sink]
	blocks   slab[Block]
	regDecls slab[RegDecl]
	vars     slab[Variable]
	locs     slab[Loc]
	args     slab[Operand] // operands of instructions, built in place
	elems    slab[Operand] // nested operands
	stmts    slab[Stmt]
	params   slab[*Variable]
	sizes    slab[uint64] // numbers in directives
	dims     slab[int64]
	ptrs     slab[Pointer]

	// Signatures stores the returned parameters in kept and reuses perf for each kernel.
	kept slab[Param]
	perf []Directive
}

// untilNUL returns the text up to its first NUL.
func untilNUL(src []byte) []byte {
	if i := bytes.IndexByte(src, 0); i >= 0 {
		return src[:i]
	}
	return src
}

func newParser(name, src string) *parser {
	p := &parser{path: name, opcodes: map[string]*Opcode{}}
	p.lexer = lexer{src: src, line: 1}
	p.next()
	return p
}

func (p *parser) next() {
	if !p.failed {
		p.scan()
	}
}

func (p *parser) at(k tokenKind) bool { return p.tok.kind == k }

// atWord reports whether the current token is .word.
func (p *parser) atWord(word string) bool { return p.tok.kind == tokDot && p.word() == word }

// accept consumes the current token if it is k, and reports whether it did.
func (p *parser) accept(k tokenKind) bool {
	if p.tok.kind != k {
		return false
	}
	p.scan()
	return true
}

// expect consumes the current token if it is k, and otherwise reports an error.
func (p *parser) expect(k tokenKind, what string) {
	if !p.accept(k) {
		p.expected(what)
	}
}

// expected reports an unexpected current token and stops the production.
func (p *parser) expected(what string) {
	e := Error{Expected: what, Found: p.found()}
	if p.tok.kind == tokBad && p.problem != "" {
		e = Error{Problem: p.problem}
	}
	p.report(e, p.tok.start, p.pos())
}

// fail reports any other problem at the current token and stops the production.
func (p *parser) fail(problem string) {
	p.report(Error{Problem: problem}, p.tok.start, p.pos())
}

func (p *parser) report(e Error, off int, at Pos) {
	if p.failed {
		return
	}
	p.failed = true
	p.stop = p.tok.kind
	p.tok.kind = tokStop
	p.note(e, off, at)
}

// note adds an error without stopping the production.
func (p *parser) note(e Error, off int, at Pos) {
	if n := len(p.errs); n > 0 && p.errs[n-1].Pos == at || p.fatal {
		return // this error results from the previous one
	}
	if len(p.errs) == maxErrors {
		e = Error{Problem: "too many errors: the rest of the text was not read"}
		p.fatal = true
	}
	e.File, e.Pos = p.path, at
	e.Line, e.indent = lineAround(p.src, off)
	p.errs = append(p.errs, &e)
}

func (p *parser) found() string {
	switch p.tok.kind {
	case tokEOF:
		return "end of file"
	case tokBad:
		return "character " + strconv.QuoteRune([]rune(p.src[p.tok.start:min(p.tok.start+4, len(p.src))])[0])
	}
	s := p.text()
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	if p.tok.kind == tokString {
		return s
	}
	return `"` + s + `"`
}

// enter increments the nesting level. If the level exceeds maxDepth, it stops the parser
// and returns false.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
		p.fatal = true
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// recovering ends the error state and restores the token that failed. After a fatal error, it moves
// to the end of the source and returns false.
func (p *parser) recovering() bool {
	p.failed = false
	p.tok.kind = p.stop
	if p.fatal {
		p.off = len(p.src)
		p.set(tokEOF, p.off, p.off)
		return false
	}
	return true
}
