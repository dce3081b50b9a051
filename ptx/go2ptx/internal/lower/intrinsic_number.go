package lower

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// ptxType returns the PTX type of a number type, such as u32 or f64.
func (c *icall) ptxType(t types.Type) string {
	lay := c.l.layout(t)
	if lay.leaf == nil {
		return "b32"
	}
	sign := "u"
	if isSigned(t) {
		sign = "s"
	}
	switch lay.leaf.mem {
	case ir.MF16:
		return "f16"
	case ir.MBF16:
		return "bf16"
	case ir.MF32:
		return "f32"
	case ir.MF64:
		return "f64"
	case ir.M64:
		return sign + "64"
	}
	return sign + "32"
}

// pure returns an intrinsic for PTX without side effects. TYPE in the text stands for the type of
// the first operand.
func pure(text string) func(*icall) []leaf {
	return func(c *icall) []leaf {
		var args []*ir.Value
		for i := range c.operands() {
			args = append(args, c.x(i))
		}
		s := strings.ReplaceAll(text, "TYPE", c.ptxType(c.operands()[0].typ))
		return []leaf{c.asm(c.l.layout(c.res[0]).leaf.regType(), 0, s, args...)}
	}
}

// directed returns an intrinsic for an operation whose last argument is the rounding mode. The
// result must never be fused.
func directed(op ir.Op) func(*icall) []leaf {
	return func(c *icall) []leaf {
		n := len(c.operands()) - 1
		mode := c.constArg(n, "mode")
		if mode < 0 || mode > 3 {
			return c.fail("unknown rounding mode", "use a constant of package gpu")
		}
		var args []*ir.Value
		if c.in.fn.Name() == "RcpRound" {
			one := c.f64Const(1)
			if c.x(0).Type == ir.TF32 {
				one = c.builder.f.Const(ir.TF32, 0x3f800000)
			}
			args = append(args, one)
		}
		for i := range n {
			args = append(args, c.x(i))
		}
		v := c.emit(op, args[0].Type, args...)
		v.Round = ir.Round(mode)
		return []leaf{c.op(ir.OpPin, v.Type, v)}
	}
}

// convertRound lowers cvt, the function that Convert calls.
func convertRound(c *icall) []leaf {
	c.name = "gpu.Convert"
	to, from := c.typeArg(0), c.typeArg(1)
	mode := c.constArg(1, "mode")
	if mode < 0 || mode > 3 {
		return c.fail("unknown rounding mode", "use a constant of package gpu")
	}
	v := c.x(0)
	reg := c.l.layout(to).leaf.regType()
	toFloat, fromFloat := reg.Kind.IsFloat(), v.Type.Kind.IsFloat()
	switch {
	case toFloat && fromFloat && reg == v.Type:
		return []leaf{c.op(ir.OpPin, reg, v)}
	case toFloat && fromFloat:
		r := c.emit(ir.OpFConv, reg, v)
		r.Round = ir.Round(mode)
		return []leaf{r}
	case toFloat:
		op := ir.OpUToF
		if isSigned(from) {
			op = ir.OpSToF
		}
		r := c.emit(op, reg, v)
		r.Round = ir.Round(mode)
		return []leaf{r}
	case fromFloat:
		m := c.l.layout(to).leaf.mem
		r := c.floatToInt(c.opAux(ir.OpFInt, v.Type, mode, v), m, isSigned(to))
		if v.Type == ir.TF64 || m == ir.M64 { // for these types, cvt converts NaN to a value with only the highest bit set
			nan := int64(1) << (8*m.Size() - 1)
			if isSigned(to) {
				nan = -nan
			}
			r = c.sel(c.fcmp(ir.Ne, v, v), c.num(r.Type, nan), r)
		}
		return []leaf{r}
	}
	return []leaf{c.limitInt(v, from, to)}
}

