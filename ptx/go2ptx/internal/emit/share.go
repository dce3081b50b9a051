package emit

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// mostPairs limits how many pairs of values are compared before two groups share a register.
const mostPairs = 4096

// sharing lets phis share registers with their operands, so that no copies are needed. Values may share
// a register if none is computed while another one is still read later.
//
// An operand of a phi is read at the end of the predecessor, and a phi is computed at the beginning of
// its block, at position -1.
type sharing struct {
	x       *fn
	dom     *ir.Tree
	numbers map[*ir.Value]int // of the values that may share registers
	values  []*ir.Value
	blocks  []*ir.Block   // the blocks in which the values are computed
	at      []int         // their positions in these blocks
	last    []map[int]int // for each value, by block ID: the position of the last instruction that reads it
	in, out [][]uint64    // by block ID: the values that are read in the block or later, and after it
	pinned  map[*ir.Value]bool
}

// share forms groups of values that share a register.
func (x *fn) share(order []*ir.Block) *sharing {
	s := &sharing{x: x, dom: x.f.Dominators(), numbers: map[*ir.Value]int{}, pinned: map[*ir.Value]bool{}}
	s.pin(order)
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op != ir.OpPhi {
				break
			}
			if !x.need[v.ID] {
				continue
			}
			s.add(v)
			for _, a := range v.Args {
				s.add(x.held(a))
			}
		}
	}
	s.findReads(order)
	s.flow(order)
	for _, v := range s.values {
		if v.Op != ir.OpPhi {
			continue
		}
		for _, a := range v.Args {
			if a = x.held(a); s.has(a) && s.has(v) && regTypes[a.Type.Kind] == regTypes[v.Type.Kind] {
				s.join(v, a)
			}
		}
	}
	return s
}

// pin excludes the values that failure paths read, because those follow all blocks.
func (s *sharing) pin(order []*ir.Block) {
	var mark func(v *ir.Value)
	mark = func(v *ir.Value) {
		if v = s.x.held(v); s.pinned[v] {
			return
		}
		s.pinned[v] = true
		if v.Op != ir.OpPhi {
			for _, a := range v.Args {
				mark(a)
			}
		}
	}
	for _, b := range order {
		for _, v := range b.Values {
			if v.Op == ir.OpCheck {
				for _, a := range v.Args {
					mark(a)
				}
			}
		}
	}
}

func (s *sharing) has(v *ir.Value) bool {
	_, ok := s.numbers[v]
	return ok
}

func (s *sharing) add(v *ir.Value) {
	made := v
	if v.Op == ir.OpExtract {
		made = resolve(v.Args[0])
	}
	if v.Op == ir.OpConst || v.Op == ir.OpUndef || !s.dom.Has(made.Block) || s.pinned[v] || s.has(v) {
		return
	}
	at := -1
	if made.Op != ir.OpPhi {
		at = slices.Index(made.Block.Values, made)
	}
	s.numbers[v] = len(s.values)
	s.values = append(s.values, v)
	s.blocks = append(s.blocks, made.Block)
	s.at = append(s.at, at)
}

// findReads finds the positions of the instructions that read the values.
func (s *sharing) findReads(order []*ir.Block) {
	s.last = make([]map[int]int, len(s.values))
	for i := range s.last {
		s.last[i] = map[int]int{}
	}
	for _, b := range order {
		read := func(v *ir.Value, at int) {
			if n, ok := s.numbers[s.x.held(v)]; ok {
				s.last[n][b.ID] = at
			}
		}
		for i, v := range b.Values {
			if v.Op != ir.OpPhi && s.x.kept(v) {
				s.x.reads(v, func(a *ir.Value) { read(a, i) })
			}
		}
		end := len(b.Values)
		if b.Term.Kind == ir.TermIf {
			c, _ := strip(b.Term.Cond)
			read(c, end)
		}
		for _, r := range b.Term.Results {
			read(r, end)
		}
		for _, to := range b.Term.Succs {
			for i, p := range to.Preds {
				for _, v := range to.Values {
					if p != b || v.Op != ir.OpPhi {
						break
					}
					if s.x.need[v.ID] {
						read(v.Args[i], end)
					}
				}
			}
		}
	}
}

