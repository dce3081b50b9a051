package lower

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// maxPrintArgs is the maximum number of arguments that the driver's vprintf accepts.
const maxPrintArgs = 32

// printer translates a call of Printf to a call of vprintf.
type printer struct {
	*frame
	call   *ast.CallExpr
	format strings.Builder
	args   []printed
	failed bool
}

// printed is an argument of vprintf.
type printed struct {
	v   *ir.Value
	mem ir.Mem
}

// printf lowers Printf to a call of vprintf.
func (f *frame) printf(call *ast.CallExpr) {
	p := &printer{frame: f, call: call}
	if len(call.Args) < 2 || call.Ellipsis.IsValid() {
		p.refuse(call, "the arguments are not listed in the call; list them")
		return
	}
	f.expr(call.Args[0])
	format, ok := f.constText(f.expr(call.Args[1]))
	if !ok {
		f.errorf(call.Args[1], "const-arg", "format", "gpu.Printf")
		return
	}
	var values []val
	for _, e := range call.Args[2:] {
		values = append(values, p.value(e))
	}
	f.at(call)
	if p.translate(format, values); !p.failed {
		p.emit()
	}
}

// refuse reports an error. A semicolon in the format separates the message from the advice.
func (p *printer) refuse(n ast.Node, format string, args ...any) {
	p.failed = true
	message, advice, _ := strings.Cut(fmt.Sprintf(format, args...), "; ")
	p.errorf(n, "printf", message, advice)
}

// value evaluates an argument. If it is an interface, the value in it must be known at compile
// time.
func (p *printer) value(e ast.Expr) val {
	v := p.expr(e)
	if v.typ == nil || !types.IsInterface(v.typ) {
		return v
	}
	b, ok := p.dynamic(e, v)
	switch {
	case !ok:
		p.failed = true
		return v
	case b == nil:
		p.refuse(e, "the argument is nil; print it as text")
		return v
	}
	return b.v
}

// translate translates the format and collects the arguments.
func (p *printer) translate(format string, values []val) {
	next := 0
	for !p.failed {
		text, rest, found := strings.Cut(format, "%")
		p.literal(text)
		if !found {
			break
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("#0+- .123456789", r) })
		switch {
		case end < 0:
			p.refuse(p.call.Args[1], "the format ends inside of a verb; write %%%% for a percent sign")
		case rest[end] == '%':
			p.literal("%")
		case next >= len(values):
			p.refuse(p.call.Args[1], "the format has more verbs than the call has arguments; add an argument")
		default:
			p.verb(newVerb(rest[:end], rest[end:]), p.call.Args[2+next], values[next])
			next++
		}
		format = rest[max(end, 0):]
		if end >= 0 {
			format = rest[end+1:]
		}
	}
	switch {
	case p.failed:
	case next < len(values):
		p.refuse(p.call.Args[2+next], "the format has fewer verbs than the call has arguments; add a verb")
	case len(p.args) > maxPrintArgs:
		p.refuse(p.call, "%d arguments, of which a device prints at most %d; use several calls", len(p.args), maxPrintArgs)
	}
}

// literal adds text that is printed verbatim.
func (p *printer) literal(text string) {
	if strings.IndexByte(text, 0) >= 0 {
		p.refuse(p.call.Args[1], "the text contains a NUL, which ends it on a device; leave it out")
	}
	p.format.WriteString(strings.ReplaceAll(text, "%", "%%"))
}

// verb is a formatting verb with its flags, such as %-5.2f.
type verb struct {
	text             string // flags, width and precision
	letter           string
	minus, plus      bool
	space, sharp     bool
	zero, hasWidth   bool
	hasPrec, tooWide bool
}

func newVerb(text, rest string) *verb {
	v := &verb{text: text}
	for _, r := range rest {
		v.letter = string(r)
		break
	}
	size := strings.TrimLeft(text, "#0+- ")
	for _, c := range text[:len(text)-len(size)] {
		switch c {
		case '-':
			v.minus = true
		case '+':
			v.plus = true
		case ' ':
			v.space = true
		case '#':
			v.sharp = true
		case '0':
			v.zero = true
		}
	}
	width, prec, hasPrec := strings.Cut(size, ".")
	v.hasWidth, v.hasPrec = width != "", hasPrec
	for _, s := range []string{width, prec} {
		n, err := strconv.Atoi(s)
		v.tooWide = v.tooWide || s != "" && (err != nil || n > 1_000_000)
	}
	return v
}

func (v *verb) String() string { return "%" + v.text + v.letter }

// verb translates a verb and its argument.
func (p *printer) verb(v *verb, n ast.Node, x val) {
	if v.tooWide || strings.ContainsAny(v.letter, "*[") {
		p.refuse(n, "%s has a width or an index that a device cannot print; write the width as a number", v)
		return
	}
	if named, ok := types.Unalias(x.typ).(*types.Named); ok && p.formats(named.Obj(), v.letter) {
		p.refuse(n, "%s calls a method of %s; convert the argument to a number", v, p.typeText(x.typ))
		return
	}
	b, _ := under(x.typ).(*types.Basic)
	lay := p.l.layout(x.typ)
	switch {
	case b != nil && b.Info()&types.IsString != 0:
		s, ok := p.constText(x)
		if !ok || !strings.Contains("vsqxX", v.letter) {
			p.refuse(n, "%s of a string; print constant strings, with %%s, %%q, %%x or %%v", v)
			return
		}
		p.literal(fmt.Sprintf(v.String(), s))
	case lay.leaf == nil || lay.leaf.mem == ir.MNone:
		p.refuse(n, "%s of %s; print numbers, bools and constant strings one by one", v, p.typeText(x.typ))
	case b == nil && v.letter == "p" && v.text == "":
		p.add("0x%llx", p.op(ir.OpBitcast, ir.TI64, p.castSpace(p.scalar(x), ir.Generic)), ir.M64)
	case b == nil:
		p.refuse(n, "%s of a pointer; use %%p", v)
	case b.Info()&types.IsBoolean != 0:
		p.bool(v, n, x)
	case b.Info()&types.IsFloat != 0:
		p.float(v, n, x)
	default:
		p.integer(v, n, x)
	}
}