// limitInt converts an integer to another type and clamps it to the range of that type.
func (c *icall) limitInt(v *ir.Value, from, to types.Type) *ir.Value {
	m := c.l.layout(to).leaf.mem
	width := uint(8 * m.Size())
	wide := c.wide(v, isSigned(from))
	low, high := int64(0), int64(1)<<(width-1)-1
	if isSigned(to) {
		low = -1 << (width - 1)
	} else if width < 64 {
		high = int64(1)<<width - 1
	}
	switch {
	case !isSigned(from) && (isSigned(to) || width < 64):
		wide = c.op(ir.OpUMin, ir.TI64, wide, c.int(high))
	case isSigned(from) && !isSigned(to) && width == 64:
		wide = c.op(ir.OpSMax, ir.TI64, wide, c.int(0))
	case isSigned(from):
		wide = c.op(ir.OpSMax, ir.TI64, c.op(ir.OpSMin, ir.TI64, wide, c.int(high)), c.int(low))
	}
	return c.convertInt(wide, types.Typ[types.Int64], m)
}

func roundInt(c *icall) []leaf {
	mode := c.constArg(1, "mode")
	if mode < 0 || mode > 3 {
		return c.fail("unknown rounding mode", "use a constant of package gpu")
	}
	return []leaf{c.opAux(ir.OpFInt, c.x(0).Type, mode, c.x(0))}
}

func mulHi(c *icall) []leaf {
	op := ir.OpMulHiU
	if isSigned(c.typeArg(0)) {
		op = ir.OpMulHiS
	}
	return []leaf{c.op(op, c.x(0).Type, c.x(0), c.x(1))}
}

func lop3(c *icall) []leaf {
	table := c.constArg(3, "table")
	return []leaf{c.opAux(ir.OpLop3, ir.TI32, table&0xff, c.x(0), c.x(1), c.x(2))}
}

// extractField extracts n bits from position pos on. Only the low 8 bits of both numbers are used. It emits bfe only if
// both are constants. Otherwise, ptxas 13.0 can take the result for the same in all threads of a warp if x is,
// although the position is not, and use that of the first thread. In random kernel k700003719 it did.
func extractField(c *icall) []leaf {
	x, pos, n, constant := c.field(0)
	t := x.Type
	if constant {
		return []leaf{c.asm(t, 0, fmt.Sprintf("bfe.%s $0, %%0, %%1, %%2;", c.ptxType(c.typeArg(0))), x, pos, n)}
	}
	if !isSigned(c.typeArg(0)) {
		return []leaf{c.op(ir.OpAnd, t, c.op(ir.OpLShr, t, x, pos), c.lowBits(t, n))}
	}
	width := int64(32)
	if t == ir.TI64 {
		width = 64
	}
	above := c.op(ir.OpSMax, ir.TI32, c.op(ir.OpSub, ir.TI32, c.int32(width), n), c.int32(0))
	return []leaf{c.op(ir.OpAShr, t, c.op(ir.OpShl, t, c.op(ir.OpAShr, t, x, pos), above), above)}
}

// insertField inserts bits. It emits bfi only in the cases in which extractField emits bfe.
func insertField(c *icall) []leaf {
	x, pos, n, constant := c.field(1)
	bits, t := c.x(0), x.Type
	if constant {
		return []leaf{c.asm(t, 0, fmt.Sprintf("bfi.b%s $0, %%0, %%1, %%2, %%3;", c.ptxType(c.typeArg(0))[1:]), bits, x, pos, n)}
	}
	mask := c.op(ir.OpShl, t, c.lowBits(t, n), pos)
	other := c.op(ir.OpAnd, t, x, c.op(ir.OpNot, t, mask))
	return []leaf{c.op(ir.OpOr, t, other, c.op(ir.OpAnd, t, c.op(ir.OpShl, t, bits, pos), mask))}
}

// field returns argument i, the position and length after it, and whether both are constants.
func (c *icall) field(i int) (x, pos, n *ir.Value, constant bool) {
	pos, n = c.and(c.x(i+1), c.int32(255)), c.and(c.x(i+2), c.int32(255))
	return c.x(i), pos, n, pos.Op == ir.OpConst && n.Op == ir.OpConst
}

// lowBits returns a number whose lower n bits are set.
func (c *icall) lowBits(t ir.Type, n *ir.Value) *ir.Value {
	return c.op(ir.OpAdd, t, c.op(ir.OpShl, t, c.builder.f.Const(t, 1), n), c.builder.f.Const(t, -1))
}

