package ptx

// Registers summarises a body's use of registers. PTX registers are unlimited: the
// compiler decides how many a kernel takes when it reorders and repeats instructions,
// spills, and reserves some for calls. For 210 kernels, ptxas 11.8 allocated 1.5 times
// the estimate in the median, between 1.0 and 2.6 times for four out of five, and never
// less than a third of it.
type Registers struct {
	// Registers that the body declares, nested scopes included.
	Preds, Bits16, Bits32, Bits64, Bits128 int

	// Live is an estimate: the largest number of 32-bit registers whose values are
	// needed at the same point, with instructions in source order. A 64-bit register
	// counts as two, one of 8 or 16 bits as one. It is -1 if the body is too large and
	// tangled to tell.
	Live      int
	LivePreds int // the same for predicates
	At        Pos // where Live is reached
}

// Declared returns the number of declared registers, predicates included.
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

// regSize is how much space a register takes while it is live.
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

// code is a body in the form the register estimate works on: instructions with the
// registers they touch, by number, in basic blocks.
type code struct {
	instrs  []codeInstr
	touched []touch
	sizes   []regSize // of the registers
	blocks  []codeBlock
	labels  map[int32]int32 // the block that a label begins
	jumps   []int32         // label numbers, those of all blocks concatenated
	open    bool            // the last block accepts more instructions
}

type codeInstr struct {
	at    Pos
	touch int32 // index of its first entry in touched
}

type touch struct {
	reg int32
	how access
}

// codeBlock is a basic block: instructions that run one after the other.
type codeBlock struct {
	instr int32 // index of its first one
	jump  int32 // index of its first one
	falls bool  // control continues in the next block
}

func (c *code) register(s regSize) int32 {
	c.sizes = append(c.sizes, s)
	return int32(len(c.sizes) - 1)
}

// start opens a block unless one is open.
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

// end ends the block. If guarded is set, control may also continue in the next one.
func (c *code) end(guarded bool) {
	c.blocks[len(c.blocks)-1].falls = guarded
	c.open = false
}

// touches returns the entries of instruction i.
func (c *code) touches(i int32) []touch {
	end := len(c.touched)
	if int(i)+1 < len(c.instrs) {
		end = int(c.instrs[i+1].touch)
	}
	return c.touched[c.instrs[i].touch:end]
}

// last returns the index after the last instruction of block b.
func (c *code) last(b int32) int32 {
	if int(b)+1 < len(c.blocks) {
		return c.blocks[b+1].instr
	}
	return int32(len(c.instrs))
}

// edges returns the successors of each block and the predecessors of each block.
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
