package isa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// rules maps the names in the last column of the table to their checks.
var rules map[string]rule

func init() {
	rules = map[string]rule{
		"xorsign":  xorsign,
		"cvta":     cvtaRule,
		"cvtint":   cvtIntRule,
		"rowcol":   rowCol,
		"fraction": fractionRule,
		"sparse":   sparseRule,
		"wgmma":    wgmmaRule,
		"vmad":     vmadRule,
		"branch":   branchRule, "branchtable": branchTableRule,
		"memory":   memoryRule,
		"prefetch": prefetchRule,
		"store":    storeRule,
		"load":     loadRule,
		"atomic":   atomicRule,
		"barrier":  barrierRule,
		"call":     callRule,
		"alloca":   allocaRule,
		"cpasync":  cpAsyncRule, "cpasync16": cpAsync16Rule,
		"sametypes": sameTypes,
		"tensor":    tensorRule,
	}
}

func has(in *ptx.Instr, mod string) bool { return slices.Contains(in.Op.Mods, mod) }

// xorsign requires .xorsign and .abs to appear together.
func xorsign(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	if has(in, "xorsign") != has(in, "abs") {
		return ".xorsign and .abs must be used together"
	}
	return ""
}

// cvtaRule requires the source of .to to be a register. Otherwise, a variable must be in the given
// state space.
func cvtaRule(c *checker, _ *Form, m *match, in *ptx.Instr) string {
	var name string
	switch o := in.Args[1].(type) {
	case *ptx.Sym:
		name = o.Name
	case *ptx.Elem:
		name = o.Name
	default:
		return ""
	}
	if has(in, "to") {
		return "operand 2 must be a register: .to converts a generic address, which a variable's name is not"
	}
	if v, _ := c.lookup(name); v != nil {
		if s, ok := ptx.ParseSpace(m.space[0]); ok && s != v.Space {
			return fmt.Sprintf("%s is in .%s, not in .%s", name, v.Space, m.space[0])
		}
	}
	return ""
}

// memoryRule limits a vector to 16 bytes.
func memoryRule(_ *checker, _ *Form, m *match, _ *ptx.Instr) string {
	if n := max(m.vector, 1) * m.types[0].Size(); n > 16 {
		return fmt.Sprintf("a vector of %d bytes; at most 16 are allowed", n)
	}
	return ""
}

// prefetchRule allows prefetch sizes such as .L2::64B only for global memory and generic addresses.
func prefetchRule(_ *checker, _ *Form, m *match, in *ptx.Instr) string {
	if m.space[0] == "" || m.space[0] == "global" {
		return ""
	}
	for _, mod := range []string{"L2::64B", "L2::128B", "L2::256B"} {
		if has(in, mod) {
			return "." + mod + " is for .global"
		}
	}
	return ""
}

// storeRule rejects stores to the input parameters of the same function.
func storeRule(c *checker, _ *Form, m *match, in *ptx.Instr) string {
	if m.space[0] != "param" || c.fn == nil {
		return ""
	}
	a, ok := in.Args[0].(*ptx.Addr)
	if !ok {
		return ""
	}
	s, ok := a.Base.(*ptx.Sym)
	if !ok {
		return ""
	}
	if anyNamed(c.fn.Params, s.Name) {
		return s.Name + " is an input parameter, which the function cannot write"
	}
	return ""
}

// loadRule rejects loads from the result of the same function.
func loadRule(c *checker, _ *Form, m *match, in *ptx.Instr) string {
	if m.space[0] != "param" || c.fn == nil {
		return ""
	}
	if a, ok := in.Args[1].(*ptx.Addr); ok {
		if s, ok := a.Base.(*ptx.Sym); ok {
			if anyNamed(c.fn.Return, s.Name) {
				return s.Name + " is the function's result, which it cannot read"
			}
		}
	}
	return ""
}

// anyNamed reports whether any parameter has the given name. Ptxas mistakes a variable in a nested
// block for a parameter with the same name.
func anyNamed(params []*ptx.Variable, name string) bool {
	return slices.ContainsFunc(params, func(v *ptx.Variable) bool { return v.Name == name })
}