// findNthSet limits n, because fns returns 0 on devices if n is the smallest int32. A mask has at most
// 32 bits, so all n below -32 have the same result.
func findNthSet(c *icall) []leaf {
	n := c.op(ir.OpSMax, ir.TI32, c.x(2), c.int32(-33))
	return []leaf{c.asm(ir.TI32, 0, "fns.b32 $0, %0, %1, %2;", c.x(0), c.x(1), n)}
}

// saturated computes with 64 bits. Ptxas 12.4 and 13.0 join add.sat and sub.sat with an addition before
// them and lose the saturation: they compile sub.sat(x+x, x) to x.
func saturated(op ir.Op) func(*icall) []leaf {
	return func(c *icall) []leaf {
		wide := c.op(op, ir.TI64, c.op(ir.OpSExt32, ir.TI64, c.x(0)), c.op(ir.OpSExt32, ir.TI64, c.x(1)))
		return []leaf{c.asm(ir.TI32, 0, "cvt.sat.s32.s64 $0, %0;", wide)}
	}
}

var _ = register(pathGPU, map[string]func(*icall) []leaf{
	"MulHi":                mulHi,
	"Mul24":                pure("mul24.lo.TYPE $0, %0, %1;"),
	"AddSat":               saturated(ir.OpAdd),
	"SubSat":               saturated(ir.OpSub),
	"Sad":                  pure("sad.TYPE $0, %0, %1, %2;"),
	"Dp4a":                 pure("dp4a.TYPE.TYPE $0, %0, %1, %2;"),
	"Dp2aLow":              pure("dp2a.lo.TYPE.TYPE $0, %0, %1, %2;"),
	"Dp2aHigh":             pure("dp2a.hi.TYPE.TYPE $0, %0, %1, %2;"),
	"BytePermute":          pure("prmt.b32 $0, %0, %1, %2;"),
	"Lop3":                 lop3,
	"FunnelShiftLeft":      pure("shf.l.wrap.b32 $0, %0, %1, %2;"),
	"FunnelShiftRight":     pure("shf.r.wrap.b32 $0, %0, %1, %2;"),
	"FunnelShiftLeftClamp": pure("shf.l.clamp.b32 $0, %0, %1, %2;"),

	"FunnelShiftRightClamp": pure("shf.r.clamp.b32 $0, %0, %1, %2;"),
	"Bfe":                   extractField,
	"Bfi":                   insertField,
	"FindNthSet":            findNthSet,

	"FMA":       sameType(ir.OpFMA),
	"AddRound":  directed(ir.OpFAdd),
	"SubRound":  directed(ir.OpFSub),
	"MulRound":  directed(ir.OpFMul),
	"DivRound":  directed(ir.OpFDiv),
	"FMARound":  directed(ir.OpFMA),
	"SqrtRound": directed(ir.OpFSqrt),
	"RcpRound":  directed(ir.OpFDiv),
	"RoundInt":  roundInt,
	"cvt":       convertRound,
	"Saturate":  pure("cvt.sat.TYPE.TYPE $0, %0;"),

	"ApproxSin":      pure("sin.approx.f32 $0, %0;"),
	"ApproxCos":      pure("cos.approx.f32 $0, %0;"),
	"ApproxExp2":     pure("ex2.approx.f32 $0, %0;"),
	"ApproxLog2":     pure("lg2.approx.f32 $0, %0;"),
	"ApproxRcp":      pure("rcp.approx.f32 $0, %0;"),
	"ApproxRsqrt":    pure("rsqrt.approx.f32 $0, %0;"),
	"ApproxSqrt":     pure("sqrt.approx.f32 $0, %0;"),
	"ApproxTanh":     pure("tanh.approx.f32 $0, %0;"),
	"ApproxExp2FTZ":  pure("ex2.approx.ftz.f32 $0, %0;"),
	"ApproxLog2FTZ":  pure("lg2.approx.ftz.f32 $0, %0;"),
	"ApproxRcpFTZ":   pure("rcp.approx.ftz.f32 $0, %0;"),
	"ApproxRsqrtFTZ": pure("rsqrt.approx.ftz.f32 $0, %0;"),
	"ApproxDiv":      pure("div.approx.f32 $0, %0, %1;"),
})

