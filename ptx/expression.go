package ptx

import "math"

// Operator precedence, lowest first. PTX ISA, "Constant Expressions".
const (
	lowest = iota // the operator ?:
	precOrElse
	precAndAlso
	precOr
	precXor
	precAnd
	precEqual
	precLess
	precShift
	precSum
	precProduct
)

// operator packs the one or two characters of a binary operator into a number. Zero means that
// there is no operator.
type operator uint16

const (
	opShl  = operator('<')<<8 | '<'
	opShr  = operator('>')<<8 | '>'
	opLE   = operator('<')<<8 | '='
	opGE   = operator('>')<<8 | '='
	opEQ   = operator('=')<<8 | '='
	opNE   = operator('!')<<8 | '='
	opAnd  = operator('&')<<8 | '&'
	opElse = operator('|')<<8 | '|'
)

func (p *parser) startsConstant() bool {
	switch p.tok.kind {
	case tokNumber, '(', '+', '-', '!', '~':
		return true
	case tokIdent:
		return p.text() == warpSize
	}
	return false
}

func (p *parser) expression() value { return p.exprFrom(p.unary(), lowest) }

// exprFrom parses the rest of an expression after the operand left. It consumes operators of
// precedence least and higher.
func (p *parser) exprFrom(left value, least int) value {
	for {
		op, prec := p.operator()
		if op == 0 || prec < least {
			return left
		}
		if op == '?' {
			left = p.conditional(left)
			continue
		}
		at, off := p.pos(), p.tok.start
		p.take(op)
		right := p.exprFrom(p.unary(), prec+1)
		if p.failed {
			return left
		}
		var problem string
		if left, problem = fold(op, left, right); problem != "" {
			p.report(Error{Problem: problem}, off, at)
			return left
		}
	}
}

// conditional = cond "?" then ":" otherwise.
func (p *parser) conditional(cond value) value {
	defer p.leave()
	if !p.enter() {
		return cond
	}
	p.next()
	then := p.expression()
	p.expect(':', `":"`)
	otherwise := p.expression()
	if cond.isTrue() {
		return then
	}
	return otherwise
}

func (p *parser) operator() (operator, int) {
	var second byte
	if p.off < len(p.src) {
		second = p.src[p.off]
	}
	two := operator(p.tok.kind)<<8 | operator(second)
	switch p.tok.kind {
	case '*', '/', '%':
		return operator(p.tok.kind), precProduct
	case tokIdent: // in 7%3 the lexer reads %3 as a register
		if s := p.text(); s[0] == '%' && class[s[1]] == clDigit {
			return '%', precProduct
		}
	case '+', '-':
		return operator(p.tok.kind), precSum
	case '<', '>':
		switch two {
		case opShl, opShr:
			return two, precShift
		case opLE, opGE:
			return two, precLess
		}
		return operator(p.tok.kind), precLess
	case '=', '!':
		if two == opEQ || two == opNE {
			return two, precEqual
		}
	case '&':
		if two == opAnd {
			return two, precAndAlso
		}
		return '&', precAnd
	case '|':
		if two == opElse {
			return two, precOrElse
		}
		return '|', precOr
	case '^':
		return '^', precXor
	case '?':
		return '?', lowest
	}
	return 0, 0
}

func (p *parser) take(op operator) {
	switch {
	case op > math.MaxUint8:
		p.off = p.tok.start + 2
	case op == '%':
		p.off = p.tok.start + 1
	}
	p.next()
}

// unary = { + | - | ! | ~ | (.s64) | (.u64) } ( number | WARP_SZ | ( expression ) ).
func (p *parser) unary() value {
	switch p.tok.kind {
	case tokNumber:
		v, ok := parseNumber(p.text())
		if !ok {
			p.fail("malformed or too large number " + p.found())
			return value{}
		}
		p.scan()
		return v
	case tokIdent:
		if p.text() == warpSize {
			p.scan()
			return intValue(32)
		}
	case '+', '-', '!', '~':
		return p.unarySign()
	case '(':
		return p.parenthesised()
	}
	p.expected("a constant")
	return value{}
}

func (p *parser) unarySign() value {
	defer p.leave()
	if !p.enter() {
		return value{}
	}
	op := p.tok.kind
	p.next()
	return p.unaryOn(op, p.unary())
}

