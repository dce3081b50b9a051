// Package launcher generates the Go code of typed launchers, for the generators go2ptx and ptx2go.
package launcher

import (
	"bytes"
	"fmt"
	"strings"
)

// Kernel describes a launcher.
type Kernel struct {
	Type    string // name of the launcher's type
	Block   [3]int // block size for Grid; 0 counts as 1
	Cluster [3]int // cluster size; zero if the kernel has no fixed cluster size
	Shared  int    // bytes of dynamic shared memory
	Params  []Param
}

// Param describes a parameter of the kernel.
type Param struct {
	Arg    string // name of the Go parameter
	Field  string // name of the field of the prepared launch; empty if the argument cannot be set
	Type   string // type of the value or of the memory's elements; empty for memory of any type
	As     string // type to which the value is converted; empty if it is not converted
	Memory bool   // whether the parameter is device memory
	Access Access // how the kernel accesses the memory
	Remark string // comment on the field; may be empty
}

// Access is the way a kernel accesses memory.
type Access uint8

const (
	Unknown Access = iota // may read and write
	In
	Out
	InOut
)

// mode returns the corresponding driver.AccessMode.
func (q *Param) mode() string {
	switch {
	case !q.Memory:
		return "0"
	case q.Access == In:
		return "driver.Reads"
	case q.Access == Out:
		return "driver.Writes"
	}
	return "driver.ReadsWrites"
}

// Modes returns the arguments of driver.NewCalls that follow the kernel, each preceded by a comma.
func (k *Kernel) Modes() string {
	var b strings.Builder
	for i := range k.Params {
		b.WriteString(", " + k.Params[i].mode())
	}
	return b.String()
}

// Printer accumulates the text of a Go file, which is not formatted yet.
type Printer struct{ bytes.Buffer }

// F adds formatted text.
func (p *Printer) F(format string, args ...any) { fmt.Fprintf(&p.Buffer, format, args...) }

// Comment adds text as a comment.
func (p *Printer) Comment(text string) {
	for _, line := range strings.Split(text, "\n") {
		p.F("%s\n", strings.TrimRight("// "+line, " "))
	}
}

// Launcher adds the launcher's type, which contains the kernel's driver.Calls, and its method
// Kernel. comment follows the first line of the type's comment and may be empty.
func (p *Printer) Launcher(k *Kernel, kernel, comment string) {
	p.launcher(k, kernel, comment, "calls *driver.Calls", "calls.Kernel()")
}

// Plain is like Launcher, but for a type without the method Do. The type contains a driver.Kernel.
func (p *Printer) Plain(k *Kernel, kernel, comment string) {
	p.launcher(k, kernel, comment, "kernel *driver.Kernel", "kernel")
}

func (p *Printer) launcher(k *Kernel, kernel, comment, field, get string) {
	p.F("// %s launches the kernel %s.\n", k.Type, kernel)
	if comment != "" {
		p.F("//\n")
		p.Comment(comment)
	}
	p.F("type %s struct{ %s }\n\n", k.Type, field)
	p.F("// Kernel returns the kernel, or nil for a zero %s.\n", k.Type)
	p.F("func (launcher %s) Kernel() *driver.Kernel { return launcher.%s }\n\n", k.Type, get)
}

// Op adds the method that returns a launch as an operation.
func (p *Printer) Op(k *Kernel) {
	p.F("// Op returns the launch as an operation for streams, captures and graphs. It retains the code and\n// the memory among the arguments.\n")
	p.F("func (launcher %s) Op(%s) (*driver.Launch, error) {\n", k.Type, k.formal("driver.MemoryOf[%s]"))
	p.F("return launcher.Kernel().Prepare(cfg")
	for i := range k.Params {
		p.F(", %s", k.Params[i].declared())
	}
	p.F(")\n}\n\n")
}

// declared returns the argument, wrapped to declare its access mode.
func (q *Param) declared() string {
	if q.Memory && q.Access != Unknown {
		return fmt.Sprintf("driver.%s(%s)", [...]string{In: "In", Out: "Out", InOut: "InOut"}[q.Access], q.Arg)
	}
	return q.passed()
}

