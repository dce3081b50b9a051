package isa

import (
	"fmt"

	"github.com/purecuda/cuda/ptx"
)

type directive struct {
	need, until need
	function    bool // allowed on .func
	kernel      bool // allowed on .entry
	positive    bool // the arguments must be positive
}

var directives = map[string]directive{
	"maxntid":              {need: need{version: 13}, kernel: true, positive: true},
	"reqntid":              {need: need{version: 21}, kernel: true, positive: true},
	"maxnreg":              {need: need{version: 13}, kernel: true, positive: true},
	"minnctapersm":         {need: need{version: 20}, kernel: true, positive: true},
	"maxnctapersm":         {until: need{version: 21}, kernel: true, positive: true},
	"noreturn":             {need: need{version: 64, target: 30}, function: true},
	"reqnctapercluster":    {need: need{version: 78, target: 90}, kernel: true, positive: true},
	"maxclusterrank":       {need: need{version: 78, target: 90}, kernel: true, positive: true},
	"explicitcluster":      {need: need{version: 78, target: 90}, kernel: true},
	"abi_preserve":         {need: need{version: 90, target: 80}, function: true},
	"abi_preserve_control": {need: need{version: 90, target: 80}, function: true},
}

// conflicts lists directives that exclude each other.
var conflicts = [][2]string{{"maxntid", "reqntid"}, {"reqnctapercluster", "maxclusterrank"}}

func (c *checker) header(f *ptx.Function) {
	seen := map[string]bool{}
	for _, d := range f.Perf {
		seen[d.Name] = true
		c.directive(f, d)
	}
	for _, pair := range conflicts {
		if seen[pair[0]] && seen[pair[1]] {
			c.fail(f.Pos, "%s has .%s and .%s, which exclude each other", f.Name, pair[0], pair[1])
		}
	}
	if len(f.Return) > 1 {
		for _, v := range f.Return {
			if v.Space == ptx.ParamSpace {
				c.fail(v.Pos, "%s has several results, so each must be a .reg", f.Name)
				break
			}
		}
	}
	bytes := int64(0)
	for i, list := range [][]*ptx.Variable{f.Return, f.Params} {
		for k, v := range list {
			c.parameter(f, v, i == 1 && k == len(list)-1)
			bytes = (bytes+v.Alignment()-1)/v.Alignment()*v.Alignment() + v.Size()
		}
	}
	if limit := c.parameterBytes(); f.Entry && bytes > limit {
		if bytes <= manyParameterBytes {
			c.lack(manyParameters)
		}
		c.fail(f.Pos, "kernel %s has %d bytes of parameters; at most %d are allowed in %v", f.Name, bytes, limit, &c.text)
	}
}

// manyParameterBytes is the maximum size of a kernel's parameters if the module's version and target
// meet manyParameters.
const manyParameterBytes = 32764

var manyParameters = need{version: 81, target: 70}

// parameterBytes returns the maximum size of a kernel's parameters in bytes.
func (c *checker) parameterBytes() int64 {
	switch {
	case manyParameters.met(&c.text):
		return manyParameterBytes
	case c.version < 15:
		return 256 + 4096 // limit of newer compilers; older compilers have a lower limit
	}
	return 4352
}

func (c *checker) directive(f *ptx.Function, d ptx.Directive) {
	rule, ok := directives[d.Name]
	switch {
	case !ok:
		return
	case f.Entry && !rule.kernel:
		c.fail(d.Pos, ".%s is for functions (.func), %s is a kernel", d.Name, f.Name)
	case !f.Entry && !rule.function:
		c.fail(d.Pos, ".%s is for kernels (.entry), %s is a function", d.Name, f.Name)
	case d.Name == "noreturn" && len(f.Return) > 0:
		c.fail(d.Pos, "%s has a result, so it cannot be .noreturn", f.Name)
	case !rule.need.met(&c.text):
		c.lack(rule.need)
		c.fail(d.Pos, ".%s needs %v; the text is %v", d.Name, rule.need, &c.text)
	case !rule.until.zero() && rule.until.met(&c.text):
		c.fail(d.Pos, ".%s is not available from %v on", d.Name, rule.until)
	case rule.positive:
		for _, n := range d.Args {
			if n == 0 {
				c.fail(d.Pos, "a number of .%s is 0", d.Name)
				return
			}
		}
	}
}

