package launch

import (
	"fmt"
	"strings"
)

func (p *printer) kernel(g *generator, k *Kernel) {
	name := k.GoName
	p.f("// %sIn returns the launcher of kernel %s in a context, which loads the code on first use.\n", name, k.Obj.Name())
	p.f("func %sIn(c *driver.Context) (%s, error) {\n", name, name)
	p.f("m, err := gpuModule(c)\nif err != nil {\nreturn %s{}, err\n}\n", name)
	p.f("return %s(m.Kernel(%q))\n}\n\n", k.constructor(), k.Name)
	p.doc(g, k)
	p.f("type %s struct{ calls *driver.Calls }\n\n", name)
	p.f("// Kernel returns the kernel, or nil for a zero %s.\n", name)
	p.f("func (launcher %s) Kernel() *driver.Kernel { return launcher.calls.Kernel() }\n\n", name)
	p.constructor(k)
	p.grid(k)
	p.op(k)
	p.do(k)
	p.args(k)
}

// doc writes the comment of the launcher, with that of the kernel.
func (p *printer) doc(g *generator, k *Kernel) {
	p.f("// %s launches the kernel %s", k.GoName, k.Obj.Name())
	if k.Name != k.Obj.Name() {
		p.f(", in PTX %s", k.Name)
	}
	p.f(".\n")
	if text := strings.TrimSpace(k.Decl.Doc.Text()); text != "" {
		p.f("//\n")
		for _, line := range strings.Split(text, "\n") {
			p.f("%s\n", strings.TrimRight("// "+line, " "))
		}
	}
	if g.opts.Traps != nil && g.opts.Traps(k.Name) {
		p.f("//\n// A failed check traps, which ends the context.\n")
	}
}

func (p *printer) constructor(k *Kernel) {
	p.f("func %s(kernel *driver.Kernel, err error) (%s, error) {\n", k.constructor(), k.GoName)
	p.f("if err != nil {\nreturn %s{}, err\n}\n", k.GoName)
	var alone []string
	for i, q := range k.params {
		if q.restrict {
			alone = append(alone, fmt.Sprint(i))
		}
	}
	if alone != nil {
		p.f("if err := kernel.Restrict(%s); err != nil {\nreturn %s{}, err\n}\n", strings.Join(alone, ", "), k.GoName)
	}
	p.f("calls, err := driver.NewCalls(kernel")
	for _, q := range k.params {
		p.f(", %s", q.access())
	}
	p.f(")\nreturn %s{calls}, err\n}\n\n", k.GoName)
}

func (q *param) access() string {
	switch {
	case !q.memory:
		return "0"
	case q.readOnly:
		return "driver.Reads"
	}
	return "driver.ReadsWrites"
}

var axes = [3]string{"x", "y", "z"}

// grid writes the helper that computes the number of blocks for a number of elements. Clusters are
// whole.
func (p *printer) grid(k *Kernel) {
	block, cluster := k.Directives.Block, k.Directives.Cluster
	if block == [3]int{} {
		block = [3]int{256, 1, 1}
		if k.Directives.MaxBlock > 0 {
			block[0] = min(256, k.Directives.MaxBlock)
		}
	}
	n := 3
	for n > 1 && block[n-1] == 1 && cluster[n-1] <= 1 {
		n--
	}
	params := axes[:n]
	if n == 1 {
		params = []string{"n"}
	}
	sizes, text := []string{"X: 1", "Y: 1", "Z: 1"}, make([]string, 3)
	for i := range text {
		text[i] = fmt.Sprint(block[i])
	}
	for i, name := range params {
		axis := strings.ToUpper(axes[i])
		sizes[i] = fmt.Sprintf("%s: driver.Blocks(%s, %d).X", axis, name, block[i])
		if c := cluster[i]; c > 1 {
			sizes[i] = fmt.Sprintf("%s: %d * driver.Blocks(%s, %d*%d).X", axis, c, name, c, block[i])
		}
	}
	whole := ""
	if cluster != [3]int{} {
		whole = " and whole clusters"
	}
	p.f("// Grid returns a launch with a thread for each of %s elements, in blocks of %s%s.\n", strings.Join(params, " × "), strings.Join(text[:n], " × "), whole)
	p.f("func (%s) Grid(%s int) driver.LaunchConfig {\n", k.GoName, strings.Join(params, ", "))
	shared := ""
	if k.Directives.Shared > 0 {
		shared = fmt.Sprintf(", SharedMem: %d", k.Directives.Shared)
	}
	if n == 1 && whole == "" {
		p.f("return driver.LaunchConfig{Grid: driver.Blocks(n, %s), Block: driver.D1(%s)%s}\n}\n\n", text[0], text[0], shared)
		return
	}
	p.f("return driver.LaunchConfig{Grid: driver.Dim3{%s}, Block: driver.D3(%s)%s}\n}\n\n", strings.Join(sizes, ", "), strings.Join(text, ", "), shared)
}

