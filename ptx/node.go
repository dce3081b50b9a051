package ptx

// Position methods, which Decl, Stmt and Operand require of each node.

// Position returns the start of the node.
func (n *Function) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Variable) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Alias) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *File) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Section) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Raw) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Block) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *RegDecl) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Label) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Instr) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Reg) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *RegSum) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Imm) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Sym) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Vec) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Addr) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Elem) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Pair) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *List) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Sink) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *BranchTargets) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *CallTargets) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *CallPrototype) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Pragma) Position() Pos { return n.Pos }

// Position returns the start of the node.
func (n *Loc) Position() Pos { return n.Pos }

func (*Function) decl() {}
func (*Variable) decl() {}
func (*RegDecl) decl()  {}
func (*Alias) decl()    {}
func (*File) decl()     {}
func (*Section) decl()  {}
func (*Pragma) decl()   {}
func (*Loc) decl()      {}
func (*Raw) decl()      {}

func (*Instr) stmt()         {}
func (*Label) stmt()         {}
func (*RegDecl) stmt()       {}
func (*Variable) stmt()      {}
func (*Block) stmt()         {}
func (*BranchTargets) stmt() {}
func (*CallTargets) stmt()   {}
func (*CallPrototype) stmt() {}
func (*Pragma) stmt()        {}
func (*Loc) stmt()           {}
func (*File) stmt()          {}
func (*Section) stmt()       {}
func (*Raw) stmt()           {}

func (*Reg) operand()    {}
func (*RegSum) operand() {}
func (*Imm) operand()    {}
func (*Sym) operand()    {}
func (*Vec) operand()    {}
func (*Addr) operand()   {}
func (*Elem) operand()   {}
func (*Pair) operand()   {}
func (*List) operand()   {}
func (*Sink) operand()   {}
