package vm

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// The SIMD video instructions, such as vadd4 and vabsdiff2. They operate on the two halves or four
// bytes of a register (PTX ISA, "SIMD Video Instructions").

func init() {
	for _, op := range []string{"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"} {
		register(lowerVideo, op+"2", op+"4")
	}
}

type video struct {
	parts      int // number of parts: 2 or 4
	op         func(a, b int64) int64
	signedA    bool
	signedB    bool
	signed     bool // the result is signed
	sat        bool
	add        bool // the parts of the result are added to c
	mask       uint // mask of the parts to write
	selA, selB [4]uint
}

func (v *video) width() uint { return 32 / uint(v.parts) }

func videoOp(name string) func(a, b int64) int64 {
	switch name {
	case "vadd":
		return func(a, b int64) int64 { return a + b }
	case "vsub":
		return func(a, b int64) int64 { return a - b }
	case "vavrg": // the average is rounded away from zero
		return func(a, b int64) int64 { return (a + b + int64(1+(a+b)>>63)) >> 1 }
	case "vabsdiff":
		return func(a, b int64) int64 { return max(a-b, b-a) }
	case "vmin":
		return func(a, b int64) int64 { return min(a, b) }
	case "vmax":
		return func(a, b int64) int64 { return max(a, b) }
	}
	return nil
}

func videoCompare(cmp string) func(a, b int64) int64 {
	test := map[string]func(a, b int64) bool{
		"eq": func(a, b int64) bool { return a == b }, "ne": func(a, b int64) bool { return a != b },
		"lt": func(a, b int64) bool { return a < b }, "le": func(a, b int64) bool { return a <= b },
		"gt": func(a, b int64) bool { return a > b }, "ge": func(a, b int64) bool { return a >= b },
	}[cmp]
	if test == nil {
		return nil
	}
	return func(a, b int64) int64 { return int64(b2u(test(a, b))) }
}

func lowerVideo(l *lowerer, i *ptx.Instr, f *form) {
	name, parts := f.op.Name[:len(f.op.Name)-1], int(f.op.Name[len(f.op.Name)-1]-'0')
	v := &video{parts: parts, op: videoOp(name), sat: f.has(flagSat)}
	types := f.types
	if name == "vset" {
		v.op, types = videoCompare(f.cmp), append([]ptx.Type{ptx.U32}, types...)
	}
	v.add = len(f.rest) == 1 && f.rest[0] == "add"
	if v.op == nil || len(types) != 3 || f.flags&^flagSat != 0 || len(f.rest) > 1 || len(f.rest) == 1 && !v.add || v.add && v.sat {
		l.unsupported()
		return
	}
	for _, t := range types {
		if t != ptx.U32 && t != ptx.S32 {
			l.bad("type .%s is not possible", t)
			return
		}
	}
	v.signed, v.signedA, v.signedB = types[0] == ptx.S32, types[1] == ptx.S32, types[2] == ptx.S32
	if l.args(i, 4, 4) {
		l.emitVideo(i, v)
	}
}

func (l *lowerer) emitVideo(i *ptx.Instr, v *video) {
	d, mask := videoSelector(i.Args[0])
	a, selA := videoSelector(i.Args[1])
	b, selB := videoSelector(i.Args[2])
	ok := v.setMask(mask) && v.selector(&v.selA, selA, 0) && v.selector(&v.selB, selB, uint(v.parts))
	if !ok {
		l.bad("selector is not known")
		return
	}
	x, y, c := l.src(a, ptx.U32), l.src(b, ptx.U32), l.src(i.Args[3], ptx.U32)
	l.emit(func(w *warp, in *inst, m uint32) { w.video(in, m, v) }, l.dst(d, ptx.U32), x, y, c)
}

// videoSelector splits an operand such as r.b3210 or r.h10 into the operand and its selector.
func videoSelector(o ptx.Operand) (ptx.Operand, string) {
	r, ok := o.(*ptx.Reg)
	if !ok || r.Sel == "" {
		return o, ""
	}
	plain := *r
	plain.Sel = ""
	return &plain, r.Sel
}

func (v *video) letter() string { return map[int]string{2: "h", 4: "b"}[v.parts] }

// setMask parses the selector for the parts to write. If there is none, all parts are written.
func (v *video) setMask(sel string) bool {
	v.mask = 1<<v.parts - 1
	if sel == "" {
		return true
	}
	digits, ok := strings.CutPrefix(sel, v.letter())
	v.mask = 0
	for _, c := range digits {
		if c < '0' || c >= rune('0'+v.parts) {
			return false
		}
		v.mask |= 1 << (c - '0')
	}
	return ok && digits != ""
}