// flow finds the values that are read after each block.
func (s *sharing) flow(order []*ir.Block) {
	words := (len(s.values) + 63) / 64
	set := func() [][]uint64 {
		list := make([][]uint64, s.x.f.NumBlocks())
		for _, b := range order {
			list[b.ID] = make([]uint64, words)
		}
		return list
	}
	in, defined := set(), set()
	s.in, s.out = in, set()
	for n := range s.values {
		defined[s.blocks[n].ID][n/64] |= 1 << (n % 64)
		for b := range s.last[n] {
			if b != s.blocks[n].ID {
				in[b][n/64] |= 1 << (n % 64)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, b := range slices.Backward(order) {
			out, entry := s.out[b.ID], in[b.ID]
			for _, to := range b.Term.Succs {
				for w, bits := range in[to.ID] {
					out[w] |= bits
				}
			}
			for w := range out {
				if bits := entry[w] | out[w]&^defined[b.ID][w]; bits != entry[w] {
					entry[w], changed = bits, true
				}
			}
		}
	}
}

// join lets the groups of two values share a register, if none of their values interfere.
func (s *sharing) join(v, w *ir.Value) {
	a, b := s.x.group(v), s.x.group(w)
	if a == b || len(a.values)*len(b.values) > mostPairs {
		return
	}
	for _, v := range a.values {
		for _, w := range b.values {
			if s.interfere(v, w) {
				return
			}
		}
	}
	a.values = append(a.values, b.values...)
	for _, v := range b.values {
		s.x.groups[v.ID] = a
	}
}

// interfere reports whether one value is computed while the other one is still needed.
func (s *sharing) interfere(v, w *ir.Value) bool {
	m, n := s.numbers[v], s.numbers[w]
	if s.blocks[m] == s.blocks[n] && s.at[m] == s.at[n] {
		return true
	}
	return s.before(m, n) && s.needed(m, n) || s.before(n, m) && s.needed(n, m)
}

// before reports whether value m is computed on each path to value n.
func (s *sharing) before(m, n int) bool {
	if s.blocks[m] == s.blocks[n] {
		return s.at[m] < s.at[n]
	}
	return s.dom.Dominates(s.blocks[m], s.blocks[n])
}

// needed reports whether value m is read after the instruction that computes n. That instruction counts
// as a later one if it may write its result before it reads its operands.
func (s *sharing) needed(m, n int) bool {
	b := s.blocks[n]
	if s.out[b.ID][m/64]>>(m%64)&1 != 0 {
		return true
	}
	last, ok := s.last[m][b.ID]
	return ok && (last > s.at[n] || last == s.at[n] && !readsFirst(s.values[n]))
}

// readsFirst reports whether an instruction is emitted as code that reads all operands before it writes
// the result.
func readsFirst(v *ir.Value) bool {
	if v.Type == ir.TBool {
		return false
	}
	if _, ok := binaries[v.Op]; ok { // also if it is folded
		return v.Op != ir.OpMulHiU
	}
	switch v.Op {
	case ir.OpFAdd, ir.OpFSub, ir.OpFMul, ir.OpFDiv, ir.OpFMA, ir.OpFMin, ir.OpFMax, ir.OpFNeg, ir.OpFAbs:
		return v.Type.Kind == ir.F32 || v.Type.Kind == ir.F64
	case ir.OpFunnel:
		return v.Type == ir.TI32
	case ir.OpAsm: // one instruction with one result
		return strings.Count(v.Sym, ";") == 1 && !strings.ContainsAny(v.Sym, "{|")
	case ir.OpNot, ir.OpLop3, ir.OpMulWideS, ir.OpMulWideU, ir.OpBrev, ir.OpZExt8, ir.OpZExt16, ir.OpSelect, ir.OpSExt8, ir.OpSExt16:
		return true
	}
	return false
}

// group is a set of values that share a register.
type group struct {
	values []*ir.Value
	reg    build.Reg
}

// group returns the group of a value.
func (x *fn) group(v *ir.Value) *group {
	if x.groups[v.ID] == nil {
		x.groups[v.ID] = &group{values: []*ir.Value{v}}
	}
	return x.groups[v.ID]
}

// shared returns the value that stands for all that share a register with v.
func (x *fn) shared(v *ir.Value) *ir.Value {
	v = x.held(v)
	if v.ID < len(x.groups) && x.groups[v.ID] != nil {
		return x.groups[v.ID].values[0]
	}
	return v
}
