package opt

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// loadNonCoherent marks the loads of memory that does not change while the kernel runs. They become
// ld.global.nc, which ptxas may move across stores and barriers. The memory is that of a parameter
// which the kernel does not write to and whose memory does not overlap that of a parameter it does
// write to, because of restrict.
//
// Another kernel or the host may write to the memory while the kernel waits for them. Such a kernel
// needs a fence or an atomic or volatile load, so the pass leaves kernels alone that contain one.
func loadNonCoherent(f *ir.Func) int {
	if !f.Kernel {
		return 0
	}
	r := newRoots(f, map[*ir.Func]effect{})
	var written uint64
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			bits, ok := r.changes(v)
			if !ok {
				return 0
			}
			written |= bits
		}
	}
	constant := unchanged(f, written)
	n := 0
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op != ir.OpLoad && v.Op != ir.OpLoadV || v.Hint != ir.HintNone || v.Args[0].Type.Space != ir.Global {
				continue
			}
			if p := v.Args[0]; !isConst(p) && r.of[p.ID] != 0 && r.of[p.ID]&^constant == 0 {
				v.Hint = ir.HintNC
				n++
			}
		}
	}
	return n
}

// unchanged returns the parameters whose memory does not change if the kernel writes to that of the
// parameters in written.
func unchanged(f *ir.Func, written uint64) (constant uint64) {
	apart := true // all written parameters are restrict
	for i, p := range f.Params {
		if i < maxRoots && written>>i&1 == 0 {
			continue
		}
		if !p.Restrict && !checkedOverlap(p) {
			return 0
		}
		apart = apart && p.Restrict
	}
	for i, p := range f.Params {
		if i < maxRoots && written>>i&1 == 0 && (p.Restrict || apart && checkedOverlap(p)) {
			constant |= 1 << i
		}
	}
	return constant
}

// checkedOverlap reports whether a launch can check that the memory of a parameter does not overlap
// that of another one: it is a pointer or a slice. A struct may contain a view that the library does
// not know.
func checkedOverlap(p ir.Param) bool {
	return len(p.Parts) > 0 && p.Parts[0].Mem == ir.MPtr && (len(p.Parts) == 1 || len(p.Parts) == 3 && p.Parts[2].Len == ir.Capacity)
}

// roots contains the parameters that addresses are derived from.
type roots struct {
	of    []uint64            // the parameters of an address, indexed by value ID
	calls map[*ir.Func]effect // the effects of functions
}

// effect describes what a function writes to. Its parameters have one part each.
type effect struct {
	written uint64 // the parameters whose memory it may write to
	ok      bool   // whether it writes to no unknown memory, and cannot wait for other writers
}

// In sets of parameters, these bits stand for other memory.
const (
	// elsewhere is a variable that the host cannot pass to a kernel.
	elsewhere = 1 << 63
	unknown   = 1 << 62
	maxRoots  = 62
)

func newRoots(f *ir.Func, calls map[*ir.Func]effect) *roots {
	r := &roots{make([]uint64, f.NumValues()), calls}
	var params []uint64 // indexed by part
	for i, p := range f.Params {
		for _, part := range p.Parts {
			bits := uint64(unknown)
			if part.Mem == ir.MPtr && i < maxRoots {
				bits = 1 << i
			}
			params = append(params, bits)
		}
	}
	order := f.ReversePostorder()
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			for _, v := range b.Values {
				if v.Type.Kind != ir.Ptr {
					continue
				}
				if bits := r.derive(v, params); bits != r.of[v.ID] {
					r.of[v.ID], changed = bits, true
				}
			}
		}
	}
	return r
}

// derive returns the parameters of an address from those of its operands.
func (r *roots) derive(p *ir.Value, params []uint64) uint64 {
	args := p.Args
	switch p.Op {
	case ir.OpParam:
		return params[p.Aux]
	case ir.OpSlot:
		return elsewhere
	case ir.OpGlobal:
		if p.Var.Visible {
			return unknown
		}
		return elsewhere
	case ir.OpPtrAdd, ir.OpSpaceCast, ir.OpCopy:
		args = args[:1]
	case ir.OpSelect:
		args = args[1:]
	case ir.OpPhi:
	default:
		return unknown
	}
	var bits uint64
	for _, a := range args {
		switch {
		case isNil(a):
			bits |= elsewhere
		case isConst(a) || a.Op == ir.OpUndef:
			bits |= unknown
		default:
			bits |= r.of[a.ID]
		}
	}
	return bits
}

// written returns the set for a write to an address.
func (r *roots) written(p *ir.Value) (bits uint64, ok bool) {
	if isConst(p) || p.Op == ir.OpUndef {
		return 0, false
	}
	bits = r.of[p.ID]
	return bits &^ elsewhere, bits&unknown == 0
}

// changes returns the parameters whose memory an instruction may write to. It returns false if the
// instruction may write to unknown memory, or if it makes the writes of others visible.
func (r *roots) changes(v *ir.Value) (bits uint64, ok bool) {
	switch v.Op {
	case ir.OpLoad, ir.OpLoadV:
		return 0, v.Hint != ir.HintVolatile && v.Hint != ir.HintCV
	case ir.OpStore, ir.OpStoreV, ir.OpAtomic, ir.OpCAS:
		if v.Atomic.Order != ir.Relaxed || v.Atomic.Op == ir.RMWLoad || v.Hint == ir.HintVolatile {
			return 0, false
		}
		if s := v.Args[0].Type.Space; s == ir.Shared || s == ir.Local {
			return 0, true
		}
		return r.written(v.Args[0])
	case ir.OpFence:
		return 0, ir.Scope(v.Aux) == ir.ScopeBlock
	case ir.OpCall:
		return r.call(v)
	case ir.OpAsm:
		return 0, v.Effect&(ir.Writes|ir.Fences) == 0 || strings.HasPrefix(v.Sym, "bar.") || strings.HasPrefix(v.Sym, "barrier.cluster.")
	}
	return 0, true
}

// call returns the parameters whose memory a call may change.
func (r *roots) call(v *ir.Value) (bits uint64, ok bool) {
	e := r.effect(v.Callee)
	if !e.ok {
		return 0, false
	}
	for i, a := range v.Args {
		if e.written>>i&1 == 0 {
			continue
		}
		more, ok := r.written(a)
		if !ok {
			return 0, false
		}
		bits |= more
	}
	return bits, true
}

func (r *roots) effect(f *ir.Func) effect {
	e, done := r.calls[f]
	if done {
		return e
	}
	// While its effect is being determined, a recursive function has none, unless it has pointers.
	pointer := func(p ir.Param) bool { return p.Parts[0].Mem == ir.MPtr }
	r.calls[f] = effect{ok: !slices.ContainsFunc(f.Params, pointer)}
	inside := newRoots(f, r.calls)
	e.ok = len(f.Blocks) > 0 && len(f.Params) <= maxRoots
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			bits, ok := inside.changes(v)
			e.written |= bits
			e.ok = e.ok && ok
		}
	}
	r.calls[f] = e
	return e
}
