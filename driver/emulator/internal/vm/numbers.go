package vm

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

// DefaultVariables is how many variables parameterised declarations may stand for.
const DefaultVariables = 1 << 20

// CheckNumbers rejects modules whose declarations like x<100> stand for more variables than
// opts.VariableLimit. Such declarations are short, but each variable needs memory. Compile calls
// it, and so must anyone who looks at the declarations before that.
func CheckNumbers(opts CompileOptions, mods ...*ptx.Module) error {
	n := numbers{limit: opts.VariableLimit}
	if n.limit == 0 {
		n.limit = DefaultVariables
	}
	for _, m := range mods {
		n.file, n.left = m.Name, n.limit
		for _, d := range m.Decls {
			switch d := d.(type) {
			case *ptx.Variable:
				n.take(d)
			case *ptx.Function:
				n.block(d.Body)
			}
		}
	}
	if n.err != nil {
		return CompileErrors{n.err}
	}
	return nil
}

// numbers counts the variables of a module.
type numbers struct {
	limit, left int
	file        string
	err         *CompileError
}

func (n *numbers) block(b *ptx.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Variable:
			n.take(s)
		case *ptx.Block:
			n.block(s)
		}
	}
}

func (n *numbers) take(v *ptx.Variable) {
	if v.Count <= n.left {
		n.left -= v.Count
		return
	}
	if n.err == nil {
		n.err = &CompileError{File: n.file, Line: int(v.Pos.Line), Kind: CompileMemory,
			Msg: fmt.Sprintf("variable %s<%d>: the declarations of a module may stand for %d variables in all", v.Name, v.Count, n.limit)}
	}
}
