package build

import (
	"strconv"

	"github.com/purecuda/cuda/ptx"
)

// Var is a variable of a module or of a function. As an operand, it stands for the variable's
// address in its state space.
type Var struct {
	m    *Module
	f    *Func // function of the variable; nil at module level
	node ptx.Variable
	init []Operand
	list bool
}

// Global declares a variable in global memory. It is an array of n elements, or a single value if n
// is 0. The variable is private to the module unless [Var.Linkage] changes that.
func (m *Module) Global(name string, t ptx.Type, n int64) *Var {
	return m.variable(ptx.GlobalSpace, name, t, n)
}

// Const declares a variable in constant memory. The parameters are those of [Module.Global].
func (m *Module) Const(name string, t ptx.Type, n int64) *Var {
	return m.variable(ptx.ConstSpace, name, t, n)
}

// Shared declares a variable in shared memory. The parameters are those of [Module.Global].
func (m *Module) Shared(name string, t ptx.Type, n int64) *Var {
	return m.variable(ptx.SharedSpace, name, t, n)
}

// DynamicShared declares an array without a size: the shared memory whose size is set at launch.
func (m *Module) DynamicShared(name string, t ptx.Type) *Var {
	return m.variable(ptx.SharedSpace, name, t, ptx.Unsized).Linkage(ptx.Extern)
}

func (m *Module) variable(space ptx.Space, name string, t ptx.Type, n int64) *Var {
	v := newVar(m, nil, space, name, t, n)
	if m.ready() {
		m.declare(name)
		m.vars = append(m.vars, v)
	}
	return v
}

func newVar(m *Module, f *Func, space ptx.Space, name string, t ptx.Type, n int64) *Var {
	v := &Var{m: m, f: f, node: ptx.Variable{Space: space, Name: name, Type: t}}
	if n != 0 {
		v.node.Dims = []int64{n}
	}
	if n < 0 && n != ptx.Unsized {
		v.fail("the number of elements is " + strconv.FormatInt(n, 10))
	}
	return v
}

func (v *Var) fail(problem string) {
	if v != nil {
		v.m.fail(v.node.Name, problem)
	}
}

// Name returns the variable's name.
func (v *Var) Name() string {
	if v == nil {
		return ""
	}
	return v.node.Name
}

// Space returns the state space of the variable.
func (v *Var) Space() ptx.Space {
	if v == nil {
		return ptx.GenericSpace
	}
	return v.node.Space
}

// Linkage sets the visibility to other modules and returns v.
func (v *Var) Linkage(l ptx.Linkage) *Var {
	if v != nil {
		v.node.Linkage = l
	}
	return v
}

// Align sets the alignment in bytes and returns v.
func (v *Var) Align(bytes int) *Var {
	if v != nil {
		v.node.Align = bytes
		if bytes <= 0 || bytes&(bytes-1) != 0 {
			v.fail("the alignment is " + strconv.Itoa(bytes) + ": it must be a power of two")
		}
	}
	return v
}

// Vector makes each element a vector of n values (.v2, .v4) and returns v.
func (v *Var) Vector(n int) *Var {
	if v != nil {
		v.node.Vector = n
		if n != 2 && n != 4 {
			v.fail("a vector of " + strconv.Itoa(n) + ": it must have 2 or 4 elements")
		}
	}
	return v
}

// Doc adds a comment before the variable and returns v.
func (v *Var) Doc(text string) *Var {
	if v != nil {
		v.node.Doc = text
	}
	return v
}

// Attribute adds an attribute, such as "managed", and returns v.
func (v *Var) Attribute(name string, args ...uint64) *Var {
	if v != nil {
		v.node.Attributes = append(v.node.Attributes, ptx.Attribute{Name: name, Args: args})
		if !isName(name) {
			v.fail(strconv.Quote(name) + " is not an attribute")
		}
	}
	return v
}

// Init sets the initial value of a single variable, or of the first elements of an array, and
// returns v. Each operand is a constant, the address of a variable or function, a sum of an address
// and an offset, or a result of [Var.Generic].
func (v *Var) Init(values ...Operand) *Var {
	switch {
	case v == nil:
		return nil
	case v.f != nil:
		v.fail("only variables of a module have initial values")
		return v
	}
	v.init, v.list = values, len(v.node.Dims) > 0 || v.node.Vector > 0 || len(values) != 1
	return v
}

// InitBytes sets the initial value of an array of bytes and returns v.
func (v *Var) InitBytes(b []byte) *Var {
	if v == nil {
		return nil
	}
	if v.node.Type.Size() != 1 {
		v.fail("InitBytes is for arrays of .b8, .u8 or .s8")
		return v
	}
	values := make([]Operand, len(b))
	for i, c := range b {
		values[i] = byteConstants[c]
	}
	return v.Init(values...)
}

var byteConstants = func() (all [256]Operand) {
	for i := range all {
		all[i] = Int(int64(i))
	}
	return all
}()

// At returns the address operand [v+offset]. The offset is in bytes.
func (v *Var) At(offset int64, rest ...Operand) Operand { return address{v, offset, rest} }

// Plus returns the operand v+offset, whose value is an address, for use in instructions such as mov
// and in initializers. The offset is in bytes.
func (v *Var) Plus(offset int64) Operand { return sum{v, offset} }

// Generic returns the generic address of v, for use in an initializer.
func (v *Var) Generic() Operand { return generic{v} }

type generic struct{ v *Var }

func (o generic) operand(f *Func) (ptx.Operand, string) {
	node, why := o.v.operand(f)
	if why != "" {
		return nil, why
	}
	s := *node.(*ptx.Sym)
	s.Generic = true
	return &s, ""
}

func (v *Var) operand(f *Func) (ptx.Operand, string) {
	switch {
	case v == nil || v.m == nil:
		return nil, "is not a variable: Module.Global and the like create one"
	case f != nil && v.m != f.m:
		return nil, "is " + v.node.Name + ", a variable of another module"
	case v.f != nil && v.f != f:
		return nil, "is " + v.node.Name + ", a variable of " + v.f.node.Name
	}
	return &ptx.Sym{Name: v.node.Name}, ""
}

// build returns the variable's declaration.
func (v *Var) build() *ptx.Variable {
	node := v.node
	if v.init == nil {
		return &node
	}
	nodes, why := resolveAll(v.init, nil)
	if why != "" {
		v.fail("the initial value " + why)
		return &node
	}
	init := ptx.Init{List: v.list}
	for _, o := range nodes {
		switch o.(type) {
		case *ptx.Imm, *ptx.Sym:
		default:
			v.fail("the initial value " + ptx.OperandString(o) + " is neither a constant nor an address")
		}
		init.Elems = append(init.Elems, ptx.Init{Value: o})
	}
	if !v.list {
		init = init.Elems[0]
	}
	node.Init = &init
	return &node
}
