package emit

import (
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// AsmProblem describes invalid inline PTX.
type AsmProblem struct {
	Pos ir.Pos
	Err string
}

// AsmProblems returns the inline PTX in m that is invalid in itself, independently of the code
// around it. It serves to explain why Emit failed.
func AsmProblems(m *ir.Module, o Options) (list []AsmProblem) {
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Values {
				if v.Op != ir.OpAsm {
					continue
				}
				if err := asmAlone(f, v, o); err != nil {
					text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "build: "), "k: ")
					list = append(list, AsmProblem{v.Pos, text})
				}
			}
		}
	}
	return list
}

// asmAlone builds a kernel that consists of the inline PTX v and returns the error, if any.
func asmAlone(f *ir.Func, v *ir.Value, o Options) error {
	e := &module{options: o, out: build.New(build.Config{MinTarget: o.Target}), arch: defaultArch}
	if t, ok := ptx.ParseTarget(o.Target); ok {
		e.arch = 10*t.Major + t.Minor
	}
	x := &fn{m: e, f: f, b: e.out.Kernel("k"), regs: make([]build.Reg, f.NumValues()), tuples: map[*ir.Value][]build.Reg{}}
	x.asm(v)
	x.b.Ret()
	_, err := e.out.Text()
	return err
}