// atomicRule rejects shared-memory atomics for targets below sm_12, and 64-bit ones for targets
// below sm_20.
func atomicRule(c *checker, _ *Form, m *match, in *ptx.Instr) string {
	switch shared := strings.HasPrefix(m.space[0], "shared"); {
	case shared && c.target < 12:
		return ".shared needs sm_12; the text is " + c.text.String()
	case shared && m.types[0].Size() == 8 && c.target < 20:
		return "64-bit operations in .shared need sm_20; the text is " + c.text.String()
	}
	return ""
}

// barrierRule checks constant operands: the barrier number must be from 0 to 15, and the number of
// threads must be a multiple of 32. For arrive, the number of threads must not be 0.
func barrierRule(_ *checker, f *Form, m *match, in *ptx.Instr) string {
	at := 0
	if f.nType > 0 {
		at = 1
	}
	if i, ok := in.Args[at].(*ptx.Imm); ok && (i.Int64() < 0 || i.Int64() > 15) {
		return fmt.Sprintf("there is no barrier %d: barriers are 0 to 15", i.Int64())
	}
	if at+1 < len(in.Args) {
		if i, ok := in.Args[at+1].(*ptx.Imm); ok && f.args[at+1].kind == argSrc {
			switch {
			case i.Int64()%32 != 0:
				return fmt.Sprintf("%d threads are not a whole number of warps of 32", i.Int64())
			case i.Int64() == 0 && f.sub[len(f.sub)-1] == "arrive":
				return "the number of threads is 0"
			}
		}
	}
	return ""
}

func allocaRule(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	if len(in.Args) < 3 {
		return ""
	}
	if i := in.Args[2].(*ptx.Imm); i.Bits == 0 || i.Bits&(i.Bits-1) != 0 {
		return fmt.Sprintf("alignment %d is not a power of two", i.Int64())
	}
	return ""
}

func cpAsyncRule(_ *checker, f *Form, _ *match, in *ptx.Instr) string {
	if i := in.Args[2].(*ptx.Imm); i.Int64() != 4 && i.Int64() != 8 && i.Int64() != 16 {
		return fmt.Sprintf("operand 3 is %d: 4, 8 or 16 bytes are copied", i.Int64())
	}
	return sourceBytes(f, in)
}

func cpAsync16Rule(_ *checker, f *Form, _ *match, in *ptx.Instr) string {
	if i := in.Args[2].(*ptx.Imm); i.Int64() != 16 {
		return fmt.Sprintf("operand 3 is %d: with .cg it must be 16", i.Int64())
	}
	return sourceBytes(f, in)
}

// sourceBytes limits the number of bytes that cp.async reads. The assembler accepts a constant for
// this number even in forms that have a predicate in that position.
func sourceBytes(f *Form, in *ptx.Instr) string {
	if len(in.Args) < 4 || f.args[3].kind != argPred && f.args[3].typ != ptx.U32 {
		return ""
	}
	size := in.Args[2].(*ptx.Imm).Int64()
	if i, ok := in.Args[3].(*ptx.Imm); ok && (i.Int64() < 0 || i.Int64() > size) {
		return fmt.Sprintf("operand 4 is %d: it must be from 0 to %d", i.Int64(), size)
	}
	return ""
}

// sameTypes requires both factors to have the same type.
func sameTypes(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	var types []string
	for _, mod := range in.Op.Mods {
		if isType(mod) {
			types = append(types, mod)
		}
	}
	if types[1] != types[2] {
		return "." + types[1] + " and ." + types[2] + " do not go together"
	}
	return ""
}

// cvtIntRule allows saturation only if the result type cannot represent every value.
func cvtIntRule(_ *checker, _ *Form, m *match, in *ptx.Instr) string {
	if !has(in, "sat") {
		return ""
	}
	d, a := m.types[0], m.types[1]
	ds, as := d.Kind() == ptx.KindSigned, a.Kind() == ptx.KindSigned
	if ds == as && d.Size() >= a.Size() || ds && d.Size() > a.Size() {
		return fmt.Sprintf(".%s holds every .%s, so .sat has no effect", d, a)
	}
	return ""
}

