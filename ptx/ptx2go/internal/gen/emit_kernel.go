package gen

import (
	"fmt"
	"strings"
)

// Forms selects the optional parts of a launcher.
type Forms struct{ Grid, Do, Prepare bool }

func (p *printer) kernel(k *kernel, forms Forms) {
	p.launcherType(k, forms)
	p.launcherOf(k, forms)
	if forms.Grid {
		p.grid(k)
	}
	p.op(k)
	if forms.Do {
		p.do(k)
	}
	if forms.Prepare {
		p.args(k)
	}
	p.asserts(k)
}

// launcherType writes the type of the launcher. It holds the kernel's driver.Calls, or only the
// kernel if no method launches it directly.
func (p *printer) launcherType(k *kernel, forms Forms) {
	p.f("// %s launches the kernel %s.\n", k.goName, k.name)
	if k.doc != "" {
		p.f("//\n")
		p.comment("", k.doc)
	}
	field, get := "calls *driver.Calls", "calls.Kernel()"
	if !forms.Do {
		field, get = "kernel *driver.Kernel", "kernel"
	}
	p.f("type %s struct{ %s }\n\n", k.goName, field)
	p.f("// Kernel returns the kernel, nil for a zero %s.\n", k.goName)
	p.f("func (launcher %s) Kernel() *driver.Kernel { return launcher.%s }\n\n", k.goName, get)
}

func (p *printer) launcherOf(k *kernel, forms Forms) {
	p.f("func %s(kernel *driver.Kernel, err error) (%s, error) {\n", k.of(), k.goName)
	if !forms.Do {
		p.f("return %s{kernel}, err\n}\n\n", k.goName)
		return
	}
	p.f("if err != nil {\nreturn %s{}, err\n}\n", k.goName)
	p.f("calls, err := driver.NewCalls(kernel")
	for _, q := range k.params {
		p.f(", %s", q.access())
	}
	p.f(")\nreturn %s{calls}, err\n}\n\n", k.goName)
}

// access returns the constant of package driver for the parameter's mode.
func (q *param) access() string {
	switch {
	case !q.memory:
		return "0"
	case q.mode == modeIn:
		return "driver.Reads"
	case q.mode == modeOut:
		return "driver.Writes"
	}
	return "driver.ReadsWrites"
}

var axes = [3]string{"x", "y", "z"}

// grid writes the helper that computes the number of blocks for a number of elements. If
// the kernel has a fixed cluster size, the grid consists of whole clusters.
func (p *printer) grid(k *kernel) {
	n := 3
	for n > 1 && k.block[n-1] <= 1 && k.sig.ReqCluster[n-1] <= 1 {
		n--
	}
	params := axes[:n]
	if n == 1 {
		params = []string{"n"}
	}
	sizes, block, whole := []string{"X: 1", "Y: 1", "Z: 1"}, make([]string, 3), ""
	for i, name := range params {
		sizes[i] = k.extent(i, name)
	}
	for i := range block {
		block[i] = fmt.Sprint(max(k.block[i], 1))
	}
	if k.sig.ReqCluster != [3]int{} {
		whole = " and whole clusters"
	}
	p.f("// Grid returns a launch with a thread for each of %s elements, in blocks of %s%s.\n", strings.Join(params, " × "), strings.Join(block[:n], " × "), whole)
	p.f("func (%s) Grid(%s int) driver.LaunchConfig {\n", k.goName, strings.Join(params, ", "))
	if n == 1 && whole == "" {
		p.f("return driver.LaunchConfig{Grid: driver.Blocks(n, %s), Block: driver.D1(%s)}\n}\n\n", block[0], block[0])
		return
	}
	p.f("return driver.LaunchConfig{Grid: driver.Dim3{%s}, Block: driver.D3(%s)}\n}\n\n", strings.Join(sizes, ", "), strings.Join(block, ", "))
}

// extent returns the expression for the grid size along an axis.
func (k *kernel) extent(axis int, elements string) string {
	name, size, cluster := strings.ToUpper(axes[axis]), max(k.block[axis], 1), k.sig.ReqCluster[axis]
	if cluster > 1 {
		return fmt.Sprintf("%s: %d * driver.Blocks(%s, %d*%d).X", name, cluster, elements, cluster, size)
	}
	return fmt.Sprintf("%s: driver.Blocks(%s, %d).X", name, elements, size)
}