func (p *printer) op(k *Kernel) {
	p.f("// Op returns the launch as an operation for streams, captures and graphs. It retains the code and\n// the memory among the arguments.\n")
	p.f("func (launcher %s) Op(%s) (*driver.Launch, error) {\n", k.GoName, k.formal("driver.MemoryOf[%s]"))
	p.f("return launcher.Kernel().Prepare(cfg")
	for _, q := range k.params {
		if q.memory && q.readOnly {
			p.f(", driver.In(%s)", q.arg)
			continue
		}
		p.f(", %s", q.passed())
	}
	p.f(")\n}\n\n")
}

// formal returns the parameters of the launcher's methods.
func (k *Kernel) formal(memory string) string {
	list := []string{"cfg driver.LaunchConfig"}
	for _, q := range k.params {
		list = append(list, q.arg+" "+q.goType(memory))
	}
	return strings.Join(list, ", ")
}

func (q *param) goType(memory string) string {
	if q.memory {
		return fmt.Sprintf(memory, q.typ)
	}
	return q.typ
}

// passed returns the value as the driver accepts it.
func (q *param) passed() string {
	if q.as != "" {
		return q.as + "(" + q.arg + ")"
	}
	return q.arg
}

// passedType is the type of passed.
func (q *param) passedType() string {
	if q.as != "" {
		return q.as
	}
	return q.goType("driver.View[%s]")
}

func (p *printer) do(k *Kernel) {
	p.f("// Do launches the kernel on a stream, or records the launch in a scope of package graph. It does\n// not allocate.\n")
	p.f("func (launcher %s) Do(on driver.Doer, %s) error {\n", k.GoName, k.formal("driver.View[%s]"))
	p.f("return launcher.calls.Do(on, &cfg, &struct {\n")
	for _, q := range k.params {
		p.f("%s %s\n", q.arg, q.passedType())
	}
	p.f("}{")
	for i, q := range k.params {
		if i > 0 {
			p.f(", ")
		}
		p.f("%s", q.passed())
	}
	p.f("})\n}\n\n")
}

// args writes the type of a prepared launch, whose arguments can be set.
func (p *printer) args(k *Kernel) {
	name := k.GoName + "Args"
	p.f("// %s is a prepared launch of %s. Its arguments can be set one by one between launches,\n// without allocating.\n", name, k.GoName)
	p.f("type %s struct {\nLaunch *driver.Launch\n\n", name)
	for _, q := range k.params {
		if !q.handle {
			p.f("%s driver.Arg[%s]\n", q.field, q.passedType())
		}
	}
	p.f("}\n\n")
	p.f("// Prepare is Op for a launch whose arguments change.\n")
	p.f("func (launcher %s) Prepare(%s) (*%s, error) {\n", k.GoName, k.formal("driver.MemoryOf[%s]"), name)
	p.f("launch, err := launcher.Op(cfg")
	for _, q := range k.params {
		p.f(", %s", q.arg)
	}
	p.f(")\nif err != nil {\nreturn nil, err\n}\nargs := &%s{Launch: launch}\n", name)
	for i, q := range k.params {
		if !q.handle {
			p.f("if args.%s, err = driver.ArgOf[%s](launch, %d); err != nil {\nreturn nil, err\n}\n", q.field, q.passedType(), i)
		}
	}
	p.f("return args, nil\n}\n\n")
}