// rowCol requires a .col after .row.
func rowCol(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	if slices.Index(in.Op.Mods, "row") > slices.Index(in.Op.Mods, "col") {
		return "the layouts are .row.col"
	}
	return ""
}

// vmadRule allows a minus on the product or on the addend, but not on both, and not with
// .po.
func vmadRule(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	neg := func(i int) bool { r, ok := in.Args[i].(*ptx.Reg); return ok && r.Neg }
	switch product := neg(1) != neg(2); {
	case product && neg(3):
		return "only one of the product and the addend can be negated"
	case (neg(1) || neg(2) || neg(3)) && has(in, "po"):
		return ".po and a negated operand do not go together"
	}
	return ""
}

func branchRule(c *checker, _ *Form, _ *match, in *ptx.Instr) string {
	return c.labelOf(in.Args[0], plainLabel, "a label of this function")
}

func branchTableRule(c *checker, _ *Form, _ *match, in *ptx.Instr) string {
	return c.labelOf(in.Args[1], branchTable, "the label of a .branchtargets")
}

func (c *checker) labelOf(o ptx.Operand, kind labelKind, what string) string {
	if s, ok := o.(*ptx.Sym); ok && c.labels[s.Name] != kind {
		return s.Name + " is not " + what
	}
	return ""
}

// wgmmaRule checks the operands of a warpgroup matrix multiplication in order: the result
// registers, the first factor (a descriptor or registers), the descriptor of the second factor, the
// predicate, and the signs and layouts, which depend on the types.
func wgmmaRule(c *checker, _ *Form, m *match, in *ptx.Instr) string {
	columns := 0
	for _, mod := range in.Op.Mods {
		if _, err := fmt.Sscanf(mod, "m64n%dk", &columns); err == nil {
			break
		}
	}
	count, t := columns/2, m.types[0]
	if t == ptx.F16 {
		count, t = columns/4, ptx.F16x2
	}
	d, ok := in.Args[0].(*ptx.Vec)
	if !ok || len(d.Elems) != count {
		return fmt.Sprintf("operand 1 must be a vector of %d registers", count)
	}
	args := []arg{{kind: argDst, typ: t, count: 1}}
	if why := c.elements(&args[0], t, d); why != fine {
		return "operand 1 " + c.reasonText(why, &args[0], m, d)
	}
	first := arg{kind: argReg, typ: ptx.U64}
	_, registers := in.Args[1].(*ptx.Vec)
	if registers {
		first = arg{kind: argReg, typ: ptx.B32, count: 4}
	}
	args = append(args, first, arg{kind: argReg, typ: ptx.U64})
	if has(in, "sp") {
		args = append(args, arg{kind: argReg, typ: ptx.B32}, arg{kind: argImm})
	}
	args = append(args, arg{kind: argPred, typ: ptx.Pred})
	constants := 0
	switch m.types[1] {
	case ptx.F16, ptx.BF16:
		if constants = 4; registers {
			constants = 3
		}
	case ptx.TF32, ptx.E4M3, ptx.E5M2:
		constants = 2
	}
	for range constants {
		args = append(args, arg{kind: argImm})
	}
	if len(in.Args) != len(args) {
		return fmt.Sprintf("%d operands; it takes %d", len(in.Args), len(args))
	}
	for i := 1; i < len(args); i++ {
		if why := c.operand(&args[i], m, in.Args[i]); why != fine {
			return fmt.Sprintf("operand %d %s", i+1, c.reasonText(why, &args[i], m, in.Args[i]))
		}
	}
	return ""
}

// sparseRule requires the metadata to be a register. The compiler also accepts a vector.
func sparseRule(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	if _, ok := in.Args[4].(*ptx.Imm); ok {
		return "operand 5 must be a register, .b32"
	}
	return ""
}

// fractionRule requires operand 2, if it is a constant, to be greater than 0 and at most 1.
func fractionRule(_ *checker, _ *Form, _ *match, in *ptx.Instr) string {
	if len(in.Args) < 2 {
		return ""
	}
	if i, ok := in.Args[1].(*ptx.Imm); ok && (i.Float64() <= 0 || i.Float64() > 1) {
		return fmt.Sprintf("the fraction is %v: it must be above 0 and at most 1", i.Float64())
	}
	return ""
}
