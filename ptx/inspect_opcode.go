package ptx

type access uint8

const (
	regRead  access = 1 << iota
	regWrite        // the instruction writes the register
	regPart         // set together with regWrite if part of the old value may remain
)

type flowKind uint8

const (
	flowNext   flowKind = iota
	flowBranch          // bra
	flowTable           // brx.idx
	flowLeave           // ret, exit, trap
)

// opNotes holds the properties of an opcode that the inspection uses, computed once per
// spelling.
type opNotes struct {
	writes   bool // the first operand is the result, unless it is an address
	keeps    bool // the instruction also reads its first operand
	call     bool
	flow     flowKind
	features []int // indices in featureTable
}

func (x *inspector) note(in *Instr) *opNotes {
	op := x.ops[in.Op]
	if op == nil {
		op = newOpNotes(in.Op)
		x.ops[in.Op] = op
	}
	for _, f := range op.features {
		x.feature(f, in.Pos)
	}
	return op
}

func newOpNotes(op *Opcode) *opNotes {
	n := &opNotes{writes: writesFirst(op), features: featuresOf(op)}
	switch op.Name {
	case "call":
		n.call = true
	case "bra":
		n.flow = flowBranch
	case "brx":
		n.flow = flowTable
	case "ret", "exit", "trap":
		n.flow = flowLeave
	case "wgmma": // wgmma accumulates into its first operand
		n.keeps = n.writes
	}
	return n
}

// writesFirst reports whether the first operand is a result. Instructions without
// operands, or with an address as first operand, need no case here because they write no
// register.
func writesFirst(op *Opcode) bool {
	switch op.Name {
	case "bra", "brx", "call", "ret", "exit", "nanosleep", "pmevent", "setmaxnreg", "stackrestore":
		return false
	case "bar", "barrier":
		return op.Has("red")
	case "tcgen05":
		return op.Has("ld")
	case "wgmma":
		return op.Has("mma_async")
	}
	return true
}

// access returns how the instruction accesses the registers of operand i.
func (n *opNotes) access(i int, o Operand, guarded bool) access {
	if i > 0 || !n.writes {
		return regRead
	}
	switch o.(type) {
	case *Addr, *Elem:
		return regRead
	}
	how := regWrite
	if n.keeps {
		how |= regRead
	}
	if guarded {
		how |= regPart
	}
	return how
}