// maxParameterAlign is the maximum alignment of a parameter of a .func or .entry, in
// bytes.
const maxParameterAlign = 128

func (c *checker) parameter(f *ptx.Function, v *ptx.Variable, last bool) {
	open := len(v.Dims) > 0 && (v.Dims[0] == ptx.Unsized || v.Dims[0] == 0)
	switch {
	case f.Entry && v.Space != ptx.ParamSpace:
		c.fail(v.Pos, "kernel parameter %s must be a .param", v.Name)
	case v.Space == ptx.ParamSpace && (v.Vector != 0 && len(v.Dims) == 0 || v.Type == ptx.Pred || v.Type == ptx.F16x2):
		c.fail(v.Pos, "parameter %s cannot be of type %s", v.Name, typeText(v))
	case v.Space == ptx.ParamSpace && !f.Entry && v.Type.Kind() == ptx.KindOpaque:
	case v.Space == ptx.ParamSpace && !f.Entry && v.Align > maxParameterAlign:
		c.fail(v.Pos, "parameter %s is aligned to %d bytes; at most %d are allowed", v.Name, v.Align, maxParameterAlign)
	case f.Entry && open:
		c.fail(v.Pos, "kernel parameter %s has no size", v.Name)
	case open && !last:
		c.fail(v.Pos, "parameter %s has no size: only the last one may be open", v.Name)
	case v.Ptr != nil && !f.Entry:
		c.fail(v.Pos, ".ptr is only for kernel parameters, and %s is a function", f.Name)
	default:
		c.storable(v.Pos, v.Name, v.Type, v.Space)
	}
}

func typeText(v *ptx.Variable) string {
	if v.Vector != 0 {
		return fmt.Sprintf(".v%d .%s", v.Vector, v.Type)
	}
	return "." + v.Type.String()
}

// storable reports whether a variable or register in the given space can have type t. If not, it
// reports an error.
func (c *checker) storable(pos ptx.Pos, name string, t ptx.Type, space ptx.Space) bool {
	switch t {
	case ptx.Pred:
		if space != ptx.RegSpace {
			c.fail(pos, "predicate %s must be a register (.reg)", name)
			return false
		}
		return true
	case ptx.B128:
		if c.version < 83 {
			c.lack(need{version: 83, target: 70})
			c.fail(pos, "%s of type .b128 needs PTX 8.3 and sm_70; the text is %v", name, &c.text)
			return false
		}
		return true
	case ptx.F16:
		return true
	case ptx.F16x2:
		if c.target >= 53 {
			return true
		}
		c.lack(need{target: 53})
		c.fail(pos, "%s of type .f16x2 needs sm_53; the text is %v", name, &c.text)
		return false
	}
	if k := t.Kind(); (k == ptx.KindBits || k == ptx.KindUnsigned || k == ptx.KindSigned || k == ptx.KindFloat || k == ptx.KindOpaque) && fundamental(t) {
		return true
	}
	c.fail(pos, "%s cannot be of type .%s, which is for instructions only: use .b%d", name, t, 8*t.Size())
	return false
}

// fundamental reports whether storable accepts t without special cases.
func fundamental(t ptx.Type) bool {
	switch t {
	case ptx.B8, ptx.B16, ptx.B32, ptx.B64, ptx.U8, ptx.U16, ptx.U32, ptx.U64, ptx.S8, ptx.S16, ptx.S32, ptx.S64, ptx.F32, ptx.F64,
		ptx.TexRef, ptx.SamplerRef, ptx.SurfRef:
		return true
	}
	return false
}

// maxVector is the maximum size of a vector in bytes.
const maxVector = 16

