package lower

import (
	"go/types"
	"io/fs"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// extern declares a function that is defined in another module or by the driver.
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

// callExtern emits a call of a function in another module. Without a result, the call has type
// TNone.
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

var _ = register(pathGPU, map[string]func(*icall) []leaf{"Extern": externFunc})

// externFunc lowers a call of Extern, which initializes a package-level variable.
func externFunc(c *icall) []leaf {
	list := c.operands()
	file, ok := c.constText(list[0])
	name, ok2 := c.constText(list[1])
	packages := c.l.prog.Packages
	switch {
	case !ok || !ok2:
		c.errorf(c.n, "const-arg", "file or name", c.name)
		return nil
	case !c.scratch:
		return c.fail("a call in a function", "initialize a package-level variable with it")
	case c.pkg != packages[len(packages)-1]:
		return c.fail("a function of another package's PTX", "declare it in the package of the kernel")
	case !fs.ValidPath(file) || strings.ContainsAny(file, "*?[]\"'`\\:<>| "):
		return c.fail("the file "+file+" is not in the folder of the package", "name a file of the package, as in mix.ptx")
	case !ptxName(name):
		return c.fail("the function "+name+" has no name of PTX", "name a .visible .func of the file")
	}
	sig, ok := under(c.res[0]).(*types.Signature)
	if !ok {
		return c.fail("the type is not that of a function", "pass a function, or nil with a type argument")
	}
	params, results, ok := c.externTypes(sig)
	if !ok {
		return nil
	}
	f := c.l.extern(name, params, results...)
	f.File = file
	return []leaf{&closure{typ: c.res[0], ext: f}}
}

// externTypes returns the parameter and result types for a function in another PTX file. Only
// numbers, bools and pointers can be passed.
func (c *icall) externTypes(sig *types.Signature) (params []ir.Mem, results []ir.Type, ok bool) {
	if sig.Variadic() || sig.Results().Len() > 1 {
		c.fail("the function is variadic or has several results", "pass a pointer to which it writes")
		return nil, nil, false
	}
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for i := range tuple.Len() {
			t := tuple.At(i).Type()
			lay := c.l.layout(t)
			if lay.leaf == nil || lay.leaf.kind != scalar && lay.leaf.kind != pointer {
				c.fail("a parameter or result of type "+c.l.typeName(t), "pass numbers and pointers, as in &x[0]")
				return nil, nil, false
			}
			if tuple == sig.Results() {
				results = append(results, lay.leaf.regType())
			} else {
				params = append(params, lay.leaf.mem)
			}
		}
	}
	return params, results, true
}

// callOther lowers a call of a function in another PTX file.
func (f *frame) callOther(c *closure, args []val) []val {
	var list []*ir.Value
	for _, a := range args {
		list = append(list, f.scalar(a))
	}
	if len(list) != len(c.ext.Params) {
		return nil // an error has been reported
	}
	r := f.callExtern(c.ext, list...)
	if len(c.ext.Results) == 0 {
		return nil
	}
	t := under(c.typ).(*types.Signature).Results().At(0).Type()
	return []val{single(t, f.narrow(r, t))}
}

// ptxName reports whether s is a valid name for a PTX function.
func ptxName(s string) bool {
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && s != "_" && s != "$"
}
