package ptx

import (
	"cmp"
	"slices"
)

// Inspection describes a module from its PTX. It cannot report what the driver's
// compiler generates from the PTX. Memory sizes are the declared sizes, without padding
// for alignment.
type Inspection struct {
	Name         string // name passed to Parse
	Version      Version
	Targets      []string
	AddressSize  int // 32 or 64; 0 if not specified
	Needs        Needs
	Kernels      []FunctionInfo // entries with a body, in source order
	Functions    []FunctionInfo // .func directives with a body
	Variables    []VariableInfo // module-level variables that the module defines
	Externs      []ExternInfo   // symbols that are declared but not defined in the module
	Features     []FeatureInfo  // features of the module that this package recognizes
	Global       int64          // size of all .global variables in bytes
	Const        int64          // size of all .const variables in bytes
	Instructions int
}

// FunctionInfo is one kernel or function with a body.
type FunctionInfo struct {
	Signature // the launch signature of a kernel, or the parameters of a .func

	Pos           Pos
	Doc           string // comment that ends on the previous line
	Linkage       Linkage
	Entry         bool
	Registers     Registers
	Shared        int64    // bytes of the .shared variables that the function names; for a kernel, including those of its callees
	DynamicShared bool     // Shared includes an .extern .shared array
	Local         int64    // bytes of the function's own .local variables
	Stack         int64    // Local plus the largest Stack of its callees; -1 if there is recursion or a call through a pointer
	Calls         []string // functions that the function calls by name, sorted
	Indirect      int      // number of calls through pointers
	Uses          []string // module-level variables that the function's own body names, sorted
	Instructions  int
	Blocks        int // number of basic blocks
}

// VariableInfo is one module-level variable.
type VariableInfo struct {
	Pos         Pos
	Name        string
	Space       Space
	Linkage     Linkage
	Type        Type
	Size        int64 // size in bytes; 0 for an array without a size
	Align       int64
	Managed     bool // has the attribute .managed
	Initialised bool
}

// ExternInfo is a symbol that another module or the driver must define.
type ExternInfo struct {
	Pos      Pos
	Name     string
	Function bool
	Space    Space // state space of a variable
	Size     int64 // size of a variable in bytes
	Builtin  bool  // provided by the driver, such as vprintf and malloc
}

// FeatureInfo is a notable feature that a module uses, for example one that not every device
// supports.
type FeatureInfo struct {
	Name   string // for example "tensor cores (mma)"
	Target string // first target that supports the feature, such as "sm_70"; "" if all targets do
	Count  int    // number of instructions that use it
	First  Pos
}

// Inspect reports the contents of a tree. If the tree has syntax errors, the report omits
// the parts that could not be parsed.
func Inspect(m *Module) *Inspection {
	if m == nil {
		return new(Inspection)
	}
	x := newInspector(m)
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *Function:
			x.function(d)
		case *Variable:
			x.variable(d)
		}
	}
	x.externs()
	x.reach()
	return x.finish()
}

// Kernel returns the kernel with that name, or nil.
func (i *Inspection) Kernel(name string) *FunctionInfo { return find(i.Kernels, name) }

// Function returns the function with that name, or nil. It does not find kernels.
func (i *Inspection) Function(name string) *FunctionInfo { return find(i.Functions, name) }

