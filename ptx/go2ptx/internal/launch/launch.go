// Package launch generates the Go code that launches compiled kernels.
package launch

import (
	"fmt"
	"go/format"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
	"github.com/purecuda/cuda/ptx/internal/launcher"
)

// Options configure the generated file.
type Options struct {
	File   string   // name of the PTX file in the same folder, such as heat_gpu.ptx
	Header []string // comment lines after the first line
	// Variants names the PTX files of newer targets, in the same folder.
	Variants []string
	// Variables are the PTX variables that the host can set.
	Variables []Variable
	// Linked names the PTX files that define functions called by kernels. They are in the package's
	// folder.
	Linked []string
	// ReadOnly reports whether a kernel only reads the memory of a parameter.
	ReadOnly func(kernel, param string) bool
	// Module replaces the launchers by a function Module.
	Module bool
	// Traps reports whether a failed check in a kernel traps.
	Traps func(kernel string) bool
}

// Variable is a gpu.Global or gpu.Constant.
type Variable struct{ Name, Package, Object string } // Name is its name in PTX

// Kernel describes a kernel and its launcher.
type Kernel struct {
	*source.Kernel
	GoName   string
	instance string // type arguments in brackets, or empty
	params   []*param
}

// Generate returns a Go file that contains launchers for the kernels of a program.
func Generate(p *source.Program, o Options) ([]byte, error) {
	g := &generator{prog: p, opts: o, imports: map[string]string{"embed": "_", driverPath: ""}, names: map[string]string{"driver": driverPath}}
	for _, k := range p.Kernels {
		g.kernel(k)
	}
	g.variables()
	g.collisions()
	if err := g.errs.Err(); err != nil {
		return nil, err
	}
	var body printer
	body.embed(g)
	if !o.Module {
		body.calls()
	}
	body.uses(g)
	if !o.Module {
		for _, k := range g.kernels {
			body.kernel(g, k)
		}
	}
	for _, v := range g.vars {
		body.variable(v)
	}
	var out printer
	out.F("%s; DO NOT EDIT.\n", source.Marker)
	for _, line := range o.Header {
		out.F("// %s\n", line)
	}
	out.F("\npackage %s\n\n", p.Name)
	out.imports(g)
	out.Write(body.Bytes())
	text, err := format.Source(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("go2ptx: the generated Go is not correct: %w", err)
	}
	return text, nil
}

// linkedName returns the name of the Go variable that contains linked PTX file i.
func linkedName(i int) string { return fmt.Sprintf("gpuPTX%d", i+1) }

// variantName returns the name of the Go variable that contains the PTX of variant i.
func variantName(i int) string { return fmt.Sprintf("gpuVariant%d", i+1) }

const driverPath = "github.com/purecuda/cuda/driver"

type generator struct {
	prog    *source.Program
	opts    Options
	kernels []*Kernel
	vars    []*variable
	imports map[string]string // names of imports by path, if they differ from the package names
	names   map[string]string // package names that the file uses
	errs    source.Errors
}

func (g *generator) errorf(pos token.Pos, format string, args ...any) {
	g.errs.Add(g.prog.Position(pos), format, args...)
}

func (g *generator) kernel(k *source.Kernel) {
	out := &Kernel{Kernel: k, GoName: goName(k)}
	sig := k.Signature
	for i := 1; i < sig.Params().Len() && !g.opts.Module; i++ {
		v := sig.Params().At(i)
		q, err := g.param(v)
		if err != nil {
			g.errorf(v.Pos(), "parameter %s of kernel %s: %v", v.Name(), k.Obj.Name(), err)
			continue
		}
		if q.Memory && g.opts.ReadOnly != nil && g.opts.ReadOnly(k.Name, v.Name()) {
			q.Access = launcher.In
		}
		q.restrict = q.Memory && k.Directives.Restricted(v.Name())
		out.params = append(out.params, q)
	}
	out.instance = g.instance(k)
	unique(out.params)
	g.kernels = append(g.kernels, out)
}