// parenthesised = "(" expression ")" | "(" .s64 ")" unary | "(" .u64 ")" unary.
func (p *parser) parenthesised() value {
	defer p.leave()
	if !p.enter() {
		return value{}
	}
	p.next()
	if p.at(tokDot) {
		return p.cast()
	}
	v := p.expression()
	p.expect(')', `")"`)
	return v
}

func (p *parser) cast() value {
	kind := ImmInt
	switch p.word() {
	case "s64":
	case "u64":
		kind = ImmUint
	default:
		p.expected("(.s64) or (.u64)")
	}
	p.next()
	p.expect(')', `")"`)
	v := p.unary()
	if v.isFloat() {
		p.fail("only integers can be cast")
	}
	v.Kind = kind
	return v
}

func (p *parser) unaryOn(op tokenKind, v value) value {
	switch {
	case op == '!':
		return boolValue(!v.isTrue())
	case op == '-' && v.Kind == ImmF32:
		v.Bits ^= 1 << 31
	case op == '-' && v.Kind == ImmF64:
		v.Bits ^= 1 << 63
	case op == '-':
		v.Bits = -v.Bits
	case op == '~' && v.isFloat():
		p.fail(`"~" needs an integer`)
	case op == '~':
		v = value{ImmUint, ^v.Bits}
	}
	return v
}

// fold computes a op b. The string problem describes an invalid operation and is "" for a
// valid one.
func fold(op operator, a, b value) (v value, problem string) {
	switch op {
	case opAnd:
		return boolValue(a.isTrue() && b.isTrue()), ""
	case opElse:
		return boolValue(a.isTrue() || b.isTrue()), ""
	}
	if a.isFloat() || b.isFloat() {
		return foldFloat(op, a.float(), b.float())
	}
	if op == opShl || op == opShr {
		return foldShift(op, a, b), ""
	}
	if (op == '/' || op == '%') && b.Bits == 0 {
		return a, "division by zero in a constant expression"
	}
	if op == '%' { // unlike in C, unsigned even for signed operands
		return intValue(int64(a.Bits % b.Bits)), ""
	}
	if a.Kind == ImmUint || b.Kind == ImmUint {
		return foldUint(op, a.Bits, b.Bits), ""
	}
	return foldInt(op, int64(a.Bits), int64(b.Bits)), ""
}

func foldFloat(op operator, a, b float64) (value, string) {
	switch op {
	case '+':
		return floatValue(a + b), ""
	case '-':
		return floatValue(a - b), ""
	case '*':
		return floatValue(a * b), ""
	case '/':
		return floatValue(a / b), ""
	case '<':
		return boolValue(a < b), ""
	case '>':
		return boolValue(a > b), ""
	case opLE:
		return boolValue(a <= b), ""
	case opGE:
		return boolValue(a >= b), ""
	case opEQ:
		return boolValue(a == b), ""
	case opNE:
		return boolValue(a != b), ""
	}
	return value{}, "this operator needs integers"
}

// foldShift keeps the left operand's kind. It shifts a signed operand arithmetically. The
// ISA does not define counts above 63; like the assembler, it uses their low six bits.
func foldShift(op operator, a, b value) value {
	n := b.Bits & 63
	switch {
	case op == opShl:
		a.Bits <<= n
	case a.Kind == ImmUint:
		a.Bits >>= n
	default:
		a.Bits = uint64(int64(a.Bits) >> n)
	}
	return a
}

func foldUint(op operator, a, b uint64) value {
	switch op {
	case '/':
		return value{ImmUint, a / b}
	case '<':
		return boolValue(a < b)
	case '>':
		return boolValue(a > b)
	case opLE:
		return boolValue(a <= b)
	case opGE:
		return boolValue(a >= b)
	}
	v := foldInt(op, int64(a), int64(b)) // signed and unsigned arithmetic produce the same bits
	if op != opEQ && op != opNE {
		v.Kind = ImmUint
	}
	return v
}

func foldInt(op operator, a, b int64) value {
	switch op {
	case '+':
		return intValue(a + b)
	case '-':
		return intValue(a - b)
	case '*':
		return intValue(a * b)
	case '/':
		return intValue(a / b)
	case '&':
		return intValue(a & b)
	case '|':
		return intValue(a | b)
	case '^':
		return intValue(a ^ b)
	case '<':
		return boolValue(a < b)
	case '>':
		return boolValue(a > b)
	case opLE:
		return boolValue(a <= b)
	case opGE:
		return boolValue(a >= b)
	case opEQ:
		return boolValue(a == b)
	}
	return boolValue(a != b)
}
