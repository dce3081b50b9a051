package ptx

// Methods that Decl, Stmt and Operand require of each node.

// Position returns where it begins.
func (n *Function) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Variable) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Alias) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *File) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Section) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Raw) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Block) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *RegDecl) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Label) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Instr) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Reg) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *RegSum) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Imm) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Sym) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Vec) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Addr) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Elem) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Pair) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *List) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Sink) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *BranchTargets) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *CallTargets) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *CallPrototype) Position() Pos { return n.Pos }

// Position returns where it begins.
func (n *Pragma) Position() Pos { return n.Pos }

// Position returns where it begins.
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
