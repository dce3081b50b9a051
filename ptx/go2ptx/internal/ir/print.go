package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String formats the functions and variables for tests and debugging.
func (m *Module) String() string {
	var b strings.Builder
	for _, v := range m.Vars {
		fmt.Fprintf(&b, "var %s %s size %d align %d", v.Name, v.Space, v.Size, v.Align)
		if v.Extern {
			b.WriteString(" extern")
		}
		if v.Init != nil {
			fmt.Fprintf(&b, " = %x", v.Init)
		}
		b.WriteByte('\n')
	}
	for _, f := range m.Externs {
		b.WriteString("extern ")
		f.header(&b)
		b.WriteByte('\n')
	}
	for _, f := range m.Funcs {
		b.WriteString(f.String())
	}
	return b.String()
}

// String formats the function for tests and debugging.
func (f *Func) String() string {
	var b strings.Builder
	f.header(&b)
	b.WriteString(" {\n")
	for i, s := range f.Slots {
		fmt.Fprintf(&b, "\tslot %d %s size %d align %d\n", i, s.Name, s.Size, s.Align)
	}
	for _, block := range f.Blocks {
		b.WriteString(block.text())
	}
	b.WriteString("}\n")
	return b.String()
}

func (f *Func) header(b *strings.Builder) {
	kind := "func"
	if f.Kernel {
		kind = "kernel"
	}
	fmt.Fprintf(b, "%s %s(", kind, f.Name)
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		for _, part := range p.Parts {
			fmt.Fprintf(b, " %s@%d", part.Mem, part.Offset)
		}
	}
	b.WriteString(")")
	for i, r := range f.Results {
		b.WriteString([]string{" ", ", "}[min(i, 1)] + r.String())
	}
}

func (b *Block) String() string { return "b" + strconv.Itoa(b.ID) }

func (b *Block) text() string {
	var s strings.Builder
	s.WriteString(b.String() + ":")
	if b.Cold {
		s.WriteString(" cold")
	}
	if len(b.Preds) > 0 {
		s.WriteString(" <-")
		for _, p := range b.Preds {
			s.WriteString(" " + p.String())
		}
	}
	s.WriteByte('\n')
	for _, v := range b.Values {
		s.WriteString("\t" + v.Text() + "\n")
	}
	s.WriteString("\t" + b.Term.String() + "\n")
	return s.String()
}

func (t Term) String() string {
	switch t.Kind {
	case TermJump:
		return "jump " + t.Succs[0].String()
	case TermIf:
		return fmt.Sprintf("if %s then %s else %s", t.Cond, t.Succs[0], t.Succs[1])
	case TermRet:
		return strings.TrimSpace("ret " + operands(t.Results))
	case TermExit:
		return "exit"
	}
	return "no terminator"
}

func operands(values []*Value) string {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = v.String()
	}
	return strings.Join(text, " ")
}

// String formats v as an operand: its ID, or its value if it is a constant.
func (v *Value) String() string {
	if v == nil {
		return "nil"
	}
	if v.Op == OpConst {
		return v.Type.String() + ":" + v.constText()
	}
	return "v" + strconv.Itoa(v.ID)
}

func (v *Value) constText() string {
	switch v.Type.Kind {
	case Bool:
		return strconv.FormatBool(v.Aux != 0)
	case F32:
		return fmt.Sprintf("%g(%#x)", math.Float32frombits(uint32(v.Aux)), uint32(v.Aux))
	case F64:
		return fmt.Sprintf("%g(%#x)", math.Float64frombits(uint64(v.Aux)), uint64(v.Aux))
	case F16, BF16:
		return fmt.Sprintf("%#x", uint16(v.Aux))
	case I32:
		return strconv.Itoa(int(int32(v.Aux)))
	}
	return strconv.FormatInt(v.Aux, 10)
}

// Text formats v as an instruction.
func (v *Value) Text() string {
	var b strings.Builder
	if v.Type.Kind != None {
		fmt.Fprintf(&b, "%s = ", v)
	}
	b.WriteString(v.Op.String())
	switch v.Op {
	case OpICmp, OpFCmp:
		b.WriteString("." + Cond(v.Aux).String())
	case OpFInt, OpFToS, OpFToU:
		b.WriteString("." + Round(v.Aux).String())
	case OpAtomic, OpCAS:
		fmt.Fprintf(&b, ".%s.%s", v.Atomic, v.Mem)
	case OpFence:
		fmt.Fprintf(&b, ".%s.%s", orderNames[v.Atomic.Order], scopeNames[Scope(v.Aux)])
	case OpLoad, OpStore, OpLoadV, OpStoreV:
		b.WriteString("." + v.Mem.String())
		if v.N > 0 {
			fmt.Fprintf(&b, "x%d", v.N)
		}
		if v.Hint != HintNone {
			fmt.Fprintf(&b, ".%s", v.Hint)
		}
	}
	if v.Round != RN {
		b.WriteString("." + v.Round.String())
	}
	if v.Type.Kind == Tuple {
		fmt.Fprint(&b, " ", v.Tuple)
	} else if v.Type.Kind != None {
		b.WriteString(" " + v.Type.String())
	}
	if len(v.Args) > 0 {
		b.WriteString(" " + operands(v.Args))
	}
	b.WriteString(v.extra())
	return b.String()
}

func (v *Value) extra() string {
	var s string
	switch v.Op {
	case OpParam, OpSlot, OpExtract, OpConst:
		s += fmt.Sprintf(" #%d", v.Aux)
	case OpLoad, OpStore, OpLoadV, OpStoreV, OpAtomic, OpCAS:
		if v.Aux != 0 {
			s += fmt.Sprintf(" %+d", v.Aux)
		}
	case OpSpecial:
		s += " " + v.Sym
		if v.Aux != 0 {
			s += " fixed"
		}
	case OpAsm:
		s += fmt.Sprintf(" %q effects %#x", v.Sym, uint8(v.Effect))
	}
	if v.Var != nil {
		s += " @" + v.Var.Name
	}
	if v.Callee != nil {
		s += " " + v.Callee.Name
	}
	if v.Site != nil {
		s += " " + v.Site.Kind
		if v.Site.Message != "" {
			s += fmt.Sprintf(" %q", v.Site.Message)
		}
	}
	if v.Divergent {
		s += " divergent"
	}
	return s
}

var hintNames = [...]string{"", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile"}
var scopeNames = [...]string{"gpu", "cta", "cluster", "sys"}
var orderNames = [...]string{"relaxed", "acquire", "release", "acq_rel", "sc"}
var rmwNames = [...]string{"add", "smin", "smax", "umin", "umax", "and", "or", "xor", "exch", "inc", "dec", "load", "store"}

func (h Hint) String() string  { return hintNames[h] }
func (s Scope) String() string { return scopeNames[s] }
func (o Order) String() string { return orderNames[o] }
func (r RMW) String() string   { return rmwNames[r] }

func (a Atomic) String() string {
	return a.Op.String() + "." + a.Order.String() + "." + a.Scope.String()
}