// selector parses a source's selector. It sets to[k] to the number of the part that supplies part k
// of the source. The parts of both sources are numbered consecutively. Without a selector, the
// numbers begin at from.
func (v *video) selector(to *[4]uint, sel string, from uint) bool {
	if sel == "" {
		for k := range to {
			to[k] = from + uint(k)
		}
		return true
	}
	digits, ok := strings.CutPrefix(sel, v.letter())
	if !ok || len(digits) != v.parts {
		return false
	}
	for k := range v.parts {
		c := digits[v.parts-1-k]
		if c < '0' || c >= byte('0'+2*v.parts) {
			return false
		}
		to[k] = uint(c - '0')
	}
	return true
}

//go:norace
func (w *warp) video(in *inst, m uint32, v *video) {
	d, a, b, c := &w.r32[in.d], &w.r32[in.a], &w.r32[in.b], &w.r32[in.c]
	for ; m != 0; m &= m - 1 {
		i := first(m)
		d[i] = v.of(uint64(b[i])<<32|uint64(a[i]), c[i])
	}
}

// of returns the result for one lane. ab holds the parts of both sources.
func (v *video) of(ab uint64, c uint32) uint32 {
	width, out := v.width(), c
	for k := range uint(v.parts) {
		if v.mask>>k&1 == 0 {
			continue
		}
		r := v.op(part(ab, v.selA[k]*width, width, v.signedA), part(ab, v.selB[k]*width, width, v.signedB))
		if v.add {
			out += uint32(r)
			continue
		}
		if v.sat {
			r = v.saturate(r)
		}
		keep := uint32(1)<<width - 1
		out = out&^(keep<<(k*width)) | uint32(r)&keep<<(k*width)
	}
	return out
}

func part(ab uint64, at, width uint, signed bool) int64 {
	x := ab << (64 - at - width)
	if signed {
		return int64(x) >> (64 - width)
	}
	return int64(x >> (64 - width))
}

func (v *video) saturate(r int64) int64 {
	if v.signed {
		top := int64(1)<<(v.width()-1) - 1
		return min(max(r, -top-1), top)
	}
	return min(max(r, 0), 1<<v.width()-1)
}

// vshr is the only scalar video instruction implemented here, and only in the forms with whole
// registers. Current devices implement none of these instructions. Drivers replace them with
// sequences of other instructions, whose results differ from the ISA. On an H100 with driver 580,
// vadd.u32.u32.u32.sat wraps around, and a result in .h1 is the upper half of the sum. The results
// of .min and .max also differ. For the forms of vshr implemented here, the results agree with the
// ISA.

func init() {
	register(lowerVshr, "vshr")
}

type scalarShift struct {
	signedA, signed, wrap, sat, add bool
}

func lowerVshr(l *lowerer, i *ptx.Instr, f *form) {
	v := scalarShift{sat: f.has(flagSat), wrap: slices.Contains(f.rest, "wrap"), add: slices.Contains(f.rest, "add")}
	known := 1 + int(b2u(v.add))
	if len(f.types) != 3 || f.types[2] != ptx.U32 || f.flags&^flagSat != 0 || !v.wrap && !slices.Contains(f.rest, "clamp") {
		l.bad("form is not known")
		return
	}
	selected := slices.ContainsFunc(i.Args, func(o ptx.Operand) bool {
		_, sel := videoSelector(o)
		return sel != ""
	})
	if len(f.rest) != known || selected {
		l.missing("scalar video instructions but vshr of whole registers")
		return
	}
	if !v.add && len(i.Args) == 4 { // the ISA does not specify the fourth operand
		l.unsupported()
		return
	}
	if want := 3 + int(b2u(v.add)); !l.args(i, want, want) {
		return
	}
	v.signed, v.signedA = f.types[0] == ptx.S32, f.types[1] == ptx.S32
	c := l.constant(class32, 0)
	if v.add {
		c = l.src(i.Args[3], ptx.U32)
	}
	a, b := l.src(i.Args[1], ptx.U32), l.src(i.Args[2], ptx.U32)
	l.emit(lane3(v.of), l.dst(i.Args[0], ptx.U32), a, b, c)
}

func (v scalarShift) of(a, b, c uint32) uint32 {
	x := int64(a)
	if v.signedA {
		x = int64(int32(a))
	}
	if v.wrap {
		b &= 31
	}
	x >>= min(b, 32)
	if v.sat && v.signed {
		x = min(x, 1<<31-1)
	} else if v.sat {
		x = max(x, 0)
	}
	return uint32(x) + c // c is 0 without .add
}