// instance returns the type arguments of a generic kernel in brackets.
func (g *generator) instance(k *source.Kernel) string {
	var list []string
	for _, t := range k.Instance {
		text, err := g.typ(t)
		if err != nil {
			g.errorf(k.Decl.Name.Pos(), "an instance of kernel %s: %v", k.Obj.Name(), err)
		}
		list = append(list, text)
	}
	if list == nil {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// goName returns the name of the launcher's type. For an instance, the name ends with the type
// arguments.
func goName(k *source.Kernel) string {
	name := k.Directives.Launcher
	if name == "" {
		name = exported(k.Obj.Name())
		if name == k.Obj.Name() {
			name += "Kernel"
		}
	}
	if len(k.Instance) > 0 {
		base := k.Obj.Name()
		if k.Directives.Name != "" {
			base = k.Directives.Name
		}
		name += exported(strings.TrimPrefix(k.Name, base+"_"))
	}
	return name
}

// collisions reports launchers whose names conflict with declarations of the package or with other
// launchers.
func (g *generator) collisions() {
	taken := map[string]string{}
	for _, name := range g.prog.Declared {
		taken[name] = "the package declares"
	}
	shared := []string{"gpuPTX", g.moduleName()}
	if !g.opts.Module {
		shared = append(shared, "gpuCalls")
	}
	for i := range g.opts.Linked {
		shared = append(shared, linkedName(i))
	}
	for i := range g.opts.Variants {
		shared = append(shared, variantName(i))
	}
	for _, name := range shared {
		if taken[name] != "" && len(g.kernels) > 0 {
			g.errorf(g.kernels[0].Decl.Name.Pos(), "the launchers need the name %s, which the package declares: rename that", name)
		}
		taken[name] = "the launchers share"
	}
	for _, k := range g.kernels {
		if g.opts.Module {
			break
		}
		for _, name := range k.names() {
			if by, ok := taken[name]; ok {
				g.errorf(k.Decl.Name.Pos(), "the launcher of kernel %s needs the name %s, which %s; give another one: //gpu:kernel launcher=%sKernel", k.Obj.Name(), name, by, k.GoName)
			}
			taken[name] = "another launcher uses"
		}
	}
	for _, v := range g.vars {
		if by, ok := taken[v.goName]; ok {
			g.errorf(v.obj.Pos(), "the host finds the variable %s with a function %s, which %s; rename the variable", v.obj.Name(), v.goName, by)
		}
		taken[v.goName] = "another variable uses"
	}
}

// names returns the names that the generated code declares for a kernel.
func (k *Kernel) names() []string { return []string{k.GoName, k.GoName + "In", k.GoName + "Args"} }

type printer struct{ launcher.Printer }

func (p *printer) imports(g *generator) {
	p.F("import (\n\t_ \"embed\"\n")
	std := true
	for _, path := range slices.SortedFunc(maps.Keys(g.imports), byKind) {
		if path == "embed" {
			continue
		}
		if std && strings.Contains(path, ".") {
			std = false
			p.F("\n")
		}
		p.F("\t%s %q\n", g.imports[path], path)
	}
	p.F(")\n\n")
}

// byKind is a comparison function that sorts standard library packages first.
func byKind(a, b string) int {
	as, bs := strings.Contains(a, "."), strings.Contains(b, ".")
	if as != bs {
		if bs {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// uses emits a reference to each kernel, so that linters do not report kernels that Go code never
// calls as unused.
func (p *printer) uses(g *generator) {
	p.F("// Tools do not report the kernels as unused.\nvar (\n")
	for _, k := range g.kernels {
		p.F("_ = %s%s\n", k.Obj.Name(), k.instance)
	}
	p.F(")\n\n")
}

// embed emits the variable that embeds the PTX and the function that loads it.
func (p *printer) embed(g *generator) {
	p.F("//go:embed %s\nvar gpuPTX []byte\n\n", g.opts.File)
	for i, name := range g.opts.Linked {
		p.F("//go:embed %s\nvar %s []byte\n\n", name, linkedName(i))
	}
	for i, name := range g.opts.Variants {
		p.F("//go:embed %s\nvar %s []byte\n\n", name, variantName(i))
	}
	name := g.moduleName()
	p.F("// %s returns the code of this package in a context. The first call loads it. The context\n// unloads it when it is closed.\n", name)
	p.F("func %s(c *driver.Context) (*driver.Module, error) {\n", name)
	more := ""
	for i := range g.opts.Linked {
		more += ", " + linkedName(i)
	}
	call := "Embedded(%q, gpuPTX"
	if len(g.opts.Variants) > 0 {
		call = "EmbeddedVariant(%q, [][]byte{gpuPTX"
		for i := range g.opts.Variants {
			call += ", " + variantName(i)
		}
		call += "}"
	}
	p.F("return c."+call+"%s)\n}\n\n", g.opts.File+" of package "+g.prog.Name, more)
}

// moduleName returns the name of the function that loads the code. It is exported if it replaces
// the launchers.
func (g *generator) moduleName() string {
	if g.opts.Module {
		return "Module"
	}
	return "gpuModule"
}

// calls emits the function that launchers share.
func (p *printer) calls() {
	p.F("// gpuCalls returns the calls of a kernel. The modes say how it accesses the memory of its arguments.\n")
	p.F("func gpuCalls(c *driver.Context, name string, modes ...driver.AccessMode) (*driver.Calls, error) {\n")
	p.F("m, err := gpuModule(c)\nif err != nil {\nreturn nil, err\n}\n")
	p.F("kernel, err := m.Kernel(name)\nif err != nil {\nreturn nil, err\n}\nreturn driver.NewCalls(kernel, modes...)\n}\n\n")
}
