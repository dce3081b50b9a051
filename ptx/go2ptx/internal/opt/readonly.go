package opt

import "github.com/purecuda/cuda/ptx/go2ptx/internal/ir"

// markReadOnly finds the pointer and slice parameters of a kernel whose memory it never writes to.
// Storing a pointer, passing it to a function, or using it in an instruction with side effects
// counts as a write.
func markReadOnly(f *ir.Func) {
	if !f.Kernel {
		return
	}
	origin := origins(f)
	var written uint64
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			written |= writes(v, origin)
		}
	}
	for i := range f.Params {
		p := &f.Params[i]
		p.ReadOnly = i < 64 && len(p.Parts) > 0 && p.Parts[0].Mem == ir.MPtr && written>>i&1 == 0
	}
}

// origins returns, for each value ID, a bit set of the parameters whose pointers the value is
// computed from.
func origins(f *ir.Func) []uint64 {
	var first []uint64 // indexed by part
	for i, p := range f.Params {
		for _, part := range p.Parts {
			bit := uint64(0)
			if part.Mem == ir.MPtr && i < 64 {
				bit = 1 << i
			}
			first = append(first, bit)
		}
	}
	origin := make([]uint64, f.NumValues())
	for changed := true; changed; {
		changed = false
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				bits := uint64(0)
				switch v.Op {
				case ir.OpParam:
					bits = first[v.Aux]
				case ir.OpLoad, ir.OpLoadV, ir.OpICmp:
					// Loaded values and the results of comparisons are not addresses in that
					// memory.
				default:
					for _, a := range v.Args {
						bits |= origin[a.ID]
					}
				}
				if bits != origin[v.ID] {
					origin[v.ID], changed = bits, true
				}
			}
		}
	}
	return origin
}

// writes returns the parameters whose memory an instruction may write to.
func writes(v *ir.Value, origin []uint64) (bits uint64) {
	switch v.Op {
	case ir.OpStore, ir.OpStoreV, ir.OpAtomic, ir.OpCAS, ir.OpCall:
	case ir.OpAsm:
		if v.Effect&ir.Writes == 0 {
			return 0
		}
	default:
		return 0
	}
	for _, a := range v.Args {
		bits |= origin[a.ID]
	}
	return bits
}
