package lower

import (
	"slices"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// extern declares a function that another module or the driver defines.
func (l *lowerer) extern(name string, params []ir.Mem, results ...ir.Type) *ir.Func {
	if f := l.externs[name]; f != nil {
		same := slices.Equal(f.Results, results) && slices.EqualFunc(f.Params, params, func(p ir.Param, m ir.Mem) bool { return p.Parts[0].Mem == m })
		if !same {
			l.errorf(l.now, "gpu-ptx", "the function "+name+" of other PTX has two signatures", "declare it once, and convert the arguments")
		}
		return f
	}
	if l.names[name] {
		l.errorf(l.now, "gpu-ptx", "the function "+name+" of other PTX has the name of a kernel, function or variable of this module", "rename that")
	}
	l.names[name] = true
	f := &ir.Func{Name: name, Module: l.mod, Results: results}
	for _, m := range params {
		f.Params = append(f.Params, ir.Param{Size: m.Size(), Align: m.Size(), Parts: []ir.Part{{Mem: m}}})
	}
	l.externs[name] = f
	l.mod.Externs = append(l.mod.Externs, f)
	return f
}

// callExtern calls a function of another module. The result has type TNone if there is none.
func (b *builder) callExtern(f *ir.Func, args ...*ir.Value) *ir.Value {
	t := ir.TNone
	if len(f.Results) == 1 {
		t = f.Results[0]
	}
	v := b.emit(ir.OpCall, t, args...)
	v.Callee = f
	return v
}

// setConditional lowers Conditional.Set.
func setConditional(c *icall) []leaf {
	set := c.l.extern("cudaGraphSetConditional", []ir.Mem{ir.M64, ir.M32})
	c.callExtern(set, c.x(0), c.x(1))
	return nil
}
