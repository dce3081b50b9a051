package go2ptx

import (
	"cmp"
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
)

// remarks describes what the compiler did for each source line. The remark at the line of a kernel
// contains its totals.
func remarks(m *ir.Module, counted []opt.Counted) []Remark {
	counts := map[remarkKey]int{}
	for _, c := range counted {
		pos := c.Op.Pos
		counts[remarkKey{pos.File, pos.Line, "failed checks trap, because this " + c.What + " would wait for the threads that ended", c.Kernel.GoName}]++
	}
	for _, f := range m.Funcs {
		if f.Kernel {
			counts[remarkKey{f.Pos.File, f.Pos.Line, totalsOf(f).String(), "kernel " + f.Name}]++
		}
		for _, d := range opt.DivergentBarriers(f) {
			if d.Barrier.Block.Second {
				continue
			}
			pos, in := outside(m, d.Barrier.Pos)
			text := fmt.Sprintf("not all threads of a block may reach this barrier%s, because of the condition in line %d", in, lineOf(m, d.Branch))
			if d.Guard {
				text = fmt.Sprintf("this barrier%s does not wait for threads that return because of the condition in line %d", in, lineOf(m, d.Branch))
			}
			counts[remarkKey{pos.File, pos.Line, text, f.GoName}]++
		}
		for _, u := range f.Unrolled {
			pos, in := outside(m, u.Pos)
			counts[remarkKey{pos.File, pos.Line, fmt.Sprintf("loop%s unrolled, %d iterations at a time", in, u.Times), f.GoName}]++
		}
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if text := remark(f, v); text != "" && !b.Second {
					pos, in := outside(m, v.Pos)
					counts[remarkKey{pos.File, pos.Line, text + in, f.GoName}]++
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

// partialBarriers returns errors for barriers that only some threads of a block can reach. Those
// threads would wait forever.
func partialBarriers(m *ir.Module) error {
	var errs Errors
	for _, f := range m.Funcs {
		for _, d := range opt.PartialBarriers(f) {
			pos, in := outside(m, d.Barrier.Pos)
			errs.Add(tokenPosition(m, pos), "only some threads of a block reach this barrier%s: move it out of the condition in line %d", in, lineOf(m, d.Branch))
		}
	}
	return errs.Err()
}

func tokenPosition(m *ir.Module, pos ir.Pos) token.Position {
	at := token.Position{Line: int(pos.Line), Column: int(pos.Col)}
	if uint(pos.File) < uint(len(m.Files)) {
		at.Filename = m.Files[pos.File]
	}
	return at
}

func lineOf(m *ir.Module, pos ir.Pos) int32 {
	pos, _ = outside(m, pos)
	return pos.Line
}

// outside returns the position to report for pos. If pos is in inlined library code, that is the
// position of the call in the user's code, and in is " in " followed by the name of the called
// function.
func outside(m *ir.Module, pos ir.Pos) (at ir.Pos, in string) {
	for pos.Inline > 0 && uint(pos.File) < uint(len(m.Files)) && ofLibrary(m.Files[pos.File]) {
		call := m.Inlines[pos.Inline-1]
		pos, in = call.At, " in "+call.Func
	}
	return pos, in
}

// ofLibrary reports whether a file belongs to a built-in package.
func ofLibrary(file string) bool {
	for name := range builtin {
		if dir, ok := strings.CutPrefix(name, "github.com/purecuda/cuda/"); ok && dir == path.Dir(file) {
			return true
		}
	}
	return false
}

type remarkKey struct {
	file, line int32
	text, in   string
}

// remark describes an instruction that is expensive or the result of an optimization.
func remark(f *ir.Func, v *ir.Value) string {
	switch v.Op {
	case ir.OpCheck:
		if v.Site != nil {
			return v.Site.Kind + " check remains"
		}
	case ir.OpFMA:
		return "multiplication and addition fused"
	case ir.OpLoadV:
		return fmt.Sprintf("load of a vector of %d", v.N)
	case ir.OpStoreV:
		return fmt.Sprintf("store of a vector of %d", v.N)
	case ir.OpSlot:
		s := f.Slots[v.Aux]
		return strings.TrimSuffix("variable "+s.Name, " ") + fmt.Sprintf(" in local memory, %d bytes", s.Size)
	case ir.OpCall:
		if v.Callee != nil && v.Callee.GoName != "" {
			return "call of " + v.Callee.GoName + " is not inlined"
		}
	case ir.OpSDiv, ir.OpUDiv, ir.OpSRem, ir.OpURem:
		return fmt.Sprintf("%d-bit integer division", v.Type.Kind.Bits())
	case ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv, ir.OpFSqrt:
		if v.Type.Kind == ir.F64 {
			return "float64 arithmetic"
		}
	}
	return ""
}

// totals summarizes a kernel and the functions it calls.
type totals struct {
	checks        int
	shared, local int // in bytes
	recursive     bool
}

func (t totals) String() string {
	text := fmt.Sprintf("checks: %d, shared memory: %d bytes, variables in local memory: %d bytes", t.checks, t.shared, t.local)
	if t.recursive {
		text += " for each level of recursion"
	}
	return text
}

// totalsOf computes the totals of a kernel and the functions it calls.
func totalsOf(kernel *ir.Func) totals {
	var t totals
	seen := map[any]bool{}
	active := map[*ir.Func]bool{}
	var visit func(f *ir.Func)
	visit = func(f *ir.Func) {
		t.recursive = t.recursive || active[f]
		if seen[f] {
			return
		}
		seen[f], active[f] = true, true
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				switch {
				case b.Second:
				case v.Op == ir.OpCheck:
					t.checks++
				case v.Op == ir.OpCall && v.Callee != nil:
					visit(v.Callee)
				case v.Op == ir.OpSlot && !seen[&f.Slots[v.Aux]]:
					seen[&f.Slots[v.Aux]] = true
					t.local += f.Slots[v.Aux].Size
				case v.Op == ir.OpGlobal && v.Var.Space == ir.Shared && !seen[v.Var]:
					seen[v.Var] = true
					t.shared += v.Var.Size
				}
			}
		}
		delete(active, f)
	}
	visit(kernel)
	return t
}