func find(list []FunctionInfo, name string) *FunctionInfo {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

type inspector struct {
	out      *Inspection
	vars     map[string]*Variable // module-level variables; a definition replaces a declaration
	bodies   map[string]bool      // functions with a body, by name
	funcs    []*functionNotes
	byName   map[string]*functionNotes
	ops      map[*Opcode]*opNotes
	features []FeatureInfo // has the same indices as featureTable
	declared []*Function   // functions without a body
}

// functionNotes holds the report of a function and the data that is propagated from its
// callees.
type functionNotes struct {
	info   FunctionInfo
	shared map[string]*Variable // module-level .shared variables named in the function
	own    int64                // bytes of .shared variables declared in the function
	state  visit
}

type visit uint8

const (
	unvisited visit = iota
	visiting
	visited
)

func newInspector(m *Module) *inspector {
	x := &inspector{
		out:  &Inspection{Name: m.Name, Version: m.Version, Targets: m.Targets, AddressSize: m.AddressSize, Needs: m.Needs()},
		vars: map[string]*Variable{}, bodies: map[string]bool{}, byName: map[string]*functionNotes{},
		ops: map[*Opcode]*opNotes{}, features: make([]FeatureInfo, len(featureTable)),
	}
	for _, d := range m.Decls {
		switch d := d.(type) {
		case *Function:
			x.bodies[d.Name] = x.bodies[d.Name] || d.Body != nil
		case *Variable:
			if old := x.vars[d.Name]; old == nil || old.Linkage == Extern {
				x.vars[d.Name] = d
			}
		}
	}
	return x
}

func (x *inspector) variable(v *Variable) {
	if v.Linkage == Extern || x.vars[v.Name] != v {
		return
	}
	n := VariableInfo{
		Pos: v.Pos, Name: v.Name, Space: v.Space, Linkage: v.Linkage, Type: v.Type,
		Size: v.bytes(), Align: v.Alignment(), Initialised: v.Init != nil,
	}
	for _, a := range v.Attributes {
		n.Managed = n.Managed || a.Name == "managed"
	}
	switch v.Space {
	case GlobalSpace:
		x.out.Global += v.bytes()
	case ConstSpace:
		x.out.Const += v.bytes()
	}
	x.out.Variables = append(x.out.Variables, n)
}

// bytes returns the size of v, or of all variables of v<count>. It caps sizes that no
// device could hold, so that sums do not overflow.
func (v *Variable) bytes() int64 {
	const enough = 1 << 40
	return min(min(v.Size(), enough)*min(int64(max(v.Count, 1)), 1<<20), enough)
}

func (x *inspector) function(f *Function) {
	if f.Body == nil {
		x.declared = append(x.declared, f)
		return
	}
	n := &functionNotes{info: FunctionInfo{
		Signature: f.Signature(), Pos: f.Pos, Doc: f.Doc, Linkage: f.Linkage, Entry: f.Entry,
	}}
	x.body(n, f)
	x.out.Instructions += n.info.Instructions
	x.funcs = append(x.funcs, n)
	x.byName[f.Name] = n
}

// externs lists the undefined symbols, each name once. An .extern .shared array needs no
// definition.
func (x *inspector) externs() {
	seen := map[string]bool{}
	add := func(e ExternInfo) {
		if !seen[e.Name] {
			seen[e.Name] = true
			x.out.Externs = append(x.out.Externs, e)
		}
	}
	for _, f := range x.declared {
		if !x.bodies[f.Name] {
			add(ExternInfo{Pos: f.Pos, Name: f.Name, Function: true, Builtin: builtins[f.Name]})
		}
	}
	for _, v := range x.vars {
		if v.Linkage == Extern && v.Space != SharedSpace {
			add(ExternInfo{Pos: v.Pos, Name: v.Name, Space: v.Space, Size: v.Size()})
		}
	}
	slices.SortFunc(x.out.Externs, func(a, b ExternInfo) int { return comparePos(a.Pos, b.Pos, a.Name, b.Name) })
}

func comparePos(a, b Pos, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(nameA, nameB))
}

// builtins lists the functions that the driver's compiler defines.
var builtins = map[string]bool{
	"vprintf": true, "malloc": true, "free": true, "__assertfail": true, "cudaGraphSetConditional": true,
}

func (x *inspector) finish() *Inspection {
	for _, n := range x.funcs {
		if n.info.Entry {
			x.out.Kernels = append(x.out.Kernels, n.info)
		} else {
			x.out.Functions = append(x.out.Functions, n.info)
		}
	}
	for i, f := range x.features {
		if f.Count > 0 {
			f.Name, f.Target = featureTable[i].name, featureTable[i].target
			x.out.Features = append(x.out.Features, f)
		}
	}
	return x.out
}
