package opt

import (
	"math"
	"math/bits"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// interval is a range of signed values, including both ends.
type interval struct{ lo, hi int64 }

func (r interval) within(lo, hi int64) bool { return r.lo >= lo && r.hi <= hi }

func full(k ir.Kind) interval {
	if k == ir.I32 {
		return interval{math.MinInt32, math.MaxInt32}
	}
	return interval{math.MinInt64, math.MaxInt64}
}

// limits lists the largest values of special registers. The smallest value is 0, or 1 for sizes.
var limits = map[string]int64{
	"%tid.x": 1023, "%tid.y": 1023, "%tid.z": 63, "%ntid.x": 1024, "%ntid.y": 1024, "%ntid.z": 64,
	"%ctaid.x": math.MaxInt32 - 1, "%ctaid.y": 65534, "%ctaid.z": 65534,
	"%nctaid.x": math.MaxInt32, "%nctaid.y": 65535, "%nctaid.z": 65535, "%laneid": 31,
}

// ranger computes ranges. Its function, if not nil, returns what is known in addition about a
// value.
type ranger struct {
	known func(v *ir.Value, depth int) (interval, bool)
}

// rangeOf returns the range of an integer, computed from its operands up to the given depth.
func rangeOf(v *ir.Value, depth int) interval { return ranger{}.of(v, depth) }

func (r ranger) of(v *ir.Value, depth int) interval {
	x := r.structural(v, depth)
	if r.known != nil && v.Type.Kind.IsInt() && v.Op != ir.OpConst {
		if k, ok := r.known(v, depth); ok {
			x = interval{max(x.lo, k.lo), min(x.hi, k.hi)}
		}
	}
	return x
}

func (r ranger) structural(v *ir.Value, depth int) interval {
	all := full(v.Type.Kind)
	if v.Op == ir.OpConst {
		return interval{v.Aux, v.Aux}
	}
	if depth == 0 || !v.Type.Kind.IsInt() {
		return all
	}
	arg := func(i int) interval { return r.of(v.Args[i], depth-1) }
	switch v.Op {
	case ir.OpSpecial:
		if hi, ok := limits[v.Sym]; ok {
			lo := int64(0)
			if strings.HasPrefix(v.Sym, "%n") {
				lo = 1
			}
			return interval{lo, hi}
		}
		if v.Type.Kind == ir.I64 && !strings.HasSuffix(v.Sym, "64") && v.Sym != "%globaltimer" && v.Sym != "%gridid" && v.Sym != "%current_graph_exec" {
			return interval{0, math.MaxUint32}
		}
	case ir.OpLoad:
		return loaded(v.Mem, all)
	case ir.OpExtract:
		if l := v.Args[0]; l.Op == ir.OpLoadV {
			return loaded(l.Mem, all)
		}
	case ir.OpAdd, ir.OpSub, ir.OpMul:
		x := clamp(arith(v.Op, arg(0), arg(1)), all)
		if v.Op == ir.OpSub {
			if y, ok := r.cleared(v.Args[0], v.Args[1], depth-1); ok {
				return interval{max(x.lo, y.lo), min(x.hi, y.hi)}
			}
		}
		return x
	case ir.OpMulWideS:
		return clamp(arith(ir.OpMul, arg(0), arg(1)), all)
	case ir.OpMulWideU:
		if a, b := arg(0), arg(1); a.lo >= 0 && b.lo >= 0 {
			return clamp(arith(ir.OpMul, a, b), all)
		}
	case ir.OpSExt32, ir.OpSMin, ir.OpSMax, ir.OpUMin, ir.OpUMax, ir.OpSelect:
		return combined(v, arg, all)
	case ir.OpZExt32:
		if x := arg(0); x.lo >= 0 {
			return x
		}
		return interval{0, math.MaxUint32}
	case ir.OpTrunc:
		if x := arg(0); x.within(math.MinInt32, math.MaxInt32) {
			return x
		}
	default:
		return bitRange(v, arg, all)
	}
	return all
}

// cleared returns the range of y-x if x is z&m for a number z that is not negative, and y is z or z·k. As x is at
// most z, the difference is not negative. If m is 2^j-1, the difference is h·k + l·(k-1), where h is z without
// the j low bits, and l is these bits.
func (r ranger) cleared(y, x *ir.Value, depth int) (interval, bool) {
	if x.Op != ir.OpAnd || depth <= 0 {
		return interval{}, false
	}
	for i, z := range x.Args {
		most := r.of(z, depth)
		k, ok := factor(y)
		switch {
		case most.lo < 0:
			continue
		case y == z:
			k = 1
		case !ok || y.Args[0] != z || !arith(ir.OpMul, most, interval{k, k}).within(0, full(y.Type.Kind).hi):
			continue
		}
		hi := most.hi * k
		if m := x.Args[1-i]; isConst(m) && m.Aux >= 0 && m.Aux&(m.Aux+1) == 0 && m.Aux <= most.hi {
			hi = (most.hi&^m.Aux)*k + m.Aux*(k-1)
		}
		return interval{0, hi}, true
	}
	return interval{}, false
}

func loaded(m ir.Mem, all interval) interval {
	switch m {
	case ir.MS8:
		return interval{math.MinInt8, math.MaxInt8}
	case ir.MU8:
		return interval{0, math.MaxUint8}
	case ir.MS16:
		return interval{math.MinInt16, math.MaxInt16}
	case ir.MU16:
		return interval{0, math.MaxUint16}
	}
	return all
}

func combined(v *ir.Value, arg func(int) interval, all interval) interval {
	switch v.Op {
	case ir.OpSExt32:
		return arg(0)
	case ir.OpSelect:
		a, b := arg(1), arg(2)
		return interval{min(a.lo, b.lo), max(a.hi, b.hi)}
	}
	a, b := arg(0), arg(1)
	signed := a.lo >= 0 && b.lo >= 0 || v.Op == ir.OpSMin || v.Op == ir.OpSMax
	switch {
	case signed && (v.Op == ir.OpSMin || v.Op == ir.OpUMin):
		return interval{min(a.lo, b.lo), min(a.hi, b.hi)}
	case signed:
		return interval{max(a.lo, b.lo), max(a.hi, b.hi)}
	case v.Op == ir.OpUMin && a.lo >= 0:
		return interval{0, a.hi}
	case v.Op == ir.OpUMin && b.lo >= 0:
		return interval{0, b.hi}
	}
	return all
}

func bitRange(v *ir.Value, arg func(int) interval, all interval) interval {
	switch v.Op {
	case ir.OpSExt8:
		return interval{math.MinInt8, math.MaxInt8}
	case ir.OpSExt16:
		return interval{math.MinInt16, math.MaxInt16}
	case ir.OpZExt8:
		return interval{0, math.MaxUint8}
	case ir.OpZExt16:
		return interval{0, math.MaxUint16}
	case ir.OpClz, ir.OpPopc:
		return interval{0, 64}
	case ir.OpAnd:
		a, b := arg(0), arg(1)
		switch {
		case a.lo >= 0 && b.lo >= 0:
			return interval{0, min(a.hi, b.hi)}
		case b.lo >= 0:
			return interval{0, b.hi}
		case a.lo >= 0:
			return interval{0, a.hi}
		}
	case ir.OpOr, ir.OpXor:
		if a, b := arg(0), arg(1); a.lo >= 0 && b.lo >= 0 {
			return interval{0, ones(max(a.hi, b.hi))}
		}
	case ir.OpLShr, ir.OpAShr:
		n := v.Args[1]
		a := arg(0)
		if !isConst(n) || n.Aux < 0 || n.Aux >= int64(v.Type.Kind.Bits()) {
			if a.lo >= 0 {
				return interval{0, a.hi}
			}
			return all
		}
		if v.Op == ir.OpLShr && a.lo < 0 {
			if n.Aux == 0 {
				return all
			}
			return interval{0, int64(^uint64(0) >> (64 - v.Type.Kind.Bits()) >> n.Aux)}
		}
		return interval{a.lo >> n.Aux, a.hi >> n.Aux}
	case ir.OpShl:
		if n := v.Args[1]; isConst(n) && n.Aux >= 0 && n.Aux < 62 {
			return clamp(arith(ir.OpMul, arg(0), interval{1 << n.Aux, 1 << n.Aux}), all)
		}
	case ir.OpUDiv, ir.OpSDiv:
		if a, b := arg(0), arg(1); a.lo >= 0 && b.lo > 0 {
			return interval{a.lo / b.hi, a.hi / b.lo}
		}
	case ir.OpURem, ir.OpSRem:
		switch a, b := arg(0), arg(1); {
		case a.lo >= 0 && b.lo > 0:
			return interval{0, multipleBelow(min(a.hi, b.hi-1), v.Args[0], v.Args[1])}
		case v.Op == ir.OpURem && b.lo > 0:
			return interval{0, b.hi - 1}
		}
	}
	return all
}

// ones returns the largest number that has as many bits as x.
func ones(x int64) int64 { return 1<<bits.Len64(uint64(x)) - 1 }

// arith returns the range of a result. If it exceeds the range of the type, clamp widens it to all
// values.
func arith(op ir.Op, a, b interval) interval {
	const none = math.MinInt64
	wide := interval{none, math.MaxInt64}
	switch op {
	case ir.OpAdd:
		lo, ok1 := addOK(a.lo, b.lo)
		hi, ok2 := addOK(a.hi, b.hi)
		if ok1 && ok2 {
			return interval{lo, hi}
		}
	case ir.OpSub:
		lo, ok1 := subOK(a.lo, b.hi)
		hi, ok2 := subOK(a.hi, b.lo)
		if ok1 && ok2 {
			return interval{lo, hi}
		}
	case ir.OpMul:
		r := interval{math.MaxInt64, math.MinInt64}
		for _, x := range []int64{a.lo, a.hi} {
			for _, y := range []int64{b.lo, b.hi} {
				p := x * y
				if x != 0 && (p/x != y || x == -1 && y == math.MinInt64) {
					return wide
				}
				r = interval{min(r.lo, p), max(r.hi, p)}
			}
		}
		return r
	}
	return wide
}

func addOK(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func subOK(a, b int64) (int64, bool) {
	s := a - b
	return s, (s < a) == (b > 0)
}

func clamp(r, all interval) interval {
	if r.lo < all.lo || r.hi > all.hi {
		return all
	}
	return r
}