// variable checks a declaration in a function body. At module level, in is nil.
func (c *checker) variable(v *ptx.Variable, in *ptx.Function) {
	if !c.storable(v.Pos, v.Name, v.Type, v.Space) {
		return
	}
	open := false
	for i, d := range v.Dims {
		open = open || d == 0 || d == ptx.Unsized && (i > 0 || v.Init == nil)
	}
	switch {
	case v.Type.Kind() == ptx.KindOpaque && (in != nil || v.Space != ptx.GlobalSpace && v.Space != ptx.TexSpace):
		c.fail(v.Pos, "%s of type .%s must be a .global of the module", v.Name, v.Type)
	case v.Vector == 8 || v.Vector*v.Type.Size() > maxVector:
		c.fail(v.Pos, "%s: a vector of %d bytes; at most %d are allowed", v.Name, v.Vector*v.Type.Size(), maxVector)
	case v.Space == ptx.ParamSpace && in == nil:
		c.fail(v.Pos, "%s: .param variables are declared in functions", v.Name)
	case v.Space == ptx.ParamSpace && (v.Vector != 0 && len(v.Dims) == 0 || v.Type == ptx.F16x2):
		c.fail(v.Pos, ".param variable %s cannot be of type %s", v.Name, typeText(v))
	case v.Space == ptx.LocalSpace && in == nil && c.version >= 30:
		c.fail(v.Pos, "%s: .local variables are declared in functions", v.Name)
	case in != nil && v.Linkage != ptx.NoLinkage && c.version >= 13:
		c.fail(v.Pos, "%s: .%s is for variables of the module", v.Name, v.Linkage)
	case open && v.Linkage != ptx.Extern:
		c.fail(v.Pos, "array %s has no size: give one, or declare it .extern", v.Name)
	case v.Init != nil && v.Linkage == ptx.Extern:
		c.fail(v.Pos, "%s is .extern and cannot have an initial value", v.Name)
	case v.Init != nil && v.Space != ptx.GlobalSpace && v.Space != ptx.ConstSpace && v.Space != ptx.TexSpace:
		c.fail(v.Pos, "%s is in .%s and cannot have an initial value", v.Name, v.Space)
	case v.Linkage == ptx.Common && v.Space != ptx.GlobalSpace:
		c.fail(v.Pos, "%s is .common, so it must be a .global", v.Name)
	case v.Linkage == ptx.Weak && c.version < 31:
		c.lack(need{version: 31})
		c.fail(v.Pos, ".weak needs PTX 3.1; the text is %v", &c.text)
	case v.Linkage == ptx.Common && c.version < 50:
		c.lack(need{version: 50})
		c.fail(v.Pos, ".common needs PTX 5.0; the text is %v", &c.text)
	case managed(v) && v.Space != ptx.GlobalSpace:
		c.fail(v.Pos, "%s is .managed, so it must be a .global", v.Name)
	case v.Init != nil && v.Type.Kind() != ptx.KindOpaque:
		c.initial(v, v.Init, len(v.Dims) > 0 || v.Vector != 0)
	}
}

func managed(v *ptx.Variable) bool {
	for _, a := range v.Attributes {
		if a.Name == "managed" {
			return true
		}
	}
	return false
}

func (c *checker) initial(v *ptx.Variable, i *ptx.Init, array bool) {
	switch {
	case i.List && !array:
		c.fail(i.Pos, "%s is a single value, but its initial value is a list", v.Name)
	case i.List && len(v.Dims) > 0 && v.Dims[0] > 0 && int64(len(i.Elems)) > v.Dims[0]*max(int64(v.Vector), 1):
		c.fail(i.Pos, "%s has %d elements, but its initial value has %d", v.Name, v.Dims[0], len(i.Elems))
	case i.List:
		return // only the number of elements is checked here
	case v.Type.Kind() == ptx.KindFloat:
		if n, ok := i.Value.(*ptx.Imm); ok && !n.IsFloat() {
			c.fail(i.Pos, "%s is of type .%s and its initial value is an integer: write it with a decimal point", v.Name, v.Type)
		}
	}
}

func (c *checker) registers(d *ptx.RegDecl) {
	if !c.storable(d.Pos, d.Name, d.Type, ptx.RegSpace) {
		return
	}
	switch {
	case d.Type.Kind() == ptx.KindOpaque:
		c.fail(d.Pos, "%s cannot be of type .%s: that is for variables", d.Name, d.Type)
	case d.Type == ptx.Pred && d.Vector != 0:
		c.fail(d.Pos, "%s: there are no vectors of predicates", d.Name)
	case d.Vector == 8 || d.Vector*d.Type.Size() > maxVector:
		c.fail(d.Pos, "%s: a vector of %d bytes; at most %d are allowed", d.Name, d.Vector*d.Type.Size(), maxVector)
	}
}
