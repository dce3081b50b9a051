package ptx

// Registers summarises a body's use of registers. PTX has unlimited registers. The number of
// hardware registers depends on how the compiler schedules and repeats instructions, spills values,
// and reserves registers for calls. For 210 kernels, ptxas 11.8 allocated a median of 1.5 times the
// estimate. The ratio was between 1.0 and 2.6 for four out of five kernels, and it was never below
// a third.
type Registers struct {
	// Numbers of registers that the body declares, including those in nested scopes.
	Preds, Bits16, Bits32, Bits64, Bits128 int

	// Live estimates the largest number of 32-bit registers that are live at one point,
	// with instructions in source order. A 64-bit register counts as two, an 8-bit or
	// 16-bit register as one. Live is -1 if the body is too complex for an estimate.
	Live      int
	LivePreds int // the same estimate for predicates; -1 if Live is -1
	At        Pos // position where the maximum Live occurs
}

// Declared returns the number of declared registers, including predicates.
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

// code is a body in the form used by the register estimate. It lists the instructions in
// basic blocks, with the numbers of the registers they access.
type code struct {
	instrs  []codeInstr
	touched []touch
	sizes   []regSize // size of each register
	blocks  []codeBlock
	labels  map[int32]int32 // index of the block that starts at each label
	jumps   []int32         // target labels of all blocks, concatenated
	open    bool            // the last block accepts more instructions
}

type codeInstr struct {
	at    Pos
	touch int32 // index of the instruction's first entry in touched
}

type touch struct {
	reg int32
	how access
}

// codeBlock is a basic block: instructions that run in sequence.
type codeBlock struct {
	instr int32 // index of the block's first instruction
	jump  int32 // index of the block's first entry in jumps
	falls bool  // control continues in the next block
}

func (c *code) register(s regSize) int32 {
	c.sizes = append(c.sizes, s)
	return int32(len(c.sizes) - 1)
}

func (c *code) start() {
	if !c.open {
		c.blocks = append(c.blocks, codeBlock{instr: int32(len(c.instrs)), jump: int32(len(c.jumps)), falls: true})
		c.open = true
	}
}

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

// end closes the current block. If guarded is set, control can also continue in the next
// block.
func (c *code) end(guarded bool) {
	c.blocks[len(c.blocks)-1].falls = guarded
	c.open = false
}

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
