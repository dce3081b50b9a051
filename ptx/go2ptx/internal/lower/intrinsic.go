package lower

import (
	"go/ast"
	"go/types"
	"math/bits"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// icall is a call of an intrinsic.
type icall struct {
	*frame
	n    ast.Node
	in   instance
	args []val // the receiver is first
	res  []types.Type
	name string
}

// intrinsics maps the path and name of a function to the code that lowers it. A method's name is
// preceded by the name of its type. The lowering function returns the leaves of all results,
// concatenated.
var intrinsics = map[string]func(*icall) []leaf{}

// register adds the intrinsics of a package.
func register(path string, table map[string]func(*icall) []leaf) bool {
	for name, f := range table {
		intrinsics[path+"."+name] = f
	}
	return true
}

// intrinsic lowers a call if the function is an intrinsic.
func (f *frame) intrinsic(n ast.Node, in instance, args []val) ([]val, bool) {
	fn := in.fn
	if fn.Pkg() == nil {
		return nil, false
	}
	name := fn.Name()
	if r := fn.Signature().Recv(); r != nil {
		t := types.Unalias(r.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if named, ok := t.(*types.Named); ok {
			name = named.Obj().Name() + "." + name
		}
	}
	do := intrinsics[fn.Pkg().Path()+"."+name]
	if do == nil || f.scratch && fn.Pkg().Path() == pathNum {
		return nil, false
	}
	c := &icall{frame: f, n: n, in: in, args: args, name: fn.Pkg().Name() + "." + name}
	if onlyPlain[fn.Pkg().Path()+"."+name] && !isPlainFloat(c.typeArg(0)) {
		return nil, false
	}
	sig := f.l.subst(fn.Signature(), f.l.env(in)).(*types.Signature)
	for i := range sig.Results().Len() {
		c.res = append(c.res, sig.Results().At(i).Type())
	}
	leaves := do(c)
	var results []val
	for _, t := range c.res {
		size := f.l.layout(t).leaves
		if len(leaves) < size {
			results = append(results, f.zeroOf(t))
			continue
		}
		results = append(results, val{typ: t, leaves: leaves[:size:size]})
		leaves = leaves[size:]
	}
	return results, true
}

// x returns the register of argument i, which must have one leaf. Thread arguments have no leaves
// and are not counted.
func (c *icall) x(i int) *ir.Value {
	list := c.operands()
	if i >= len(list) {
		return c.undef(ir.TI64)
	}
	return c.scalar(list[i])
}

// operands returns the arguments without Thread values.
func (c *icall) operands() []val {
	if len(c.args) > 0 && isNamed(c.args[0].typ, pathGPU, "Thread") {
		return c.args[1:]
	}
	var list []val
	for _, a := range c.args {
		if !isNamed(a.typ, pathGPU, "Thread") {
			list = append(list, a)
		}
	}
	return list
}

// i32 returns an integer argument converted to 32 bits.
func (c *icall) i32(i int) *ir.Value { return c.to32(c.x(i)) }

func (b *builder) to32(v *ir.Value) *ir.Value {
	if v.Type == ir.TI64 {
		return b.op(ir.OpTrunc, ir.TI32, v)
	}
	return v
}

// constArg returns an argument that must be constant.
func (c *icall) constArg(i int, what string) int64 {
	v := c.x(i)
	if v.Op != ir.OpConst {
		c.errorf(c.n, "const-arg", what, c.name)
		return 0
	}
	return v.Aux
}

func (c *icall) fail(message, advice string) []leaf {
	c.errorf(c.n, "gpu-ptx", c.name+": "+message, advice)
	return nil
}

// typeArg returns type argument i.
func (c *icall) typeArg(i int) types.Type {
	if i < len(c.in.args) {
		return c.in.args[i]
	}
	return types.Typ[types.Int]
}

// sameType returns an intrinsic for an operation whose operands and result have the same type.
func sameType(op ir.Op) func(*icall) []leaf {
	return func(c *icall) []leaf {
		var args []*ir.Value
		for i := range c.operands() {
			args = append(args, c.x(i))
		}
		return []leaf{c.op(op, args[0].Type, args...)}
	}
}

// conv returns an intrinsic for an operation whose result has type t.
func conv(op ir.Op, t ir.Type) func(*icall) []leaf {
	return func(c *icall) []leaf { return []leaf{c.op(op, t, c.x(0))} }
}

// counted returns an intrinsic for an operation whose result is an int.
func counted(op ir.Op) func(*icall) []leaf {
	return func(c *icall) []leaf {
		v := c.x(0)
		if v.Op == ir.OpConst && op == ir.OpClz && v.Type == ir.TI64 {
			return []leaf{c.int(int64(bits.LeadingZeros64(uint64(v.Aux))))}
		}
		return []leaf{c.wide(c.op(op, ir.TI32, v), false)}
	}
}

func rounded(r ir.Round) func(*icall) []leaf {
	return func(c *icall) []leaf { return []leaf{c.opAux(ir.OpFInt, c.x(0).Type, int64(r), c.x(0))} }
}

var _ = register("math", map[string]func(*icall) []leaf{
	"Float32bits":     conv(ir.OpBitcast, ir.TI32),
	"Float32frombits": conv(ir.OpBitcast, ir.TF32),
	"Float64bits":     conv(ir.OpBitcast, ir.TI64),
	"Float64frombits": conv(ir.OpBitcast, ir.TF64),
	"Sqrt":            sameType(ir.OpFSqrt),
	"FMA":             sameType(ir.OpFMA),
	"Abs":             sameType(ir.OpFAbs),
	"Floor":           rounded(ir.RM),
	"Ceil":            rounded(ir.RP),
	"Trunc":           rounded(ir.RZ),
	"RoundToEven":     rounded(ir.RN),
})

var _ = register("math/bits", map[string]func(*icall) []leaf{
	"LeadingZeros32": counted(ir.OpClz),
	"LeadingZeros64": counted(ir.OpClz),
	"OnesCount32":    counted(ir.OpPopc),
	"OnesCount64":    counted(ir.OpPopc),
	"Reverse32":      sameType(ir.OpBrev),
	"Reverse64":      sameType(ir.OpBrev),
	"ReverseBytes32": sameType(ir.OpBswap),
	"ReverseBytes64": func(c *icall) []leaf {
		x, k := c.x(0), c.builder.f.Const(ir.TI32, 32)
		high := c.op(ir.OpBswap, ir.TI32, c.op(ir.OpTrunc, ir.TI32, c.op(ir.OpLShr, ir.TI64, x, k)))
		low := c.op(ir.OpBswap, ir.TI32, c.op(ir.OpTrunc, ir.TI32, x))
		return []leaf{c.op(ir.OpOr, ir.TI64, c.op(ir.OpShl, ir.TI64, c.wide(low, false), k), c.wide(high, false))}
	},
	"Mul64": func(c *icall) []leaf {
		return []leaf{c.op(ir.OpMulHiU, ir.TI64, c.x(0), c.x(1)), c.mul(c.x(0), c.x(1))}
	},
})

// pinned returns an intrinsic for an operation that must never be fused.
func pinned(op ir.Op) func(*icall) []leaf {
	return func(c *icall) []leaf {
		v := sameType(op)(c)[0].(*ir.Value)
		return []leaf{c.op(ir.OpPin, v.Type, v)}
	}
}

// numArithmetic lists the operations of package num that are IR operations for all its types. Other
// functions are compiled from their Go source.
var numArithmetic = map[string]func(*icall) []leaf{
	"Add": pinned(ir.OpFAdd), "Sub": pinned(ir.OpFSub), "Mul": pinned(ir.OpFMul), "Div": sameType(ir.OpFDiv),
	"FMA": sameType(ir.OpFMA), "Sqrt": sameType(ir.OpFSqrt),
}

// onlyPlain lists functions that are intrinsics only for float32 and float64. For 16-bit types,
// they are compiled from their Go source, because PTX has min and max only for newer targets.
var onlyPlain = map[string]bool{pathNum + ".Min": true, pathNum + ".Max": true, pathNum + ".Abs": true}

func isPlainFloat(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}

var _ = registerNum()

func registerNum() bool {
	for name, do := range numArithmetic {
		intrinsics[pathNum+"."+name] = do
		intrinsics[pathNum+".F16."+name] = do
		intrinsics[pathNum+".BF16."+name] = do
	}
	return register(pathNum, map[string]func(*icall) []leaf{
		// If one operand is NaN, these return the other one, unlike Go's min and max.
		"Min":             pure("min.TYPE $0, %0, %1;"),
		"Max":             pure("max.TYPE $0, %0, %1;"),
		"Abs":             sameType(ir.OpFAbs),
		"ToF16":           conv(ir.OpFConv, ir.TF16),
		"ToBF16":          conv(ir.OpFConv, ir.TBF16),
		"F16FromFloat64":  conv(ir.OpFConv, ir.TF16),
		"BF16FromFloat64": conv(ir.OpFConv, ir.TBF16),
		"F16.Float32":     conv(ir.OpFConv, ir.TF32),
		"BF16.Float32":    conv(ir.OpFConv, ir.TF32),
		"F16.Float64":     conv(ir.OpFConv, ir.TF64),
		"BF16.Float64":    conv(ir.OpFConv, ir.TF64),
	})
}
