package go2ptx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/launch"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/lower"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/opt"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// compiled is the result of the stages after loading.
type compiled struct {
	module  *ir.Module
	text    []byte
	remarks []Remark
}

// Passes returns the names of the optimization passes in the order of their first run.
func Passes() []string { return opt.Passes() }

func compile(p *source.Program, cfg Config) (*compiled, error) {
	target, ok := ptx.ParseTarget(cfg.Target)
	if !ok && cfg.Target != "" {
		return nil, fmt.Errorf("go2ptx: %q is not a target such as sm_80", cfg.Target)
	}
	off := map[string]bool{}
	for _, name := range cfg.Skip {
		if !slices.Contains(Passes(), name) {
			return nil, fmt.Errorf("go2ptx: there is no pass %q to skip: the passes are %s", name, strings.Join(Passes(), ", "))
		}
		off[name] = true
	}
	m, problems := lower.Lower(p, lower.Options{NoBounds: cfg.NoBounds, Trap: cfg.Trap, NoFMA: cfg.NoFMA, Arch: 10*target.Major + target.Minor})
	var errs Errors
	for _, e := range problems {
		errs.Add(e.Pos, "%s", strings.TrimPrefix(e.Error(), e.Pos.String()+": "))
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if ir.VerifyPasses {
		if err := m.Verify(); err != nil {
			return nil, fmt.Errorf("go2ptx: the compiler failed: %w", err)
		}
	}
	if err := partialBarriers(m); err != nil {
		return nil, err
	}
	if err := opt.Module(m, opt.Options{Off: off, Verify: ir.VerifyPasses}); err != nil {
		return nil, fmt.Errorf("go2ptx: the compiler failed: %w", err)
	}
	lines := emit.NoLines
	if cfg.Lines {
		lines = emit.InlinedLines
	}
	c := &compiled{module: m, remarks: remarks(m, opt.TrapIfCounted(m))}
	var err error
	o := emit.Options{Target: cfg.Target, Lines: lines}
	c.text, err = emit.Emit(m, o).Text()
	if err != nil {
		if err := explained(m, o, err); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("go2ptx: the compiler made PTX that is not correct: %w", err)
	}
	return c, nil
}

// explained returns the errors that the user's code has caused, such as invalid inline PTX or a
// kernel that exceeds a limit.
func explained(m *ir.Module, o emit.Options, err error) error {
	var errs Errors
	for _, p := range emit.AsmProblems(m, o) {
		pos, _ := outside(m, p.Pos)
		errs.Add(tokenPosition(m, pos), "inline PTX is not correct: %s: see the PTX ISA for the forms of instructions", p.Err)
	}
	var list build.Errors
	errors.As(err, &list)
	for _, e := range list {
		problem, _, _ := strings.Cut(e.Problem, ": declare")
		for _, f := range m.Funcs {
			if f.Kernel && f.Name == e.In && strings.Contains(problem, "bytes of .shared variables") {
				errs.Add(tokenPosition(m, f.Pos), "%s: use less, or gpu.DynamicShared", problem)
			}
		}
	}
	return errs.Err()
}

func (c *compiled) totals(kernel string) totals {
	for _, f := range c.module.Funcs {
		if f.Kernel && f.Name == kernel {
			return totalsOf(f)
		}
	}
	return totals{}
}

// traps reports whether a failed check in a kernel traps.
func (c *compiled) traps(kernel string) bool {
	return slices.ContainsFunc(c.module.Funcs, func(f *ir.Func) bool { return f.Kernel && f.Name == kernel && f.Options.Trap })
}

// linked returns the PTX files that define functions called by kernels, sorted.
func (c *compiled) linked() []string {
	var names []string
	for _, f := range c.module.Externs {
		if f.File != "" {
			names = append(names, f.File)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// variables returns the variables that the host can set.
func (c *compiled) variables() []launch.Variable {
	var list []launch.Variable
	for _, v := range c.module.Vars {
		if v.Visible {
			list = append(list, launch.Variable{Name: v.Name, Package: v.Package, Object: v.Object})
		}
	}
	return list
}

// readOnly reports whether a kernel only reads the memory of a parameter.
func (c *compiled) readOnly(kernel, param string) bool {
	for _, f := range c.module.Funcs {
		if f.Kernel && f.Name == kernel {
			i := slices.IndexFunc(f.Params, func(p ir.Param) bool { return p.Name == param })
			return i >= 0 && f.Params[i].ReadOnly
		}
	}
	return false
}
