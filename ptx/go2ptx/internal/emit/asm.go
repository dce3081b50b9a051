package emit

import (
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// asm emits the inline PTX of an OpAsm, with its operands replaced by registers and constants.
func (x *fn) asm(v *ir.Value) {
	var results []build.Reg
	switch {
	case v.Type == ir.TTuple:
		results = x.tuple(v)
	case v.Type.Kind != ir.None:
		results = []build.Reg{x.reg(v)}
	}
	text, ok := substitute(v.Sym, func(i int) (string, bool) {
		if i >= len(results) {
			return "", false
		}
		return results[i].String(), true
	}, func(i int) (string, bool) {
		if i >= len(v.Args) {
			return "", false
		}
		if v.Args[i].Type == ir.TBool && strings.Contains(v.Sym, "ballot") && x.m.withRecursion(x.f) {
			return x.perLane(v.Args[i]).String(), true
		}
		return x.asmOperand(v.Args[i]), true
	})
	if !ok {
		x.fail("inline PTX names an operand that it does not have: %s", v.Sym)
		return
	}
	stmts, err := parse(text)
	if err != nil {
		text := err.Error()
		if i := strings.Index(text, ": "); i >= 0 && strings.HasPrefix(text, parsed) {
			text = text[i+2:] // drop the position, which refers to the module that parse builds around the text
		}
		x.fail("%s: %s", v.Sym, text)
		return
	}
	for _, s := range stmts {
		if b, ok := s.(*ptx.Block); !ok || len(b.Stmts) > 0 {
			x.b.Add(s)
		}
	}
}

// perLane returns a predicate with the value of v whose computation depends on the lane. For sm_90, ptxas 12.4
// crashes on some ballots of a predicate that is equal in all threads, if the function calls another through a
// register.
func (x *fn) perLane(v *ir.Value) build.Reg {
	p, lane, t := x.temp(ir.Bool), x.temp(ir.I32), x.temp(ir.I32)
	x.op("mov.u32", lane, build.LaneID)
	x.op("selp.b32", t, lane, build.Int(-1), x.reg(v))
	x.op("setp.eq.s32", p, t, lane)
	return p
}

// asmOperand formats an operand of inline PTX: a literal for a constant, otherwise a register.
func (x *fn) asmOperand(v *ir.Value) string {
	if c := resolve(v); (c.Op == ir.OpConst || c.Op == ir.OpUndef) && c.Type != ir.TBool {
		switch c.Type.Kind {
		case ir.F32:
			return "0f" + hex(uint64(uint32(c.Aux)), 8)
		case ir.F64:
			return "0d" + hex(uint64(c.Aux), 16)
		case ir.I32:
			return strconv.Itoa(int(int32(c.Aux)))
		case ir.I64, ir.Ptr:
			return strconv.FormatInt(c.Aux, 10)
		}
	}
	return x.reg(v).String()
}

func hex(bits uint64, digits int) string {
	s := strings.ToUpper(strconv.FormatUint(bits, 16))
	return strings.Repeat("0", digits-len(s)) + s
}

// substitute replaces each $n in the text with result n and each %n with argument n. It returns
// false if the text refers to an operand that does not exist.
func substitute(text string, result, arg func(int) (string, bool)) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); {
		c := text[i]
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if (c != '$' && c != '%') || end == i+1 {
			b.WriteByte(c)
			i++
			continue
		}
		n, err := strconv.Atoi(text[i+1 : end])
		get := result
		if c == '%' {
			get = arg
		}
		s, ok := get(n)
		if err != nil || !ok {
			return "", false
		}
		b.WriteString(s)
		i = end
	}
	return b.String(), true
}

// parsed is the file name in the errors of parse.
const parsed = "inline PTX"

// parse returns the statements of inline PTX. The parser only accepts whole modules, so parse wraps
// the text in a kernel.
func parse(text string) ([]ptx.Stmt, error) {
	m, err := ptx.Parse(parsed, []byte(".version 8.4\n.target sm_90a\n.address_size 64\n.entry f() {\n"+text+"\n}\n"))
	if err != nil {
		return nil, err
	}
	for _, d := range m.Decls {
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			return f.Body.Stmts, nil
		}
	}
	return nil, nil
}
