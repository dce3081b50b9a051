package ptx

import (
	"cmp"
	"slices"
)

// Inspection describes a module by its text alone. It does not know what the driver's
// compiler made of a kernel. Memory sizes are the declared ones, without padding for
// alignment.
type Inspection struct {
	Name         string // as given to Parse
	Version      Version
	Targets      []string
	AddressSize  int // 32 or 64; 0 where not stated
	Needs        Needs
	Kernels      []FunctionInfo // entries with a body, in the order of the text
	Functions    []FunctionInfo // .func with a body
	Variables    []VariableInfo // of the module, without those that are only declared
	Externs      []ExternInfo   // declared but not defined in the text
	Features     []FeatureInfo  // features that the text uses, as far as this package knows them
	Global       int64          // bytes of .global variables
	Const        int64          // bytes of .const variables
	Instructions int
}

// FunctionInfo is one kernel or function with a body.
type FunctionInfo struct {
	Signature // a kernel's launch signature; a .func's parameters

	Pos           Pos
	Doc           string // comment that ends on the line before
	Linkage       Linkage
	Entry         bool
	Registers     Registers
	Shared        int64    // bytes of .shared variables it declares or names; for a kernel, its callees included
	DynamicShared bool     // those variables include an .extern .shared array
	Local         int64    // bytes of its own .local variables
	Stack         int64    // Local plus the largest Stack of its callees; -1: recursion or calls through pointers
	Calls         []string // functions that it calls by name, sorted
	Indirect      int      // calls through pointers
	Uses          []string // variables of the module that its own body names, sorted
	Instructions  int
	Blocks        int // basic blocks
}

// VariableInfo is one variable of the module.
type VariableInfo struct {
	Pos         Pos
	Name        string
	Space       Space
	Linkage     Linkage
	Type        Type
	Size        int64 // bytes; 0 for an array of open size
	Align       int64
	Managed     bool // .attribute(.managed)
	Initialised bool
}

// ExternInfo is a symbol that must be defined elsewhere.
type ExternInfo struct {
	Pos      Pos
	Name     string
	Function bool
	Space    Space // of a variable
	Size     int64 // of a variable
	Builtin  bool  // provided by the driver: vprintf, malloc ...
}

// FeatureInfo is a feature used by the text that not every device has, or that is of
// interest otherwise.
type FeatureInfo struct {
	Name   string // "tensor cores (mma)"
	Target string // the first target that has it: "sm_70"; "" if all have it
	Count  int    // how many instructions
	First  Pos
}

// Inspect reads a tree and reports what is in it. If the tree has syntax errors, the
// report lacks what could not be parsed.
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

// Kernel returns the kernel of that name, or nil.
func (i *Inspection) Kernel(name string) *FunctionInfo { return find(i.Kernels, name) }

// Function returns the function of that name, or nil. It does not find kernels.
func (i *Inspection) Function(name string) *FunctionInfo { return find(i.Functions, name) }

func find(list []FunctionInfo, name string) *FunctionInfo {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// inspector gathers an Inspection.
type inspector struct {
	out      *Inspection
	vars     map[string]*Variable // of the module: definitions before declarations
	bodies   map[string]bool      // names of functions with a body
	funcs    []*functionNotes
	byName   map[string]*functionNotes
	ops      map[*Opcode]*opNotes
	features []FeatureInfo // parallel to featureTable
	declared []*Function   // without a body
}

// functionNotes holds a function's report and what it needs from its callees.
type functionNotes struct {
	info   FunctionInfo
	shared map[string]*Variable // of the module, that it names
	own    int64                // bytes of .shared that it declares
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

// bytes returns the size of v, or of all of v<count>. Sizes that no device could hold
// are capped, so that sums do not overflow.
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

// externs lists the symbols that are only declared, each name once.
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

// builtins are the functions that the driver's compiler provides.
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
