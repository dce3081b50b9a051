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

// inliner copies the body of a device function with one parameter and one result into a kernel. A
// call would pass the element through memory if ptxas did not inline it.
type inliner struct {
	f           *build.Func
	arg, result build.Reg
	regs        map[string]build.Reg
	labels      map[string]build.Label
	end         build.Label
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
	in := &inliner{
		f: f, arg: arg, result: f.Reg(callee.Return[0].Type),
		regs: map[string]build.Reg{}, labels: map[string]build.Label{}, end: f.NewLabel(name),
	}
	for _, s := range callee.Body.Stmts {
		switch s := s.(type) {
		case *ptx.RegDecl:
			for i := range s.Count {
				in.regs[fmt.Sprint(s.Name, i)] = f.Reg(s.Type)
			}
		case *ptx.Label:
			f.Place(in.label(s.Name))
		case *ptx.Instr:
			in.instr(s)
		default:
			f.Fail(fmt.Sprintf("%s contains a %T", name, s))
		}
	}
	f.Place(in.end)
	return in.result
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
		op("mov."+typ[len(typ)-1], in.operand(i.Args[0]), in.arg)
	case strings.HasPrefix(i.Op.Text, "st.param."):
		op("mov."+typ[len(typ)-1], in.result, in.operand(i.Args[1]))
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
	in.f.Fail("an inlined function has the operand " + ptx.OperandString(o))
	return in.arg
}
