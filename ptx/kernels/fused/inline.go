package fused

import (
	"fmt"
	"strings"
	"sync"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/kernels/internal/library"
)

// functions returns the compiled device functions of package library by name.
var functions = sync.OnceValues(func() (map[string]*ptx.Function, error) {
	m, err := ptx.Parse("library_gpu.ptx", library.Text())
	if err != nil {
		return nil, err
	}
	list := make(map[string]*ptx.Function)
	for _, d := range m.Decls {
		if f, ok := d.(*ptx.Function); ok && !f.Entry && f.Body != nil {
			list[f.Name] = f
		}
	}
	return list, nil
})

// inliner copies the body of a device function with one parameter and one result into a kernel, with the bodies of the
// functions that it calls. A call would pass the element through memory if ptxas did not inline it.
type inliner struct {
	f      *build.Func
	params map[string]build.Reg // also those of calls
	regs   map[string]build.Reg
	labels map[string]build.Label
	end    build.Label
}

// inline adds the code of a function of package library and returns the register of its result.
func inline(f *build.Func, name string, arg build.Reg) build.Reg {
	list, err := functions()
	if err != nil {
		f.Fail(err.Error())
		return arg
	}
	callee := list[name]
	if callee == nil {
		f.Fail("there is no function " + name)
		return arg
	}
	result := f.Reg(callee.Return[0].Type)
	in := &inliner{
		f: f, params: map[string]build.Reg{callee.Params[0].Name: arg, callee.Return[0].Name: result},
		regs: map[string]build.Reg{}, labels: map[string]build.Label{}, end: f.NewLabel(name),
	}
	in.body(name, callee.Body)
	f.Place(in.end)
	return result
}

func (in *inliner) body(name string, b *ptx.Block) {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Block:
			in.body(name, s)
		case *ptx.Variable:
			in.params[s.Name] = in.f.Reg(s.Type)
		case *ptx.RegDecl:
			for i := range s.Count {
				in.regs[fmt.Sprint(s.Name, i)] = in.f.Reg(s.Type)
			}
		case *ptx.Label:
			in.f.Place(in.label(s.Name))
		case *ptx.Instr:
			in.instr(s)
		default:
			in.f.Fail(fmt.Sprintf("%s contains a %T", name, s))
		}
	}
}

func (in *inliner) label(name string) build.Label {
	if l, ok := in.labels[name]; ok {
		return l
	}
	_, hint, _ := strings.Cut(name, "_")
	l := in.f.NewLabel(hint)
	in.labels[name] = l
	return l
}

func (in *inliner) instr(i *ptx.Instr) {
	op := in.f.Op
	if g := i.Guard; g.Reg != "" && g.Not {
		op = in.f.Unless(in.regs[g.Reg]).Op
	} else if g.Reg != "" {
		op = in.f.When(in.regs[g.Reg]).Op
	}
	typ := i.Op.Mods
	switch {
	case i.Op.Name == "ret":
		op("bra", in.end)
	case strings.HasPrefix(i.Op.Text, "ld.param."):
		op("mov."+typ[len(typ)-1], in.operand(i.Args[0]), in.param(i.Args[1]))
	case strings.HasPrefix(i.Op.Text, "st.param."):
		op("mov."+typ[len(typ)-1], in.param(i.Args[0]), in.operand(i.Args[1]))
	case i.Op.Name == "call":
		in.call(i)
	default:
		args := make([]build.Operand, len(i.Args))
		for k, a := range i.Args {
			args[k] = in.operand(a)
		}
		op(i.Op.Text, args...)
	}
}

func (in *inliner) operand(o ptx.Operand) build.Operand {
	switch o := o.(type) {
	case *ptx.Reg:
		switch r := in.regs[o.Name]; {
		case !r.IsValid() || o.Sel != "" || o.Neg:
			break
		case o.Not:
			return r.Not()
		default:
			return r
		}
	case *ptx.Imm:
		return build.Syntax(o)
	case *ptx.Sym:
		return in.label(o.Name)
	case *ptx.Vec:
		elems := make([]build.Operand, len(o.Elems))
		for k, e := range o.Elems {
			elems[k] = in.operand(e)
		}
		return build.Vec(elems...)
	}
	return in.unknown(o)
}

// param returns the register of the parameter or of the result at an address.
func (in *inliner) param(o ptx.Operand) build.Reg {
	if a, ok := o.(*ptx.Addr); ok {
		o = a.Base
	}
	if s, ok := o.(*ptx.Sym); ok && in.params[s.Name].IsValid() {
		return in.params[s.Name]
	}
	return in.unknown(o)
}

// call copies a function that an inlined one calls.
func (in *inliner) call(i *ptx.Instr) {
	if len(i.Args) == 3 {
		to, hasResult := i.Args[0].(*ptx.List)
		from, hasArg := i.Args[2].(*ptx.List)
		if hasResult && hasArg && len(to.Elems) == 1 && len(from.Elems) == 1 {
			result := inline(in.f, ptx.OperandString(i.Args[1]), in.param(from.Elems[0]))
			in.params[ptx.OperandString(to.Elems[0])] = result
			return
		}
	}
	in.f.Fail("an inlined function has a call without a parameter and a result")
}

func (in *inliner) unknown(o ptx.Operand) build.Reg {
	in.f.Fail("an inlined function has the operand " + ptx.OperandString(o))
	return in.f.Reg(ptx.B64)
}
