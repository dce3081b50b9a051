package go2ptx

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// remarks describes what the compiler did, by line.
func remarks(m *ir.Module) []Remark {
	counts := map[remarkKey]int{}
	for _, f := range m.Funcs {
		for _, d := range opt.DivergentBarriers(f) {
			counts[remarkKey{d.Barrier.Pos.File, d.Barrier.Pos.Line, "not all threads of a block may reach this barrier", f.GoName}]++
		}
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if text := remark(v); text != "" {
					counts[remarkKey{v.Pos.File, v.Pos.Line, text, f.GoName}]++
				}
			}
		}
	}
	var out []Remark
	for k, n := range counts {
		pos := token.Position{Line: int(k.line)}
		if uint(k.file) < uint(len(m.Files)) {
			pos.Filename = m.Files[k.file]
		}
		text := k.text
		if n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		out = append(out, Remark{pos, k.in + ": " + text})
	}
	slices.SortFunc(out, func(a, b Remark) int {
		return cmp.Or(strings.Compare(a.Pos.Filename, b.Pos.Filename), cmp.Compare(a.Pos.Line, b.Pos.Line), strings.Compare(a.Text, b.Text))
	})
	return out
}

type remarkKey struct {
	file, line int32
	text, in   string
}

// remark describes an instruction that costs something or that an optimisation made.
func remark(v *ir.Value) string {
	switch v.Op {
	case ir.OpCheck:
		if v.Site != nil {
			return "check of " + v.Site.Kind + " remains"
		}
	case ir.OpFMA:
		return "multiplication and addition fused"
	case ir.OpLoadV:
		return fmt.Sprintf("loads combined into a vector of %d", v.N)
	case ir.OpStoreV:
		return fmt.Sprintf("stores combined into a vector of %d", v.N)
	case ir.OpSlot:
		return "variable in local memory"
	case ir.OpCall:
		if v.Callee != nil {
			return "call of " + v.Callee.GoName + " is not inlined"
		}
	}
	return ""
}