// formats reports whether fmt would call a method of the type for this verb.
func (p *printer) formats(t *types.TypeName, letter string) bool {
	if p.l.prog.HasMethod(t, "Format") {
		return true
	}
	return strings.Contains("vsxXq", letter) && (p.l.prog.HasMethod(t, "String") || p.l.prog.HasMethod(t, "Error"))
}

func (p *printer) add(format string, v *ir.Value, m ir.Mem) {
	p.format.WriteString(format)
	p.args = append(p.args, printed{v, m})
}

func (p *printer) bool(v *verb, n ast.Node, x val) {
	if v.letter != "t" && v.letter != "v" || v.hasPrec || v.zero || v.sharp || v.plus || v.space {
		p.refuse(n, "%s of a bool; use %%t or %%v, with a width at most", v)
		return
	}
	text := func(s string) *ir.Value { return p.castSpace(p.global(p.l.cString(s)), ir.Generic) }
	no, yes := text("false"), text("true")
	p.add("%"+v.text+"s", p.sel(p.scalar(x), yes, no), ir.MPtr)
}

// float translates a floating-point verb. C has no equivalent of Go's shortest representation.
func (p *printer) float(v *verb, n ast.Node, x val) {
	switch {
	case v.sharp || !strings.Contains("vfFeEgG", v.letter):
		p.refuse(n, "%s of a floating-point number; use %%f, %%e or %%.6g", v)
		return
	case strings.Contains("vgG", v.letter) && !v.hasPrec:
		p.refuse(n, "%s prints as few digits as are exact, which a device cannot; give a precision, as in %%.6g", v)
		return
	}
	letter, text := v.letter, v.text
	if letter == "v" {
		letter, text = "g", strings.ReplaceAll(text, "+", "")
	}
	f := p.scalar(x)
	if f.Type != ir.TF64 {
		f = p.op(ir.OpFConv, ir.TF64, f)
	}
	p.add("%"+text+letter, f, ir.MF64)
}

func (p *printer) integer(v *verb, n ast.Node, x val) {
	signed, letter, text := isSigned(x.typ), v.letter, v.text
	r := p.scalar(x)
	switch {
	case strings.Contains("xXo", letter):
		switch {
		case signed:
			p.refuse(n, "%s of a signed number, which C prints without its sign; convert it to an unsigned type", v)
			return
		case v.plus || v.space || v.sharp && (letter == "o" || len(text) > 1):
			p.refuse(n, "%s has flags that a device prints differently; write the prefix as text", v)
			return
		case v.sharp:
			p.literal("0" + letter)
			text = ""
		}
	case letter == "d" || letter == "v" && !v.sharp:
		if letter == "v" {
			text = strings.ReplaceAll(text, "+", "")
			v.plus = false
		}
		letter = "d"
		if !signed && (v.plus || v.space) {
			if r.Type == ir.TI64 {
				p.refuse(n, "%s of an unsigned number of 64 bits; leave out the sign", v)
				return
			}
			r, signed = p.wide(r, false), true
		}
		if !signed {
			letter = "u"
		}
	default:
		p.refuse(n, "%s of an integer; use %%d, %%v, %%x, %%X or %%o", v)
		return
	}
	if r.Type == ir.TI64 {
		p.add("%"+text+"ll"+letter, r, ir.M64)
		return
	}
	p.add("%"+text+letter, r, ir.M32)
}

// emit emits the call of vprintf. Each argument is aligned to its own size in the buffer.
func (p *printer) emit() {
	b := p.builder
	buffer := b.null()
	if len(p.args) > 0 {
		words := types.NewArray(types.Typ[types.Uint64], int64(len(p.args)))
		x := p.newVar("arguments", words, p.call.Lparen, tagLiteral)
		if !x.mem {
			b.demote(x)
			return
		}
		at := int64(0)
		for _, a := range p.args {
			size := int64(a.mem.Size())
			at = (at + size - 1) / size * size
			b.opAux(ir.OpStore, ir.TNone, at, b.slot(x), a.v).Mem = a.mem
			at += size
		}
		buffer = b.castSpace(b.slot(x), ir.Generic)
	}
	format := b.castSpace(b.global(b.l.cString(p.format.String())), ir.Generic)
	b.callExtern(b.l.extern("vprintf", []ir.Mem{ir.MPtr, ir.MPtr}, ir.TI32), format, buffer)
}

// cString returns a variable that contains a constant string and a terminating NUL. It is in global
// memory, where the host reads it when it prints the output.
func (l *lowerer) cString(s string) *ir.Var {
	key := "C " + s
	v := l.strings[key]
	if v == nil {
		v = &ir.Var{Name: l.unique("text"), Space: ir.Global, Size: len(s) + 1, Align: 1, Init: append([]byte(s), 0)}
		l.strings[key] = v
		l.mod.Vars = append(l.mod.Vars, v)
	}
	return v
}
