package emit

import (
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// failure is a check, or several adjacent ones, whose failure path is emitted after the rest of the
// function.
type failure struct {
	checks []*ir.Value // in one block
	label  build.Label
}

// check remembers a check. Flush emits it together with the checks that follow it, before the next
// instruction that has effects.
func (x *fn) check(v *ir.Value) {
	if cond, not := strip(v.Args[0]); cond.Op == ir.OpConst && (cond.Aux != 0) != not {
		return
	}
	x.checks = append(x.checks, v)
}

// flush emits one branch for the remembered checks.
func (x *fn) flush() {
	if len(x.checks) == 0 {
		return
	}
	f := failure{x.checks, x.b.NewLabel("fault")}
	x.checks = nil
	x.fails = append(x.fails, f)
	x.loc(f.checks[0].Pos)
	if len(f.checks) == 1 {
		x.failed(f.checks[0], f.label)
		return
	}
	var all build.Reg
	for i, v := range f.checks {
		cond, not := strip(v.Args[0])
		p := x.reg(cond)
		if not {
			p = x.temp(ir.Bool)
			x.op("not.pred", p, x.reg(cond))
		}
		if i > 0 {
			both := x.temp(ir.Bool)
			x.op("and.pred", both, all, p)
			p = both
		}
		all = p
	}
	x.b.Unless(all).Bra(f.label)
}

// failed emits a branch that is taken if a check fails.
func (x *fn) failed(v *ir.Value, to build.Label) {
	switch cond, not := strip(v.Args[0]); {
	case cond.Op == ir.OpConst:
		x.b.Bra(to)
	case not:
		x.b.When(x.reg(cond)).Bra(to)
	default:
		x.b.Unless(x.reg(cond)).Bra(to)
	}
}

// failures emits the failure paths of all checks. Each path sets the registers for the fault record
// and branches to shared code that writes the record.
func (x *fn) failures() {
	if len(x.fails) == 0 {
		return
	}
	if x.f.Options.Trap && x.m.options.Lines == NoLines {
		for _, f := range x.fails {
			x.b.Place(f.label)
		}
		x.loc(x.fails[len(x.fails)-1].checks[0].Pos)
		x.op("trap")
		x.op("exit")
		return
	}
	fail := x.trap
	if !x.f.Options.Trap {
		tail := x.b.NewLabel("record")
		site, values := x.temp(ir.I64), [3]build.Reg{}
		for i := range values {
			values[i] = x.temp(ir.I64)
		}
		fail = func(v *ir.Value, last bool) {
			x.values(v, site, values)
			if !last {
				x.b.Bra(tail)
			}
		}
		defer func() {
			x.b.Place(tail)
			x.loc(x.f.Pos)
			x.record(site, values)
		}()
	}
	for i, f := range x.fails {
		x.b.Place(f.label)
		checks := f.checks
		if !x.f.Options.Trap {
			checks = x.outside(checks)
		}
		x.dispatch(checks, fail, i+1 == len(x.fails))
	}
}

// dispatch emits the failure paths of merged checks. The first check that fails counts.
func (x *fn) dispatch(checks []*ir.Value, fail func(v *ir.Value, last bool), last bool) {
	labels := make([]build.Label, len(checks)-1)
	for i, v := range checks[:len(labels)] {
		labels[i] = x.b.NewLabel("fault")
		x.loc(v.Pos)
		x.failed(v, labels[i])
	}
	fail(checks[len(labels)], last && len(labels) == 0)
	for i, l := range labels {
		x.b.Place(l)
		fail(checks[i], last && i+1 == len(labels))
	}
}

// values sets the registers for the fault record of a check.
func (x *fn) values(v *ir.Value, site build.Reg, values [3]build.Reg) {
	x.loc(v.Pos)
	x.op("mov.u64", site, x.m.site(x.f, v))
	for k := range values {
		var src build.Operand = build.Int(0)
		if k+1 < len(v.Args) {
			src = x.operand(v.Args[k+1])
		}
		x.op("mov.b64", values[k], src)
	}
}

// trap emits a trap for a check. Tools report its line.
func (x *fn) trap(v *ir.Value, _ bool) {
	x.loc(v.Pos)
	x.op("trap")
	x.op("exit")
}

// Offsets of the fields of a fault record. Package driver reads the record.
const (
	recordFlag    = 0
	recordEpoch   = 4
	recordSummary = 8
	recordSite    = 16
	recordValues  = 24
	recordBlock   = 48
	recordThread  = 60
	recordClaimed = 72
)

// record emits code that fills in the fault record and ends the thread. Only the first thread to
// claim the host's slot writes the record. A later thread notes in the slot that another thread,
// possibly of another launch, has claimed it. A wait for the later launch must not return before
// the other thread's record is visible. If the host provided no slot, the thread traps.
func (x *fn) record(site build.Reg, values [3]build.Reg) {
	fault, claim := x.m.faultVars()
	slot, epoch, old, summary := x.temp(ir.I64), x.temp(ir.I32), x.temp(ir.I32), x.temp(ir.I64)
	none, lost := x.temp(ir.Bool), x.temp(ir.Bool)
	trap, late, tell := x.b.NewLabel("trap"), x.b.NewLabel("late"), x.b.NewLabel("tell")
	x.op("ld.global.u64", slot, fault.At(0))
	x.op("setp.eq.s64", none, slot, build.Int(0))
	x.b.When(none).Bra(trap)
	x.op("ld.volatile.global.u32", epoch, slot.At(recordEpoch))
	x.op("add.s32", epoch, epoch, build.Int(1))
	x.op("atom.global.max.u32", old, claim.At(0), epoch)
	x.op("setp.ge.u32", lost, old, epoch)
	x.b.When(lost).Bra(late)
	x.op("st.global.u64", slot.At(recordSite), site)
	for i, r := range values {
		x.op("st.global.u64", slot.At(recordValues+8*int64(i)), r)
	}
	for i, s := range []build.Special{build.CtaidX, build.CtaidY, build.CtaidZ, build.TidX, build.TidY, build.TidZ} {
		r := x.temp(ir.I32)
		x.op("mov.u32", r, s)
		x.op("st.global.u32", slot.At(recordBlock+4*int64(i)), r)
	}
	x.op("membar.sys")
	x.op("st.volatile.global.u32", slot.At(recordFlag), epoch)
	x.b.Bra(tell)
	x.b.Place(late)
	x.op("st.volatile.global.u32", slot.At(recordClaimed), old)
	x.b.Place(tell)
	x.op("membar.sys")
	x.op("ld.global.u64", summary, slot.At(recordSummary))
	x.op("st.volatile.global.u32", summary.At(0), build.Int(1))
	x.op("membar.sys")
	x.op("exit")
	x.b.Place(trap)
	x.op("trap")
	x.op("exit")
}

var _ = [1]int{}[recordThread-recordBlock-12] // fails to compile unless the thread index directly follows the block index

func (e *module) faultVars() (fault, claim *build.Var) {
	if e.fault == nil {
		e.fault = e.out.Global("__purecuda_fault", ptx.U64, 0).Align(8).Linkage(ptx.Weak).Init(build.Int(0))
		e.claim = e.out.Global("__purecuda_claim", ptx.U32, 0).Align(4).Linkage(ptx.Weak).Init(build.Int(0))
	}
	return e.fault, e.claim
}

// site returns the variable that describes a check: its source position and what it checks.
// Identical sites share a variable.
func (e *module) site(f *ir.Func, v *ir.Value) *build.Var {
	name := f.GoName
	if name == "" {
		name = f.Name
	}
	pos := e.outside(v.Pos)
	fields := []string{v.Site.Kind, name, e.file(pos), strconv.Itoa(int(pos.Line)), strconv.Itoa(int(pos.Col)), v.Site.Message}
	text := strings.Join(fields, "\x00")
	if s := e.sites[text]; s != nil {
		return s
	}
	bytes := append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	s := e.out.Global(fmt.Sprintf("__purecuda_site%d", len(e.sites)), ptx.B8, int64(len(bytes))).Align(8).InitBytes(bytes)
	e.sites[text] = s
	return s
}

func (e *module) file(p ir.Pos) string {
	if i := int(p.File); i >= 0 && i < len(e.ir.Files) && p.Line > 0 {
		return e.ir.Files[i]
	}
	return ""
}

// outside returns the position to report for p. If p is in an inlined function of package gpu, that
// is the position of the call in user code, such as the call of gpu.Run for a panic inside it.
func (e *module) outside(p ir.Pos) ir.Pos {
	for p.Inline > 0 && int(p.Inline) <= len(e.ir.Inlines) && path.Dir(e.file(p)) == "ptx/gpu" {
		p = e.ir.Inlines[p.Inline-1].At
	}
	return p
}
