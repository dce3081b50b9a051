package go2ptx

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// apiPackage is a package whose functions kernels can call.
type apiPackage struct {
	name  string
	funcs []*ast.FuncDecl
	types map[string]ast.Expr // declarations of the package's types
}

// apiPackages parses the packages that are built into the compiler.
func apiPackages(t *testing.T) []*apiPackage {
	t.Helper()
	var list []*apiPackage
	for _, path := range []string{"gpu", "num", "gpu/math", "gpu/math32"} {
		p := &apiPackage{name: path[strings.LastIndexByte(path, '/')+1:], types: map[string]ast.Expr{}}
		files := builtin[root+path]
		names, err := fs.Glob(files, "*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			data, err := files.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, data, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.add(f)
		}
		list = append(list, p)
	}
	return list
}

func (p *apiPackage) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiverType(d))) {
				p.funcs = append(p.funcs, d)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					p.types[s.Name.Name] = s.Type
				}
			}
		}
	}
}

func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	e := d.Recv.List[0].Type
	if s, ok := e.(*ast.StarExpr); ok {
		e = s.X
	}
	if i, ok := e.(*ast.IndexExpr); ok {
		e = i.X
	}
	return e.(*ast.Ident).Name
}

// key returns the name of a function, such as gpu.Thread.Sync or num.To.
func (p *apiPackage) key(d *ast.FuncDecl) string {
	if r := receiverType(d); r != "" {
		return p.name + "." + r + "." + d.Name.Name
	}
	return p.name + "." + d.Name.Name
}

// anyTypes are the type arguments for an unconstrained type parameter, unless apiTypes lists
// others.
var anyTypes = []string{"int32", "float64", "num.F16", "[4]float32", "point"}

// apiTypes are the type arguments for functions that do not accept all types of their constraint.
var apiTypes = map[string][]string{
	"gpu.CopyAsync": {"int32", "float64", "[4]float32"}, "gpu.CopyAsyncIf": {"uint32", "int64", "[2]float64"},
	"num.Float32s": {"num.F16"},
	"gpu.Extern":   {"int32"},
	"gpu.ViewAt":   {"int32", "float64"}, "gpu.View2DAt": {"int32", "float64"},
}

// apiArgs are arguments that must be constants or that cannot be derived from their types. The keys
// are a function and a parameter, or just a parameter.
var apiArgs = map[string]string{
	"mode": "gpu.ToZero", "width": "8", "table": "0x96", "message": `"x is small"`, "hint": "gpu.CacheStreaming",
	"gpu.Thread.WaitGroup n": "1", "gpu.Thread.WaitBulkGroup n": "0", "gpu.StoreCached hint": "gpu.CacheGlobal",
	"gpu.AtomicAdd options": "gpu.ScopeBlock, gpu.AcqRel", "gpu.AtomicLoad options": "gpu.Acquire", "gpu.AtomicStore options": "gpu.ScopeSystem, gpu.Release",
	"gpu.AtomicExchange options": "gpu.Relaxed", "options": "", "gpu.Printf format": `"%d\n"`, "gpu.Printf args": "t.ThreadX()",
	"num.F16.Format s": "nil", "num.BF16.Format s": "nil", "num.E4M3.Format s": "nil", "num.E5M2.Format s": "nil",
	"gpu.Output w": "nil", "gpu.Run kernel": "nil", "gpu.Run options": "",
	"bar": "gpu.Shared[gpu.Barrier](t)",
}

