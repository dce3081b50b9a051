package build

import (
	"fmt"
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// Call adds a call of a device function, including the .param variables. There must be one argument
// for each parameter and one register for each result. For an array parameter, the argument is a
// vector of its elements. For an array result, there is one register for each element.
func (f *Func) Call(callee *Func, results []Reg, args ...Operand) {
	if !f.ready() {
		return
	}
	target, why := resolve(callee, f)
	if why != "" {
		f.fail("the function to call " + why)
		return
	}
	f.Block(func() { f.call(callee, target, nil, results, args) })
}

// CallThrough adds a call of the device function whose address is in a register. The function must
// have the same parameters and results as like, which need not have a body. The other parameters
// are those of [Func.Call].
func (f *Func) CallThrough(address Reg, like *Func, results []Reg, args ...Operand) {
	if !f.ready() {
		return
	}
	target, why := resolve(address, f)
	switch {
	case why != "":
		f.fail("the register of the function to call " + why)
		return
	case !like.ready():
		f.fail("the signature of a call is not a function: Module.Func creates one")
		return
	}
	f.Block(func() { f.call(like, target, []ptx.Operand{f.prototype(like)}, results, args) })
}

// Prototype declares the signature of the device function like, which need not have a body, and
// returns the last operand of a call through a register. The declaration's scope is the current
// block. [Func.CallThrough] adds a complete call instead.
func (f *Func) Prototype(like *Func) Operand {
	switch {
	case !f.ready():
		return nil
	case !like.ready():
		f.fail("a prototype is not of a function: Module.Func creates one")
		return nil
	}
	return symbol{f.prototype(like)}
}

type symbol struct{ node *ptx.Sym }

func (o symbol) operand(*Func) (ptx.Operand, string) { return o.node, "" }

func (f *Func) prototype(like *Func) *ptx.Sym {
	f.prototypes++
	proto := &ptx.CallPrototype{Label: "$P" + strconv.Itoa(f.prototypes), Return: like.node.Return, Params: like.node.Params}
	f.add(proto)
	return &ptx.Sym{Name: proto.Label}
}

func (f *Func) call(like *Func, target ptx.Operand, table []ptx.Operand, results []Reg, args []Operand) {
	if len(args) != len(like.params) {
		f.fail(fmt.Sprintf("a call of %s has %d arguments; it takes %d", like.node.Name, len(args), len(like.params)))
		return
	}
	params := &ptx.List{}
	for i, p := range like.params {
		v := f.passed("$param", i, p)
		params.Elems = append(params.Elems, &ptx.Sym{Name: v.node.Name})
		f.pass(v, p, args[i])
	}
	var all []ptx.Operand
	var returned []*Var
	if len(like.results) > 0 {
		l := &ptx.List{}
		for i, p := range like.results {
			v := f.passed("$retval", i, p)
			returned = append(returned, v)
			l.Elems = append(l.Elems, &ptx.Sym{Name: v.node.Name})
		}
		all = append(all, l)
	}
	all = append(all, target)
	if len(params.Elems) > 0 || table != nil {
		all = append(all, params)
	}
	f.add(&ptx.Instr{Op: f.m.opcode("call"), Args: append(all, table...)})
	left := results
	for i, v := range returned {
		left = f.fetch(v, like.results[i], left)
	}
	if need := len(results) - len(left); len(left) > 0 {
		f.fail(fmt.Sprintf("a call of %s has %d result registers; it takes %d", like.node.Name, len(results), need))
	}
}

// passed declares the .param variable for an argument or a result.
func (f *Func) passed(prefix string, i int, p *Param) *Var {
	v := newVar(f.m, f, ptx.ParamSpace, prefix+strconv.Itoa(i), p.node.Type, 0)
	v.node.Dims, v.node.Align = p.node.Dims, p.node.Align
	f.add(&v.node)
	return v
}

// elements returns the number of elements of a parameter, or false if it is not an array.
func (p *Param) elements() (int, bool) {
	if len(p.node.Dims) == 0 {
		return 1, false
	}
	return int(p.node.Len()), true
}

func bits(t ptx.Type) string { return ".b" + strconv.Itoa(8*t.Size()) }

// pass stores an argument.
func (f *Func) pass(v *Var, p *Param, arg Operand) {
	n, array := p.elements()
	elems := []Operand{arg}
	if array {
		vec, ok := arg.(vector)
		if elems = vec; !ok || len(elems) != n {
			f.fail(fmt.Sprintf("the argument for %s must be a vector of %d elements", p.node.Name, n))
			return
		}
	}
	size := int64(p.node.Type.Size())
	for i, e := range elems {
		f.Op("st.param"+bits(p.node.Type), v.At(int64(i)*size), e)
	}
}

// fetch loads a result into the first of the registers and returns the remaining registers.
func (f *Func) fetch(v *Var, p *Param, regs []Reg) []Reg {
	n, _ := p.elements()
	if len(regs) < n {
		f.fail(fmt.Sprintf("a call has too few result registers: %s needs %d", p.node.Name, n))
		return nil
	}
	size := int64(p.node.Type.Size())
	for i, r := range regs[:max(n, 0)] {
		f.Op("ld.param"+bits(p.node.Type), r, v.At(int64(i)*size))
	}
	return regs[max(n, 0):]
}