func (p *printer) op(k *kernel) {
	p.f("// Op returns the launch as an operation for streams, captures and graphs. It\n")
	p.f("// retains the code and the memory among the arguments.\n")
	p.f("func (launcher %s) Op(%s) (*driver.Launch, error) {\n", k.goName, k.formal("driver.MemoryOf[%s]"))
	p.f("return launcher.Kernel().Prepare(cfg")
	for _, q := range k.params {
		p.f(", %s", q.declared())
	}
	p.f(")\n}\n\n")
}

func (q *param) declared() string {
	if q.memory {
		switch q.mode {
		case modeIn:
			return "driver.In(" + q.arg + ")"
		case modeOut:
			return "driver.Out(" + q.arg + ")"
		case modeInOut:
			return "driver.InOut(" + q.arg + ")"
		}
	}
	return q.arg
}

// formal returns the Go parameters after the stream. memory is the fmt format for the type of typed
// memory.
func (k *kernel) formal(memory string) string {
	list := []string{"cfg driver.LaunchConfig"}
	for _, q := range k.params {
		list = append(list, q.arg+" "+q.goType(memory))
	}
	return strings.Join(list, ", ")
}

func (q *param) goType(memory string) string {
	switch {
	case !q.memory:
		return q.typ
	case q.typ == "":
		return "driver.Memory"
	}
	return fmt.Sprintf(memory, q.typ)
}

func (p *printer) do(k *kernel) {
	p.f("// Do launches the kernel on a stream, or records the launch in a scope of\n")
	if k.untyped() {
		p.f("// package graph. Passing a *Buffer does not allocate; passing a View does, because\n// it becomes an interface value.\n")
	} else {
		p.f("// package graph. It does not allocate.\n")
	}
	p.f("func (launcher %s) Do(on driver.Doer, %s) error {\n", k.goName, k.formal("driver.View[%s]"))
	p.f("return launcher.calls.Do(on, &cfg, &struct {\n")
	for _, q := range k.params {
		p.f("%s %s\n", q.arg, q.goType("driver.View[%s]"))
	}
	p.f("}{")
	for i, q := range k.params {
		if i > 0 {
			p.f(", ")
		}
		p.f("%s", q.arg)
	}
	p.f("})\n}\n\n")
}

// untyped reports whether any parameter is memory of unknown element type.
func (k *kernel) untyped() bool {
	for _, q := range k.params {
		if q.memory && q.typ == "" {
			return true
		}
	}
	return false
}

// args writes the type that holds a prepared launch of k and its settable arguments.
func (p *printer) args(k *kernel) {
	name := k.goName + "Args"
	p.f("// %s is a prepared launch of %s. Its arguments can be set one by one,\n// without allocating, between launches.\n", name, k.goName)
	p.f("type %s struct {\n\tLaunch *driver.Launch\n\n", name)
	for _, q := range k.params {
		p.f("%s driver.Arg[%s]%s\n", q.field, q.argType(), q.remark())
	}
	p.f("}\n\n")
	p.f("// Prepare is Op for a launch whose arguments change.\n")
	p.f("func (launcher %s) Prepare(%s) (*%s, error) {\n", k.goName, k.formal("driver.MemoryOf[%s]"), name)
	p.f("launch, err := launcher.Op(cfg")
	for _, q := range k.params {
		p.f(", %s", q.arg)
	}
	p.f(")\nif err != nil {\nreturn nil, err\n}\nargs := &%s{Launch: launch}\n", name)
	for i, q := range k.params {
		p.f("if args.%s, err = driver.ArgOf[%s](launch, %d); err != nil {\nreturn nil, err\n}\n", q.field, q.argType(), i)
	}
	p.f("return args, nil\n}\n\n")
}

// argType returns the Go type of an argument of a prepared launch. Memory of unknown
// element type is set as bytes.
func (q *param) argType() string {
	if q.memory && q.typ == "" {
		return "driver.View[byte]"
	}
	return q.goType("driver.View[%s]")
}

func (q *param) remark() string {
	if q.name == q.Param.Name {
		return fmt.Sprintf(" // %s", ptxType(q.Param))
	}
	return fmt.Sprintf(" // %s, %s", q.Param.Name, ptxType(q.Param))
}

// asserts writes compile-time checks that the package's own types passed by value have
// the size of their parameter.
func (p *printer) asserts(k *kernel) {
	for _, q := range k.params {
		if q.sized {
			p.f("// %s of %s has %d bytes.\nvar _ [%d]byte = [unsafe.Sizeof(*new(%s))]byte{}\n\n", q.arg, k.name, q.Size, q.Size, q.typ)
		}
	}
}

func (k *kernel) asserts() bool {
	for _, q := range k.params {
		if q.sized {
			return true
		}
	}
	return false
}