// mbarrier returns an intrinsic for an operation on a Barrier, whose address is in shared memory.
func mbarrier(text string, result ir.Type, args ...int) func(*icall) []leaf {
	return func(c *icall) []leaf {
		list := []*ir.Value{c.barrierAddress()}
		for _, i := range args {
			v := c.scalar(c.args[i])
			if c.l.layout(c.args[i].typ).leaf.mem == ir.M64 && !isNamed(c.args[i].typ, pathGPU, "BarrierPhase") {
				v = c.to32(v)
			}
			list = append(list, v)
		}
		v := c.asm(result, barrier|ir.Varies, text, list...)
		if result == ir.TNone {
			return nil
		}
		return []leaf{v}
	}
}

func (c *icall) barrierAddress() *ir.Value {
	x := c.deref(c.n, c.args[0])
	if x.none {
		return c.undef(ir.PtrTo(ir.Shared))
	}
	p, disp := c.address(x)
	return c.castSpace(c.ptrAdd(p, c.int(disp)), ir.Shared)
}

var _ = register(pathGPU, map[string]func(*icall) []leaf{
	"Barrier.Init":         mbarrier("mbarrier.init.shared.b64 [%0], %1;", ir.TNone, 2),
	"Barrier.Invalidate":   mbarrier("mbarrier.inval.shared.b64 [%0];", ir.TNone),
	"Barrier.Arrive":       mbarrier("mbarrier.arrive.shared.b64 $0, [%0];", ir.TI64),
	"Barrier.ArriveCount":  mbarrier("mbarrier.arrive.shared::cta.b64 $0, [%0], %1;", ir.TI64, 2),
	"Barrier.ArriveExpect": mbarrier("mbarrier.arrive.expect_tx.shared::cta.b64 $0, [%0], %1;", ir.TI64, 2),
	"Barrier.ArriveDrop":   mbarrier("mbarrier.arrive_drop.shared.b64 $0, [%0];", ir.TI64),
	"Barrier.Test":         mbarrier("mbarrier.test_wait.shared.b64 $0, [%0], %1;", ir.TBool, 2),
	"Barrier.Wait":         mbarrierLoop("test_wait", 2),
	"Barrier.TestParity":   mbarrier("mbarrier.test_wait.parity.shared.b64 $0, [%0], %1;", ir.TBool, 2),
	"Barrier.WaitParity":   mbarrierLoop("test_wait.parity", 2),
	"CopyBulk":             copyBulk,
	"CopyBulkOut":          copyBulkOut,
})

// mbarrierLoop returns an intrinsic that waits for an mbarrier in a loop.
func mbarrierLoop(op string, arg int) func(*icall) []leaf {
	test := mbarrier("mbarrier."+op+".shared.b64 $0, [%0], %1;", ir.TBool, arg)
	return func(c *icall) []leaf {
		head, end := c.newBlock(), c.newBlock()
		c.jump(head)
		c.start(head)
		done := test(c)[0].(*ir.Value)
		c.branch(done, end, head)
		c.seal(head)
		c.enter(end)
		return nil
	}
}

// bulkSlices checks that two slices have the same length, and returns their addresses and their
// size in bytes.
func (c *icall) bulkSlices(dst, src ir.Space) (to, from, size *ir.Value) {
	list := c.operands()
	n, m := c.value(list[0].leaves[1]), c.value(list[1].leaves[1])
	c.check("slice", "the slices of a bulk copy differ in length", c.cmp(ir.Eq, n, m), c.int(0), n, m)
	lay := c.l.layout(c.typeArg(0))
	to = c.castSpace(c.value(list[0].leaves[0]), dst)
	from = c.castSpace(c.value(list[1].leaves[0]), src)
	return to, from, c.to32(c.mul(n, c.int(lay.size)))
}

func copyBulk(c *icall) []leaf {
	to, from, size := c.bulkSlices(ir.Shared, ir.Global)
	x := c.deref(c.n, c.operands()[2])
	if x.none {
		return nil
	}
	p, disp := c.address(x)
	bar := c.castSpace(c.ptrAdd(p, c.int(disp)), ir.Shared)
	c.asm(ir.TNone, asyncCopy, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];", to, from, size, bar)
	return nil
}

func copyBulkOut(c *icall) []leaf {
	to, from, size := c.bulkSlices(ir.Global, ir.Shared)
	c.asm(ir.TNone, asyncCopy, "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;", to, from, size)
	return nil
}
