package isa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
)

// tensorModes contains the modes of tensor copies to which tensorRule does not apply, because their
// number of coordinates follows other rules. PTX 8.6 introduced them.
var tensorModes = []string{"tile::gather4", "tile::scatter4", "im2col::w", "im2col::w::128"}

// tensorRule checks the coordinates of a tensor copy and the operands that its modifiers require:
// the offsets of .im2col, the mask of .multicast::cluster and the policy of .L2::cache_hint.
func tensorRule(c *checker, f *Form, m *match, in *ptx.Instr) string {
	for _, mode := range tensorModes {
		if has(in, mode) {
			return ""
		}
	}
	dims := int(in.Op.Mods[len(f.sub)][0] - '0')
	offsets := has(in, "im2col")
	if (offsets || has(in, "im2col_no_offs")) && dims < 3 {
		return fmt.Sprintf(".im2col needs a tensor of 3 to 5 dimensions, not %d", dims)
	}
	fixed := slices.IndexFunc(f.args, func(a arg) bool { return a.kind == argAny })
	tensor := 0
	if m.spaces > 0 && strings.HasPrefix(m.space[0], "shared") {
		tensor = 1
	}
	if s := c.coordinates(m, in.Args[tensor], tensor, dims); s != "" {
		return s
	}
	var extra []arg
	if offsets {
		extra = append(extra, arg{kind: argSrc, typ: ptx.U16, count: int8(dims - 2)})
		if len(in.Args) > fixed && f.sub[len(f.sub)-2] == "prefetch" {
			if _, ok := in.Args[fixed].(*ptx.Vec); !ok {
				extra = nil
			}
		}
	}
	if has(in, "multicast::cluster") {
		extra = append(extra, arg{kind: argSrc, typ: ptx.U16})
	}
	if has(in, "L2::cache_hint") {
		extra = append(extra, arg{kind: argSrc, typ: ptx.U64})
	}
	given := in.Args[fixed:]
	if len(given) == 0 && offsets && len(extra) == 1 && f.sub[len(f.sub)-2] == "prefetch" {
		return ""
	}
	if len(given) != len(extra) {
		return fmt.Sprintf("%d operands; with these modifiers it takes %d", len(in.Args), fixed+len(extra))
	}
	for i, o := range given {
		why := c.operand(&extra[i], m, o)
		if _, ok := o.(*ptx.Vec); !ok && extra[i].count > 0 {
			why = notVector
		}
		if why != fine {
			return fmt.Sprintf("operand %d %s", fixed+i+1, c.reasonText(why, &extra[i], m, o))
		}
	}
	return ""
}

// coordinates checks the operand [map, {coordinates}].
func (c *checker) coordinates(m *match, o ptx.Operand, i, dims int) string {
	a, ok := o.(*ptx.Addr)
	if !ok || len(a.Rest) != 1 {
		return fmt.Sprintf("operand %d must be [map, {coordinates}]", i+1)
	}
	want := arg{kind: argSrc, typ: ptx.S32, count: int8(dims)}
	v, ok := a.Rest[0].(*ptx.Vec)
	if !ok || len(v.Elems) != dims {
		return fmt.Sprintf("operand %d must have a vector of %d coordinates after the map", i+1, dims)
	}
	if i, ok := v.Elems[0].(*ptx.Imm); ok && dims == 1 && !i.IsFloat() {
		return ""
	}
	if why := c.elements(&want, ptx.S32, v); why != fine {
		return fmt.Sprintf("the coordinates of operand %d: the vector %s", i+1, c.reasonText(why, &want, m, v))
	}
	return ""
}
