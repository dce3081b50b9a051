package ptx

// Registers is what a body says about registers. PTX has as many as it wants;
// how many a kernel takes is the compiler's decision, which orders instructions
// anew, computes things twice, spills, and keeps some for calls. Of 210 kernels
// ptxas 11.8 gave the median one and a half times the estimate, four out of five
// between 1.0 and 2.6 times, and never fewer than a third of it.
type Registers struct {
	// What the body declares, nested scopes included.
	Preds, Bits16, Bits32, Bits64, Bits128 int

	// Live is an estimate: the most 32-bit registers that hold a value which is
	// still needed at one place, with the instructions in the order of the
	// text. A 64-bit register counts as two, one of 8 or 16 bits as one.
	// -1: the body is too large and tangled to tell.
	Live      int
	LivePreds int // the most predicates, likewise
	At        Pos // where Live is reached
}

// Declared is the number of declared registers, predicates included.
func (r *Registers) Declared() int {
	return r.Preds + r.Bits16 + r.Bits32 + r.Bits64 + r.Bits128
}

func (r *Registers) add(t Type, n int) {
	switch size := t.Size(); {
	case t == Pred:
		r.Preds += n
	case size <= 2:
		r.Bits16 += n
	case size <= 4:
		r.Bits32 += n
	case size <= 8:
		r.Bits64 += n
	default:
		r.Bits128 += n
	}
}

// regSize is what a register takes while it lives.
type regSize struct {
	words, preds int32
}

func sizeOf(t Type, vector int) regSize {
	n := int32(max(vector, 1))
	if t == Pred {
		return regSize{preds: n}
	}
	return regSize{words: n * int32(max((t.Size()+3)/4, 1))}
}

func (s regSize) plus(t regSize) regSize  { return regSize{s.words + t.words, s.preds + t.preds} }
func (s regSize) minus(t regSize) regSize { return regSize{s.words - t.words, s.preds - t.preds} }
func (s regSize) max(t regSize) regSize {
	return regSize{max(s.words, t.words), max(s.preds, t.preds)}
}

// code is a body as the estimate of registers needs it: instructions with the
// registers they touch, by number, in basic blocks.
type code struct {
	instrs  []codeInstr
	touched []touch
	sizes   []regSize // of the registers
	blocks  []codeBlock
	labels  map[int32]int32 // block that a label begins
	jumps   []int32         // labels, of all blocks in a row
	open    bool            // the last block takes more instructions
}

type codeInstr struct {
	at    Pos
	touch int32 // first of its entries in touched
}

type touch struct {
	reg int32
	how access
}

// codeBlock is a basic block: instructions that run one after the other.
type codeBlock struct {
	instr int32 // its first one
	jump  int32 // its first one
	falls bool  // it goes on into the next block
}

func (c *code) register(s regSize) int32 {
	c.sizes = append(c.sizes, s)
	return int32(len(c.sizes) - 1)
}

// start opens a block where none is open.
func (c *code) start() {
	if !c.open {
		c.blocks = append(c.blocks, codeBlock{instr: int32(len(c.instrs)), jump: int32(len(c.jumps)), falls: true})
		c.open = true
	}
}

// label begins a block.
func (c *code) label(id int32) {
	if c.open && c.blocks[len(c.blocks)-1].instr < int32(len(c.instrs)) {
		c.open = false
	}
	c.start()
	if c.labels == nil {
		c.labels = map[int32]int32{}
	}
	c.labels[id] = int32(len(c.blocks) - 1)
}

func (c *code) begin(at Pos) {
	c.start()
	c.instrs = append(c.instrs, codeInstr{at, int32(len(c.touched))})
}

func (c *code) touch(reg int32, how access) {
	c.touched = append(c.touched, touch{reg, how})
}

func (c *code) jump(label int32) { c.jumps = append(c.jumps, label) }

// end ends the block; guarded, it may go on.
func (c *code) end(guarded bool) {
	c.blocks[len(c.blocks)-1].falls = guarded
	c.open = false
}

// touches are the entries of instruction i.
func (c *code) touches(i int32) []touch {
	end := len(c.touched)
	if int(i)+1 < len(c.instrs) {
		end = int(c.instrs[i+1].touch)
	}
	return c.touched[c.instrs[i].touch:end]
}

// last is behind the last instruction of block b.
func (c *code) last(b int32) int32 {
	if int(b)+1 < len(c.blocks) {
		return c.blocks[b+1].instr
	}
	return int32(len(c.instrs))
}

// edges are the successors of each block and the predecessors of each block.
func (c *code) edges() (next, before [][]int32) {
	next, before = make([][]int32, len(c.blocks)), make([][]int32, len(c.blocks))
	add := func(from, to int32) {
		next[from] = append(next[from], to)
		before[to] = append(before[to], from)
	}
	for i := range c.blocks {
		b := int32(i)
		end := int32(len(c.jumps))
		if i+1 < len(c.blocks) {
			end = c.blocks[i+1].jump
			if c.blocks[i].falls {
				add(b, b+1)
			}
		}
		for _, label := range c.jumps[c.blocks[i].jump:end] {
			if to, ok := c.labels[label]; ok {
				add(b, to)
			}
		}
	}
	return next, before
}
