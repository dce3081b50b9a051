package opt

import (
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// Counted is an operation that waits for a certain number of threads. If some of them have ended,
// the others would wait forever.
type Counted struct {
	Kernel *ir.Func
	Op     *ir.Value
	What   string // what waits, such as "barrier with a thread count"
}

// TrapIfCounted makes failed checks trap in kernels with such operations and in the functions they
// call. It returns the first such operation of each kernel, except for kernels whose checks trapped
// already.
func TrapIfCounted(m *ir.Module) []Counted {
	var found []Counted
	for _, k := range m.Funcs {
		if !k.Kernel {
			continue
		}
		reached := callees(k)
		op, what := counted(reached)
		if op == nil || !slices.ContainsFunc(reached, hasChecks) {
			continue
		}
		if !k.Options.Trap {
			found = append(found, Counted{k, op, what})
		}
		for _, f := range reached {
			f.Options.Trap = true
		}
	}
	return found
}

// callees returns f and all functions it calls, directly or indirectly.
func callees(f *ir.Func) []*ir.Func {
	list, seen := []*ir.Func{f}, map[*ir.Func]bool{f: true}
	for i := 0; i < len(list); i++ {
		for _, b := range list[i].Blocks {
			for _, v := range b.Values {
				if v.Op == ir.OpCall && v.Callee != nil && !seen[v.Callee] {
					seen[v.Callee] = true
					list = append(list, v.Callee)
				}
			}
		}
	}
	return list
}

func counted(funcs []*ir.Func) (*ir.Value, string) {
	for _, f := range funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Op != ir.OpAsm {
					continue
				}
				if what := countedText(v.Sym); what != "" {
					return v, what
				}
			}
		}
	}
	return nil, ""
}

func hasChecks(f *ir.Func) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpCheck {
				return true
			}
		}
	}
	return false
}

// countedText describes what the PTX text waits for, or returns "" if it does not wait for a
// certain number of threads.
func countedText(text string) string {
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";{}\n", r) }) {
		fields := strings.Fields(s)
		for len(fields) > 0 && (fields[0][0] == '@' || strings.HasSuffix(fields[0], ":")) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		if what := countedOp(fields[0], strings.Count(s, ",")+1, s); what != "" {
			return what
		}
	}
	return ""
}

func countedOp(opcode string, operands int, statement string) string {
	name := strings.Split(opcode, ".")
	switch {
	case name[0] == "mbarrier" && (has(name, "test_wait") || has(name, "try_wait")):
		return "mbarrier"
	case name[0] == "barrier" && has(name, "cluster"):
		return "barrier of a cluster"
	case strings.Contains(statement, "%envreg2"): // the driver's counter for grid barriers in cooperative launches
		return "barrier of the grid"
	case name[0] != "bar" && name[0] != "barrier" || has(name, "warp"):
		return ""
	case has(name, "arrive"), has(name, "sync") && operands > 1, has(name, "red") && operands > 3:
		return "barrier with a thread count"
	}
	return ""
}

func has(list []string, name string) bool { return slices.Contains(list[1:], name) }