// apiStatements contains code to compile in place of a plain call, for functions that are only
// valid as part of another expression or declaration.
var apiStatements = map[string]string{
	"gpu.PTX":           `var x int32; gpu.PTX("mov.u32 %0, %1;", gpu.Out(&x), gpu.In(int32(3))); o[0] = x`,
	"gpu.PurePTX":       `var x int32; gpu.PurePTX("mov.u32 %0, 5;", gpu.Out(&x)); o[0] = x`,
	"gpu.Out":           `var x TYPE; gpu.PTX("// %0", gpu.Out(&x)); s[0] = x`,
	"gpu.InOut":         `x := s[1]; gpu.PTX("// %0", gpu.InOut(&x)); s[0] = x`,
	"gpu.In":            `gpu.PTX("// %0", gpu.In(s[0]))`,
	"gpu.Addr":          `gpu.PTX("st.u8 [%0], 1;", gpu.Addr(&s[0]))`,
	"gpu.SharedAddr":    `gpu.PTX("st.shared.u8 [%0], 1;", gpu.SharedAddr(gpu.Shared[TYPE](t)))`,
	"gpu.Extern":        `o[0] = other(o[1])`,
	"gpu.GlobalOf":      `o[0] = *set.Ptr()`,
	"gpu.ConstantOf":    `o[0] = fixed.Load()`,
	"gpu.ViewAt":        `s[0] = gpu.ViewAt[TYPE](uint64(o[0]), 3).At(1)`,
	"gpu.View2DAt":      `s[0] = gpu.View2DAt[TYPE](uint64(o[0]), 3, 3, 3).At(1, 1)`,
	"gpu.MapShared":     `s[0] = *gpu.MapShared(t, gpu.Shared[TYPE](t), 1)`,
	"gpu.DynamicShared": `s[0] = gpu.DynamicShared[TYPE](t)[2]`,
	"gpu.CopyAsync":     `gpu.CopyAsync(t, gpu.Shared[TYPE](t), &s[1])`,
	"gpu.CopyAsyncIf":   `gpu.CopyAsyncIf(t, gpu.Shared[TYPE](t), &s[1], o[0] > 2)`,
	"gpu.CopyBulk":      `gpu.CopyBulk(t, gpu.Shared[[16]TYPE](t)[:], s[:16], gpu.Shared[gpu.Barrier](t))`,
	"gpu.CopyBulkOut":   `gpu.CopyBulkOut(t, s[:16], gpu.Shared[[16]TYPE](t)[:])`,
}

// apiRefused maps each function that kernels cannot call to a part of the expected error.
var apiRefused = map[string]string{
	"gpu.Run": "gpu.Run is for the host, not for kernels", "gpu.SharedSize": "gpu.SharedSize is for the host, not for kernels",
	"gpu.Cluster": "gpu.Cluster is for the host, not for kernels", "gpu.Cooperative": "gpu.Cooperative is for the host, not for kernels",
	"gpu.Output": "gpu.Output is for the host, not for kernels", "gpu.Panic.Error": "gpu.Panic is for the host, not for kernels",
	"gpu.Panic.Unwrap": "gpu.Panic is for the host, not for kernels", "gpu.Deadlock.Error": "gpu.Deadlock is for the host, not for kernels",
	"gpu.AssertionError.Error": "gpu.AssertionError is for the host, not for kernels",
	"gpu.Constant.Simulate":    "has no field or method Simulate); the method is for the host, not for kernels",
	"num.F16.String":           "has no field or method String); the method is for the host, not for kernels",
	"num.BF16.String":          "has no field or method String); the method is for the host, not for kernels",
	"num.E4M3.String":          "has no field or method String); the method is for the host, not for kernels",
	"num.E5M2.String":          "has no field or method String); the method is for the host, not for kernels",
	"num.F16.Format":           "has no field or method Format); the method is for the host, not for kernels",
	"num.BF16.Format":          "has no field or method Format); the method is for the host, not for kernels",
	"num.E4M3.Format":          "has no field or method Format); the method is for the host, not for kernels",
	"num.E5M2.Format":          "has no field or method Format); the method is for the host, not for kernels",
	"num.ToF16s":               "num.ToF16s is for the host, not for kernels", "num.ToBF16s": "num.ToBF16s is for the host, not for kernels",
	"num.ToE4M3s": "num.ToE4M3s is for the host, not for kernels", "num.ToE5M2s": "num.ToE5M2s is for the host, not for kernels",
	"num.Float32s": "num.Float32s is for the host, not for kernels",
}

// kernelsOf returns a file with one kernel for each instance of a function.
func (p *apiPackage) kernelsOf(d *ast.FuncDecl) string {
	var b strings.Builder
	b.WriteString(`package p

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math"
	"github.com/purecuda/cuda/ptx/gpu/math32"
	"github.com/purecuda/cuda/ptx/num"
)

const _, _, _ = math.Pi, math32.Pi, num.MaxF16

type point struct { x int8; y float64 }

var (
	set   = gpu.GlobalOf(int32(5))
	fixed = gpu.ConstantOf(int32(5))
	other = gpu.Extern[func(int32) int32]("other.ptx", "other", nil)
)
`)
	for i, types := range p.instances(d) {
		c := &apiCall{p: p, d: d, types: types}
		body := c.body()
		fmt.Fprintf(&b, "\n//gpu:kernel\nfunc k%d(t gpu.Thread, o []int32%s) {\n%s\n}\n", i, strings.Join(c.params, ""), body)
	}
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String()
	}
	return string(text)
}

