package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// kernel checks a kernel and adds it to the program. For a generic kernel, it adds the instances.
func (c *checker) kernel(pkg *Package, d *decl) {
	dirs, _ := parseDirectives(c.fset, pkg.Path, d.fun)
	obj := pkg.Info.Defs[d.fun.Name].(*types.Func)
	sig := obj.Signature()
	k := Kernel{Pkg: pkg, Decl: d.fun, Obj: obj, Name: obj.Name(), Directives: dirs, Signature: sig}
	if dirs.Name != "" {
		k.Name = dirs.Name
	}
	at := c.fset.PositionFor(d.fun.Name.Pos(), false)
	if !ptxName(k.Name) {
		c.errs.Add(at, "%s cannot be a name in PTX; give one that can: //gpu:kernel name=step", k.Name)
		return
	}
	if d.fun.Body == nil {
		c.errs.Add(at, "kernel %s has no body", obj.Name())
		return
	}
	n := sig.TypeParams().Len()
	if n == 0 {
		if len(dirs.Instances) > 0 {
			c.errs.Add(c.fset.PositionFor(dirs.Instances[0].Pos, false), "kernel %s has no type parameters", obj.Name())
			return
		}
		c.add(&k)
		return
	}
	if len(dirs.Instances) == 0 {
		c.errs.Add(at, "kernel %s is generic; list its instances: //gpu:instance float32 int32", obj.Name())
	}
	for _, in := range dirs.Instances {
		c.instance(k, in)
	}
}

func (c *checker) instance(k Kernel, in Instance) {
	at := c.fset.PositionFor(in.Pos, false)
	if n := k.Signature.TypeParams().Len(); len(in.Types) != n {
		c.errs.Add(at, "%s: kernel %s has %d type parameters", in.Text, k.Obj.Name(), n)
		return
	}
	for _, e := range in.Types {
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if err := types.CheckExpr(c.fset, k.Pkg.Types, k.Decl.Pos(), e, &info); err != nil {
			msg := err.Error()
			if te, ok := err.(types.Error); ok {
				msg = te.Msg
			}
			c.errs.Add(at, "%s", msg)
			return
		}
		tv := info.Types[e]
		if !tv.IsType() {
			c.errs.Add(at, "%s is not a type", types.ExprString(e))
			return
		}
		k.Instance = append(k.Instance[:len(k.Instance):len(k.Instance)], tv.Type)
		k.Name += "_" + typeName(tv.Type)
	}
	t, err := types.Instantiate(nil, k.Signature, k.Instance, true)
	if err != nil {
		c.errs.Add(at, "%v", err)
		return
	}
	k.Signature = t.(*types.Signature)
	c.add(&k)
}

// typeName returns a type in a form that can be part of an identifier, such as float32, F16 or
// x4_float32.
func typeName(t types.Type) string {
	s := types.TypeString(t, func(*types.Package) string { return "" })
	return strings.Trim(strings.Map(func(r rune) rune {
		if ptxName("a" + string(r)) {
			return r
		}
		return '_'
	}, s), "_")
}

// add checks the kernel's signature and adds the kernel.
func (c *checker) add(k *Kernel) {
	before := len(c.errs)
	sig, at := k.Signature, c.fset.PositionFor(k.Decl.Name.Pos(), false)
	if sig.Params().Len() == 0 || !isThread(sig.Params().At(0).Type()) {
		c.errs.Add(at, "the first parameter of kernel %s must be a gpu.Thread", k.Obj.Name())
		return
	}
	if sig.Results().Len() > 0 {
		c.errs.Add(at, "kernel %s has results; a kernel can only write to memory", k.Obj.Name())
	}
	if sig.Variadic() {
		c.errs.Add(at, "kernel %s is variadic; use a slice", k.Obj.Name())
	}
	memory, views := map[string]bool{}, map[string]bool{}
	for i := 1; i < sig.Params().Len(); i++ {
		v := sig.Params().At(i)
		if err := parameter(v.Type()); err != nil {
			c.errs.Add(c.fset.PositionFor(v.Pos(), false), "parameter %s of kernel %s: %v", v.Name(), k.Obj.Name(), err)
		}
		memory[v.Name()], views[v.Name()] = IsMemory(v.Type()), containsView(v.Type())
	}
	for _, name := range k.Directives.Restrict {
		if views[name] && !memory[name] {
			c.errs.Add(c.fset.PositionFor(k.Directives.Pos, false), "restrict=%s: a launch cannot check a view in a struct or a View2D; pass its elements as a slice", name)
			continue
		}
		if is, ok := memory[name]; !ok || !is {
			c.errs.Add(c.fset.PositionFor(k.Directives.Pos, false), "restrict=%s: kernel %s has no slice or pointer of this name", name, k.Obj.Name())
		}
	}
	if len(c.errs) == before {
		c.p.Kernels = append(c.p.Kernels, k)
	}
}

// names reports kernels that have the same PTX name.
func (c *checker) names() {
	seen := map[string]token.Pos{}
	for _, k := range c.p.Kernels {
		if old, ok := seen[k.Name]; ok {
			c.errs.Add(c.fset.PositionFor(k.Decl.Name.Pos(), false), "kernel %s has the same name in PTX as that at %v; give one name=", k.Name, c.fset.PositionFor(old, false))
		}
		seen[k.Name] = k.Decl.Name.Pos()
	}
}

func isThread(t types.Type) bool { return isGPU(t, "Thread") }

// isGPU reports whether t is the named type of package gpu. If name is empty, it accepts all types
// of package gpu.
func isGPU(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == GPUPath && (name == "" || n.Obj().Name() == name)
}

// containsView reports whether a value of type t contains a View or View2D.
func containsView(t types.Type) bool {
	if isGPU(t, "View") || isGPU(t, "View2D") {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return containsView(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if containsView(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}

// IsMemory reports whether a kernel parameter of type t refers to memory: a slice, a pointer or a
// View.
func IsMemory(t types.Type) bool {
	if isGPU(t, "View") {
		return true
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Pointer:
		return true
	}
	return false
}

// parameter checks the type of a kernel parameter.
func parameter(t types.Type) error {
	if isThread(t) {
		return fmt.Errorf("only the first parameter is a gpu.Thread")
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return value(u.Elem(), elements)
	case *types.Pointer:
		return value(u.Elem(), "what a pointer points to")
	}
	return value(t, "a parameter")
}

// elements describes a slice parameter in the errors of value.
const elements = "the elements of a slice"

// value checks the type of a value that is exchanged between host and device. It must be a number,
// an array, a struct or a type of package gpu.
func value(t types.Type, what string) error {
	if isGPU(t, "") {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&(types.IsBoolean|types.IsNumeric) != 0 && u.Kind() != types.UnsafePointer {
			return nil
		}
		if u.Info()&types.IsString != 0 {
			return fmt.Errorf("%s cannot be a string; use []byte", what)
		}
	case *types.Array:
		return value(u.Elem(), what)
	case *types.Struct:
		for i := range u.NumFields() {
			if err := value(u.Field(i).Type(), "field "+u.Field(i).Name()); err != nil {
				return err
			}
		}
		return nil
	case *types.Slice:
		advice := "use gpu.View"
		if what == elements {
			advice = "use one slice with the index y*width+x, or gpu.View"
		}
		return fmt.Errorf("%s cannot be a slice: host memory means nothing to the device; %s", what, advice)
	case *types.Pointer:
		return fmt.Errorf("%s cannot be a pointer: host memory means nothing to the device; use gpu.View", what)
	}
	return fmt.Errorf("%s cannot have type %v; host and device exchange numbers, arrays and structs", what, t)
}
