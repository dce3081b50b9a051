package ptx

import "strings"

// featureTable detects features by the instructions that use them. It follows the "Target
// ISA Notes" of each instruction in the PTX ISA. The functions examine only the name and
// the modifiers.
var featureTable = []struct {
	name   string
	target string
	uses   func(op *Opcode) bool
}{
	{"double precision", "", func(op *Opcode) bool { return arithmetic(op) && op.Has("f64") }},
	{"half precision arithmetic", "sm_53", func(op *Opcode) bool { return arithmetic(op) && (op.Has("f16") || op.Has("f16x2")) }},
	{"bfloat16", "sm_80", func(op *Opcode) bool { return arithmetic(op) && (op.Has("bf16") || op.Has("bf16x2")) }},
	{"8-bit floating point", "sm_89", func(op *Opcode) bool { return modifier(op, "e4m3") || modifier(op, "e5m2") }},
	{"packed single precision (f32x2)", "sm_100", func(op *Opcode) bool { return op.Has("f32x2") }},
	{"integer dot products (dp4a, dp2a)", "sm_61", opNamed("dp4a", "dp2a")},
	{"shuffles", "sm_30", opNamed("shfl")},
	{"votes and matches", "", opNamed("vote", "match", "activemask")},
	{"warp reductions (redux)", "sm_80", opNamed("redux")},
	{"elected threads", "sm_90", opNamed("elect")},
	{"tensor cores (wmma)", "sm_70", opNamed("wmma")},
	{"tensor cores (mma)", "sm_70", opNamed("mma")},
	{"tensor cores (wgmma)", "sm_90a", opNamed("wgmma")},
	{"tensor cores (tcgen05)", "sm_100a", opNamed("tcgen05")},
	{"matrix loads and stores", "sm_75", opNamed("ldmatrix", "stmatrix", "movmatrix")},
	{"register reallocation (setmaxnreg)", "sm_90a", opNamed("setmaxnreg")},
	{"barriers", "", opNamed("bar", "barrier")},
	{"asynchronous barriers (mbarrier)", "sm_80", opNamed("mbarrier")},
	{"asynchronous copies", "sm_80", func(op *Opcode) bool { return op.Name == "cp" && !op.Has("bulk") }},
	{"bulk asynchronous copies", "sm_90", func(op *Opcode) bool { return op.Name == "cp" && op.Has("bulk") }},
	{"tensor maps", "sm_90", func(op *Opcode) bool { return op.Name == "tensormap" || op.Name == "cp" && op.Has("tensor") }},
	{"thread block clusters", "sm_90", func(op *Opcode) bool {
		return op.Name == "mapa" || op.Name == "getctarank" || modifier(op, "cluster") || modifier(op, "shared::cluster")
	}},
	{"dependent launches (griddepcontrol)", "sm_90", opNamed("griddepcontrol")},
	{"multimem", "sm_90", opNamed("multimem")},
	{"atomics", "", opNamed("atom", "red")},
	{"atomics on doubles", "sm_60", func(op *Opcode) bool { return (op.Name == "atom" || op.Name == "red") && op.Has("f64") }},
	{"textures", "", opNamed("tex", "tld4", "txq")},
	{"surfaces", "", opNamed("suld", "sust", "sured", "suq")},
	{"local memory", "", func(op *Opcode) bool { return (op.Name == "ld" || op.Name == "st") && op.Has("local") }},
	{"stack allocation (alloca)", "sm_52", opNamed("alloca")},
	{"jump tables", "", opNamed("brx")},
	{"clocks", "", nil},
	{"cluster registers", "sm_90", nil},
	{"performance counters", "", nil},
}

// Features that only special registers reveal, and no instruction.
var (
	featureClocks   = len(featureTable) - 3
	featureClusters = len(featureTable) - 2
	featureCounters = len(featureTable) - 1
)

func opNamed(names ...string) func(*Opcode) bool {
	return func(op *Opcode) bool {
		for _, n := range names {
			if op.Name == n {
				return true
			}
		}
		return false
	}
}

// modifier reports whether one of the modifiers equals prefix, or prefix followed by a suffix that
// starts with x, such as x2.
func modifier(op *Opcode, prefix string) bool {
	for _, m := range op.Mods {
		if rest, ok := strings.CutPrefix(m, prefix); ok && (rest == "" || rest[0] == 'x') {
			return true
		}
	}
	return false
}

// arithmetic reports whether the opcode counts as arithmetic in featureTable. Moves, conversions,
// memory accesses, atomics, texture reads and matrix products do not count.
func arithmetic(op *Opcode) bool {
	switch op.Name {
	case "ld", "ldu", "st", "mov", "cvt", "mma", "wmma", "wgmma", "tcgen05", "atom", "red", "multimem", "cp", "tex", "tld4":
		return false
	}
	return true
}

func featuresOf(op *Opcode) []int {
	var out []int
	for i, f := range featureTable {
		if f.uses != nil && f.uses(op) {
			out = append(out, i)
		}
	}
	return out
}

func (x *inspector) feature(i int, at Pos) {
	f := &x.features[i]
	if f.Count == 0 {
		f.First = at
	}
	f.Count++
}

// special records the features that a predefined register requires.
func (x *inspector) special(r *Reg) {
	switch name := r.Name; {
	case strings.HasPrefix(name, "%clock"), strings.HasPrefix(name, "%globaltimer"):
		x.feature(featureClocks, r.Pos)
	case strings.Contains(name, "cluster"):
		x.feature(featureClusters, r.Pos)
	case strings.HasPrefix(name, "%pm"):
		x.feature(featureCounters, r.Pos)
	}
}
