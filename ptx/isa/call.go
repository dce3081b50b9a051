package isa

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

func callRule(c *checker, _ *Form, _ *match, in *ptx.Instr) string {
	call, ok := in.Call()
	if !ok {
		return "a call is written as call (result), function, (arguments);"
	}
	rets, params, problem := c.callee(call)
	switch {
	case problem == unknownCallee:
		return ""
	case problem != "":
		return problem
	case len(call.Args) != len(params) && !variadic(params, len(call.Args)) || len(call.Return) != len(rets):
		return fmt.Sprintf("%d arguments and %d results; it takes %d and %d", len(call.Args), len(call.Return), len(params), len(rets))
	}
	for i, a := range call.Args {
		if s := c.argument(a, params[min(i, len(params)-1)], false); s != "" {
			return fmt.Sprintf("argument %d %s", i+1, s)
		}
	}
	for i, r := range call.Return {
		if s := c.argument(r, rets[i], true); s != "" {
			return fmt.Sprintf("result %d %s", i+1, s)
		}
	}
	return ""
}

// unknownCallee marks a call whose signature the module does not contain.
const unknownCallee = "-"

// variadic reports whether a call with the given number of arguments omits the last parameter. Only
// an array without a size may be omitted.
func variadic(params []*ptx.Variable, given int) bool {
	n := len(params)
	return n > 0 && given == n-1 && len(params[n-1].Dims) > 0 && params[n-1].Dims[0] == ptx.Unsized
}

func (c *checker) callee(call ptx.Call) (rets, params []*ptx.Variable, problem string) {
	switch o := call.Callee.(type) {
	case *ptx.Sym:
		v, f := c.lookup(o.Name)
		switch {
		case v != nil:
			return nil, nil, o.Name + " is a variable: a function is called by its name or through a register"
		case f == nil:
			return nil, nil, o.Name + " is not declared: a call needs its prototype"
		case f.Entry:
			return nil, nil, o.Name + " is a kernel: only functions (.func) are called"
		case call.Table != "":
			return nil, nil, "a prototype is for calls through a register"
		}
		c.call(f)
		return f.Return, f.Params, ""
	case *ptx.Reg:
		r, ok := c.names.register(o.Name)
		if !ok {
			return nil, nil, o.Name + " is not declared"
		}
		if k := r.typ.Kind(); k != ptx.KindBits && k != ptx.KindUnsigned && k != ptx.KindSigned {
			return nil, nil, "register " + o.Name + " of type ." + r.typ.String() + " does not hold an address"
		}
		if call.Table == "" {
			return nil, nil, "a call through a register needs a .callprototype or .calltargets"
		}
		if p := c.protos[call.Table]; p != nil {
			return p.Return, p.Params, ""
		}
		if f := c.targets[call.Table]; f != nil {
			return f.Return, f.Params, ""
		}
		if v, _ := c.lookup(call.Table); v != nil { // the table is an array of function addresses
			return nil, nil, unknownCallee
		}
		return nil, nil, call.Table + " is not the label of a .callprototype or .calltargets"
	}
	return nil, nil, "a function is called by its name or through a register"
}

// argument checks one argument, or one result if result is set.
func (c *checker) argument(o ptx.Operand, p *ptx.Variable, result bool) string {
	array := len(p.Dims) > 0 || p.Vector > 0
	switch o := o.(type) {
	case *ptx.Sym:
		v := c.names.local(o.Name)
		switch {
		case v == nil || v.Space != ptx.ParamSpace:
			return "is " + o.Name + ", which is not a .param variable of this function"
		case v.Size() < p.Size() && !(len(p.Dims) > 0 && p.Dims[0] == ptx.Unsized):
			return fmt.Sprintf("is %s of %d bytes; the parameter has %d", o.Name, v.Size(), p.Size())
		}
	case *ptx.Reg:
		r, ok := c.names.register(o.Name)
		switch {
		case o.Special:
			return "is a special register"
		case !ok:
			return "is " + o.Name + ", which is not declared"
		case array || r.vector != 0:
		case !accepts(p.Type, r.typ, false):
			return fmt.Sprintf("is register %s of type .%s; the parameter is .%s", o.Name, r.typ, p.Type)
		}
	case *ptx.Imm:
		switch {
		case result:
			return "is a constant"
		case p.Type == ptx.Pred, p.Type.Kind() == ptx.KindFloat && !o.IsFloat():
			return fmt.Sprintf("is an integer constant; the parameter is .%s", p.Type)
		}
	}
	return ""
}