// instances returns the type arguments of each instance, by type parameter.
func (p *apiPackage) instances(d *ast.FuncDecl) []map[string]string {
	list := []map[string]string{{}}
	add := func(name string, types []string) {
		var next []map[string]string
		for _, old := range list {
			for _, t := range types {
				one := map[string]string{name: t}
				for k, v := range old {
					one[k] = v
				}
				next = append(next, one)
			}
		}
		list = next
	}
	if d.Recv != nil {
		e := d.Recv.List[0].Type
		if s, ok := e.(*ast.StarExpr); ok {
			e = s.X
		}
		if i, ok := e.(*ast.IndexExpr); ok {
			types := anyTypes
			if r := receiverType(d); r == "Global" || r == "Constant" {
				types = anyTypes[:1] // a package-level variable can have only one type
			}
			add(i.Index.(*ast.Ident).Name, types)
		}
	}
	if d.Type.TypeParams == nil {
		return list
	}
	for _, f := range d.Type.TypeParams.List {
		types := apiTypes[p.key(d)]
		if types == nil {
			types = slices.Compact(slices.Sorted(slices.Values(p.terms(f.Type))))
		}
		for _, n := range f.Names {
			add(n.Name, types)
		}
	}
	return list
}

// terms returns the types in the type set of a constraint.
func (p *apiPackage) terms(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return append(p.terms(e.X), p.terms(e.Y)...)
	case *ast.UnaryExpr:
		return p.terms(e.X)
	case *ast.InterfaceType:
		var list []string
		for _, f := range e.Methods.List {
			list = append(list, p.terms(f.Type)...)
		}
		return list
	case *ast.SelectorExpr:
		if e.Sel.Name == "Number" { // num.Number
			return numTypes
		}
		return []string{"num." + e.Sel.Name}
	case *ast.Ident:
		if e.Name == "any" {
			return anyTypes
		}
		if decl, ok := p.types[e.Name]; ok {
			if _, ok := decl.(*ast.InterfaceType); ok {
				return p.terms(decl)
			}
			return []string{p.name + "." + e.Name}
		}
		return []string{e.Name}
	}
	panic(fmt.Sprintf("%T in a constraint", e))
}

var numTypes = []string{"int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint", "float32", "float64", "num.F16", "num.BF16", "num.E4M3", "num.E5M2"}

// apiCall is a call of an API function in a kernel.
type apiCall struct {
	p      *apiPackage
	d      *ast.FuncDecl
	types  map[string]string
	params []string // parameters of the kernel
}

func (c *apiCall) param(typ string) string {
	name := fmt.Sprintf("a%d", len(c.params))
	c.params = append(c.params, ", "+name+" "+typ)
	return name
}

func (c *apiCall) body() string {
	key := c.p.key(c.d)
	if s, ok := apiStatements[key]; ok {
		if len(c.types) == 0 {
			return s
		}
		if strings.Contains(s, "s[") || strings.Contains(s, "s, ") {
			c.params = append(c.params, ", s []"+c.types["T"])
		}
		return strings.ReplaceAll(s, "TYPE", c.types["T"])
	}
	var args []string
	for _, f := range c.d.Type.Params.List {
		for _, n := range f.Names {
			arg, ok := apiArgs[key+" "+n.Name]
			if !ok {
				arg, ok = apiArgs[n.Name]
			}
			if !ok {
				arg = c.arg(f.Type)
			}
			if arg != "" {
				args = append(args, arg)
			}
		}
	}
	call := c.callee() + "(" + strings.Join(args, ", ") + ")"
	if c.d.Type.Results == nil {
		return call
	}
	return c.results(call)
}