// passed returns the value in the form that the driver accepts.
func (q *Param) passed() string {
	if q.As != "" {
		return q.As + "(" + q.Arg + ")"
	}
	return q.Arg
}

// passedType returns the type of the expression that passed returns.
func (q *Param) passedType() string {
	if q.As != "" {
		return q.As
	}
	return q.goType("driver.View[%s]")
}

// goType returns the type of the Go parameter. memory is the format for typed memory.
func (q *Param) goType(memory string) string {
	switch {
	case !q.Memory:
		return q.Type
	case q.Type == "":
		return "driver.Memory"
	}
	return fmt.Sprintf(memory, q.Type)
}

// formal returns the formal parameters of a launch. Adjacent parameters of the same type share the
// type.
func (k *Kernel) formal(memory string) string {
	names, types := []string{"cfg"}, []string{"driver.LaunchConfig"}
	for i := range k.Params {
		names, types = append(names, k.Params[i].Arg), append(types, k.Params[i].goType(memory))
	}
	return strings.Join(declarations(names, types), ", ")
}

// declarations formats parameters or fields as Go declarations.
func declarations(names, types []string) []string {
	var out []string
	for i := range names {
		if i > 0 && types[i] == types[i-1] {
			last := &out[len(out)-1]
			*last = strings.TrimSuffix(*last, " "+types[i]) + ", " + names[i] + " " + types[i]
			continue
		}
		out = append(out, names[i]+" "+types[i])
	}
	return out
}

// Do adds the method that launches without allocating.
func (p *Printer) Do(k *Kernel) {
	p.F("// Do launches the kernel on a stream, or records the launch in a scope of package graph. ")
	if k.untyped() {
		p.F("Passing\n// a *Buffer does not allocate. Passing a View does, because it becomes an interface value.\n")
	} else {
		p.F("It does\n// not allocate.\n")
	}
	p.F("func (launcher %s) Do(on driver.Doer, %s) error {\n", k.Type, k.formal("driver.View[%s]"))
	var names, types, values []string
	for i := range k.Params {
		q := &k.Params[i]
		names, types, values = append(names, q.Arg), append(types, q.passedType()), append(values, q.passed())
	}
	p.F("return launcher.calls.Do(on, &cfg, &struct {\n%s\n}{%s})\n}\n\n", strings.Join(declarations(names, types), "\n"), strings.Join(values, ", "))
}

// untyped reports whether any parameter is memory of any type.
func (k *Kernel) untyped() bool {
	for _, q := range k.Params {
		if q.Memory && q.Type == "" {
			return true
		}
	}
	return false
}

// Prepare adds the type of a prepared launch, whose arguments can be changed, and the method that
// returns it.
func (p *Printer) Prepare(k *Kernel) {
	name := k.Type + "Args"
	p.F("// %s is a prepared launch of %s. Its arguments can be set one by one between launches,\n// without allocating.\n", name, k.Type)
	p.F("type %s struct {\nLaunch *driver.Launch\n\n", name)
	for i := range k.Params {
		q := &k.Params[i]
		if q.Field != "" {
			p.F("%s driver.Arg[%s]%s\n", q.Field, q.argType(), q.remark())
		}
	}
	p.F("}\n\n// Prepare is Op for a launch whose arguments change.\n")
	p.F("func (launcher %s) Prepare(%s) (*%s, error) {\n", k.Type, k.formal("driver.MemoryOf[%s]"), name)
	p.F("launch, err := launcher.Op(cfg")
	for _, q := range k.Params {
		p.F(", %s", q.Arg)
	}
	p.F(")\nif err != nil {\nreturn nil, err\n}\nargs := &%s{Launch: launch}\n", name)
	for i := range k.Params {
		q := &k.Params[i]
		if q.Field != "" {
			p.F("if args.%s, err = driver.ArgOf[%s](launch, %d); err != nil {\nreturn nil, err\n}\n", q.Field, q.argType(), i)
		}
	}
	p.F("return args, nil\n}\n\n")
}

// argType returns the type of the field. Memory of any type is set as bytes.
func (q *Param) argType() string {
	if q.Memory && q.Type == "" {
		return "driver.View[byte]"
	}
	return q.passedType()
}

func (q *Param) remark() string {
	if q.Remark == "" {
		return ""
	}
	return " // " + q.Remark
}
