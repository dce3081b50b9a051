package lower

import (
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// operand is an operand of inline PTX.
type operand struct {
	kind string // the function that created it: Out, InOut, In, Addr or SharedAddr
	v    val    // the argument of that function
}

// ptx lowers PTX and PurePTX. Their operands are calls in the argument list.
func (f *frame) ptx(call *ast.CallExpr, in instance, pure bool) []val {
	text, ok := f.constText(f.expr(call.Args[0]))
	if !ok {
		f.errorf(call.Args[0], "const-arg", "text", in.fn.Name())
		return nil
	}
	var operands []operand
	for _, e := range call.Args[1:] {
		o, ok := f.ptxOperand(e)
		if !ok {
			f.errorf(e, "gpu-ptx", "the operand of inline PTX is not a call of a function for operands", "call gpu.Out, InOut, In, Addr or SharedAddr")
			return nil
		}
		operands = append(operands, o)
	}
	f.at(call)
	f.emitPTX(call, text, operands, pure)
	return nil
}

func (f *frame) ptxOperand(e ast.Expr) (operand, bool) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return operand{}, false
	}
	c, ok := f.staticCallee(ast.Unparen(call.Fun))
	if !ok || c == nil || c.in.fn.Pkg() == nil || c.in.fn.Pkg().Path() != pathGPU {
		return operand{}, false
	}
	sig := f.l.subst(c.in.fn.Signature(), f.l.env(c.in)).(*types.Signature)
	kind := c.in.fn.Name()
	switch kind {
	case "Out", "InOut", "In", "Addr", "SharedAddr":
		return operand{kind, f.arguments(call, sig)[0]}, true
	}
	return operand{}, false
}

// emitPTX emits inline PTX with its operands numbered as in an OpAsm: $n for written operands, %n
// for read ones. An operand that is both gets a copy of its old value first.
func (f *frame) emitPTX(n ast.Node, text string, operands []operand, pure bool) {
	names := make([]string, len(operands))
	var args []*ir.Value
	var results []ir.Type
	var targets []loc
	copies := ""
	arg := func(v *ir.Value) string {
		args = append(args, v)
		return "%" + strconv.Itoa(len(args)-1)
	}
	for i, o := range operands {
		switch o.kind {
		case "In":
			names[i] = arg(f.scalar(o.v))
		case "Addr", "SharedAddr":
			x := f.deref(n, o.v)
			p, disp := f.address(x)
			p = f.ptrAdd(p, f.int(disp))
			if o.kind == "Addr" {
				names[i] = arg(f.castSpace(p, ir.Generic))
			} else {
				names[i] = arg(f.op(ir.OpTrunc, ir.TI32, f.emit(ir.OpBitcast, ir.TI64, f.castSpace(p, ir.Shared))))
			}
		default:
			x := f.deref(n, o.v)
			lay := f.l.layout(x.typ)
			if lay.leaf == nil || lay.leaf.mem == ir.MNone {
				f.errorf(n, "gpu-ptx", "an operand of inline PTX is not a number", "pass a pointer to a number or bool")
				return
			}
			t := lay.leaf.regType()
			names[i] = "$" + strconv.Itoa(len(results))
			if o.kind == "InOut" {
				copies += "mov." + movType(t) + " " + names[i] + ", " + arg(f.scalar(f.load(x))) + "; "
			}
			results = append(results, t)
			targets = append(targets, x)
		}
	}
	body, ok := replaceOperands(text, names)
	if !ok {
		f.errorf(n, "gpu-ptx", "inline PTX names an operand that it does not have", "the operands are numbered from %0")
		return
	}
	effect := barrier | ir.Varies
	if pure {
		effect = 0
	}
	v := f.asm(ir.TNone, effect, copies+body, args...)
	switch len(results) {
	case 0:
	case 1:
		v.Type = results[0]
	default:
		v.Type, v.Tuple = ir.TTuple, results
	}
	for i, x := range targets {
		r := v
		if len(results) > 1 {
			r = f.opAux(ir.OpExtract, results[i], int64(i), v)
		}
		// Extend a narrow integer again, because the PTX may have left anything in the upper bits.
		f.store(x, single(x.typ, f.narrow(r, x.typ)))
	}
}

func movType(t ir.Type) string {
	switch t.Kind {
	case ir.Bool:
		return "pred"
	case ir.F32:
		return "f32"
	case ir.F64:
		return "f64"
	case ir.F16, ir.BF16:
		return "b16"
	case ir.I32:
		return "b32"
	}
	return "b64"
}

// replaceOperands replaces %0, %1 and so on with names, and %% with %.
func replaceOperands(text string, names []string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '%' {
			b.WriteByte(text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		switch {
		case end > i+1:
			n, err := strconv.Atoi(text[i+1 : end])
			if err != nil || n >= len(names) {
				return "", false
			}
			b.WriteString(names[n])
			i = end
		case end < len(text) && text[end] == '%':
			b.WriteByte('%')
			i += 2
		default:
			b.WriteByte('%')
			i++
		}
	}
	return b.String(), true
}
