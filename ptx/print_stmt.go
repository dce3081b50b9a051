package ptx

import (
	"math"
	"strconv"
)

func (w *printer) block(b *Block) {
	w.tabs()
	w.put("{\n")
	w.indent++
	for _, s := range b.Stmts {
		w.stmt(s)
	}
	w.indent--
	w.tabs()
	w.put("}\n")
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Instr:
		w.tabs()
		w.instr(s)
		w.put("\n")
	case *Label:
		w.put(s.Name, ":\n")
	case *Block:
		w.block(s)
	case *BranchTargets:
		w.put(s.Label, ": .branchtargets ")
		w.names(s.Targets)
		w.put(";\n")
	case *CallTargets:
		w.put(s.Label, ": .calltargets ")
		w.names(s.Targets)
		w.put(";\n")
	case *CallPrototype:
		w.prototype(s)
	default:
		w.shared(s)
	}
}

func (w *printer) prototype(c *CallPrototype) {
	w.put(c.Label, ": .callprototype ")
	if len(c.Return) > 0 {
		w.put("(")
		w.parameters(c.Return, " ")
		w.put(") ")
	}
	w.put("_ (")
	w.parameters(c.Params, " ")
	w.put(")")
	w.performance(c.Perf, " ")
	w.put(";\n")
}

func (w *printer) instr(in *Instr) {
	if in.Guard.Reg != "" {
		w.put("@")
		if in.Guard.Not {
			w.put("!")
		}
		w.put(in.Guard.Reg, " ")
	}
	w.put(in.Op.Text)
	for i, a := range in.Args {
		if i == 0 {
			w.put(" ")
		} else {
			w.put(", ")
		}
		w.operand(a)
	}
	w.put(";")
}

func (w *printer) operand(o Operand) {
	switch o := o.(type) {
	case *Reg:
		w.reg(o)
	case *RegSum:
		w.reg(o.Reg)
		w.plus(o.Offset)
	case *Imm:
		w.imm(o)
	case *Sym:
		w.sym(o)
	case *Vec:
		w.list("{", o.Elems, "}")
	case *Addr:
		w.addr(o)
	case *Elem:
		w.elem(o)
	case *Pair:
		w.operand(o.A)
		w.put("|")
		w.operand(o.B)
	case *List:
		w.list("(", o.Elems, ")")
	case *Sink:
		w.put("_")
	}
}

func (w *printer) list(left string, elems []Operand, right string) {
	w.put(left)
	for i, e := range elems {
		if i > 0 {
			w.put(", ")
		}
		w.operand(e)
	}
	w.put(right)
}

func (w *printer) reg(r *Reg) {
	if r.Not {
		w.put("!")
	}
	if r.Neg {
		w.put("-")
	}
	w.put(r.Name)
	if r.Sel != "" {
		w.put(".", r.Sel)
	}
}

func (w *printer) imm(i *Imm) {
	switch {
	case i.Kind == ImmF32:
		w.put("0f")
		w.hex(i.Bits, 8)
	case i.Kind == ImmF64:
		w.put("0d")
		w.hex(i.Bits, 16)
	case i.Kind == ImmUint:
		w.b = strconv.AppendUint(w.b, i.Bits, 10)
		w.put("U")
	case int64(i.Bits) == math.MinInt64: // without the sign, the digits would parse as an unsigned number
		w.put("-9223372036854775807-1")
	default:
		w.int(int64(i.Bits))
	}
}

func (w *printer) hex(v uint64, digits int) {
	const hexDigits = "0123456789ABCDEF"
	for i := digits - 1; i >= 0; i-- {
		w.b = append(w.b, hexDigits[v>>(4*i)&15])
	}
}

func (w *printer) sym(s *Sym) {
	if s.Mask != 0 {
		w.put("0x")
		w.b = strconv.AppendUint(w.b, s.Mask, 16)
		w.put("(")
	}
	if s.Generic {
		w.put("generic(", s.Name, ")")
	} else {
		w.put(s.Name)
	}
	w.plus(s.Offset)
	if s.Mask != 0 {
		w.put(")")
	}
}

// plus writes an offset as compilers do. For -8, it writes +-8.
func (w *printer) plus(offset int64) {
	if offset != 0 {
		w.put("+")
		w.int(offset)
	}
}

func (w *printer) addr(a *Addr) {
	w.put("[")
	if a.Base == nil {
		w.int(a.Offset)
	} else {
		w.operand(a.Base)
		w.plus(a.Offset)
	}
	for _, r := range a.Rest {
		w.put(", ")
		w.operand(r)
	}
	w.put("]")
	if a.Suffix != "" {
		w.put(".", a.Suffix)
	}
}

func (w *printer) elem(e *Elem) {
	w.put(e.Name, "[")
	if e.Index == nil {
		w.int(e.Offset)
	} else {
		w.operand(e.Index)
		w.plus(e.Offset)
	}
	w.put("]")
}