// callee returns the function with its type arguments, or the method with its receiver.
func (c *apiCall) callee() string {
	if c.d.Recv == nil {
		if c.d.Type.TypeParams == nil {
			return c.p.name + "." + c.d.Name.Name
		}
		var list []string
		for _, f := range c.d.Type.TypeParams.List {
			for _, n := range f.Names {
				list = append(list, c.types[n.Name])
			}
		}
		return c.p.name + "." + c.d.Name.Name + "[" + strings.Join(list, ", ") + "]"
	}
	typ := c.p.name + "." + receiverType(c.d)
	switch typ {
	case "gpu.Thread":
		return "t." + c.d.Name.Name
	case "gpu.Barrier":
		return "gpu.Shared[gpu.Barrier](t)." + c.d.Name.Name
	case "gpu.Global":
		return "set." + c.d.Name.Name
	case "gpu.Constant":
		return "fixed." + c.d.Name.Name
	}
	if len(c.types) > 0 {
		typ += "[" + c.types["T"] + "]"
		return c.param(typ) + "." + c.d.Name.Name
	}
	if c.p.name == "num" {
		return c.param("[]"+typ) + "[1]." + c.d.Name.Name
	}
	return c.param(typ) + "." + c.d.Name.Name
}

// typ formats a type with type arguments substituted and package names added.
func (c *apiCall) typ(e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), c.named(e)); err != nil {
		panic(err)
	}
	return b.String()
}

func (c *apiCall) named(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		if t, ok := c.types[e.Name]; ok {
			return ast.NewIdent(t)
		}
		if ast.IsExported(e.Name) {
			return ast.NewIdent(c.p.name + "." + e.Name)
		}
	case *ast.StarExpr:
		return &ast.StarExpr{X: c.named(e.X)}
	case *ast.ArrayType:
		return &ast.ArrayType{Len: e.Len, Elt: c.named(e.Elt)}
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: c.named(e.X), Index: c.named(e.Index)}
	}
	return e
}

func (c *apiCall) arg(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "&" + c.param("[]"+c.typ(e.X)) + "[1]"
	case *ast.ArrayType:
		return c.param(c.typ(e))
	}
	if typ := c.typ(e); typ != "gpu.Thread" {
		return c.param("[]"+typ) + "[2]"
	}
	return "t"
}

// results stores the results of a call so that the compiler does not remove the call.
func (c *apiCall) results(call string) string {
	var names, stores []string
	for _, f := range c.d.Type.Results.List {
		for range max(len(f.Names), 1) {
			r := fmt.Sprintf("r%d", len(names))
			names = append(names, r)
			typ, value := c.typ(f.Type), r
			switch e := f.Type.(type) {
			case *ast.ArrayType:
				typ, value = c.typ(e.Elt), r+"[1]"
			case *ast.StarExpr:
				typ, value = c.typ(e.X), "*"+r
			case *ast.IndexExpr:
				typ, value = c.typ(e.Index), r+".At(1)"
				if c.typ(e.X) == "gpu.View2D" {
					value = r + ".At(1, 1)"
				}
			}
			stores = append(stores, c.param("[]"+typ)+"[0] = "+value)
		}
	}
	return strings.Join(names, ", ") + " := " + call + "\n" + strings.Join(stores, "\n")
}

// Each exported function of the packages for kernels must compile with every type it accepts, or
// fail with the error in apiRefused.
func TestEveryFunctionForKernels(t *testing.T) {
	seen := map[string]bool{}
	instances := 0
	for _, p := range apiPackages(t) {
		for _, d := range p.funcs {
			key := p.key(d)
			seen[key] = true
			t.Run(key, func(t *testing.T) {
				text := p.kernelsOf(d)
				out, err := Compile(Config{Package: Package{Path: "example.org/p", Files: []File{{Name: "p.go", Data: []byte(text)}}}})
				if want, refused := apiRefused[key]; refused {
					if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "p.go:") {
						t.Errorf("the error is %v, want %q at a line of p.go", err, want)
					}
					return
				}
				if err != nil {
					t.Errorf("%v\n%s", err, text)
					return
				}
				instances += len(out.Kernels)
				if dir := os.Getenv("PURECUDA_API_PTX"); dir != "" {
					if err := os.WriteFile(filepath.Join(dir, key+".ptx"), out.PTX, 0o666); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for _, table := range []map[string]string{apiRefused, apiStatements} {
		for key := range table {
			if !seen[key] {
				t.Errorf("there is no function %s", key)
			}
		}
	}
	t.Logf("%d functions, %d kernels", len(seen), instances)
}
