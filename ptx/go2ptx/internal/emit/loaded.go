package emit

import (
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Many checks record the length or the capacity of a slice that is a parameter of the kernel. If all checks of a kernel
// have such a value in the same field, their failure paths need not pass it: the code that writes the record loads it
// from the kernel's parameters. A failure path passes the parameter's offset together with that of the site:
//
//	site | offset << 16
const (
	offsetShift = 16
	offsetLimit = 1 << offsetShift
)

// chooseLoaded chooses the field that is loaded. If all checks have the same parameter, nothing is passed anyway.
func (x *fn) chooseLoaded(checks []*ir.Value) {
	for i := 1; i <= recordedValues; i++ {
		offsets := map[int64]bool{}
		all := true
		for _, v := range checks {
			at, ok := x.paramOffset(v, i)
			all = all && ok && x.siteOf(v) < offsetLimit
			offsets[at] = true
		}
		if all && len(offsets) > 1 {
			x.out.loaded = i
		}
	}
}

// paramOffset returns the offset of field i of a check in the parameters of the kernel, if it is one of 64 bits.
func (x *fn) paramOffset(check *ir.Value, i int) (offset int64, ok bool) {
	if !x.f.Kernel || i >= len(check.Args) {
		return 0, false
	}
	v := resolve(check.Args[i])
	if v.Op != ir.OpParam || v.Type.Kind != ir.I64 {
		return 0, false
	}
	n, part := x.paramOf(int(v.Aux))
	if part == nil {
		return 0, false
	}
	for k, p := range x.f.Params[:n+1] {
		align := int64(max(p.Align, 1))
		if offset = (offset + align - 1) / align * align; k < n {
			offset += int64(max(p.Size, 1))
		}
	}
	offset += int64(part.Offset)
	return offset, offset < offsetLimit
}

// wordOf returns the offset of a check's site, and that of the parameter that is loaded.
func (x *fn) wordOf(check *ir.Value) int64 {
	word := x.siteOf(check)
	if k := x.out.loaded; k > 0 {
		at, _ := x.paramOffset(check, k)
		word |= at << offsetShift
	}
	return word
}

// loadParam emits code that splits the number for the site, and loads the parameter.
func (x *fn) loadParam() build.Operand {
	word := x.out.fields[0].reg
	offset, at, value := x.temp(ir.I32), x.temp(ir.I64), x.temp(ir.I64)
	x.op("shr.u32", offset, word, build.Int(offsetShift))
	x.op("mov.b64", at, x.params[0])
	x.op("mad.wide.u32", at, offset, build.Int(1), at)
	x.op("ld.param.b64", value, at.At(0))
	x.op("and.b32", word, word, build.Int(offsetLimit-1))
	return value
}
