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

// failure is a check whose failing side is written after the function's code.
type failure struct {
	v     *ir.Value
	label build.Label
}

func (x *fn) check(v *ir.Value) {
	cond, not := strip(v.Args[0])
	if cond.Op == ir.OpConst && (cond.Aux != 0) != not {
		return
	}
	f := failure{v, x.b.NewLabel("fault")}
	x.fails = append(x.fails, f)
	switch {
	case cond.Op == ir.OpConst:
		x.b.Bra(f.label)
	case not:
		x.b.When(x.reg(cond)).Bra(f.label)
	default:
		x.b.Unless(x.reg(cond)).Bra(f.label)
	}
}

// failures writes the failing sides of all checks. Each sets the registers of the record and goes
// to the one place that writes the record.
func (x *fn) failures() {
	if len(x.fails) == 0 {
		return
	}
	if x.f.Options.Trap {
		x.traps()
		return
	}
	tail := x.b.NewLabel("record")
	site, values := x.temp(ir.I64), [3]build.Reg{}
	for i := range values {
		values[i] = x.temp(ir.I64)
	}
	for i, f := range x.fails {
		x.b.Place(f.label)
		x.loc(f.v.Pos)
		x.op("mov.u64", site, x.m.site(x.f, f.v))
		for k := range values {
			var src build.Operand = build.Int(0)
			if k+1 < len(f.v.Args) {
				src = x.operand(f.v.Args[k+1])
			}
			x.op("mov.b64", values[k], src)
		}
		if i+1 < len(x.fails) {
			x.b.Bra(tail)
		}
	}
	x.b.Place(tail)
	x.loc(x.f.Pos)
	x.record(site, values)
}

// traps writes one trap for all checks. With line numbers each check has its own, because tools
// report the line of the trap.
func (x *fn) traps() {
	for i, f := range x.fails {
		x.b.Place(f.label)
		if i+1 < len(x.fails) && x.m.options.Lines == NoLines {
			continue
		}
		x.loc(f.v.Pos)
		x.op("trap")
		x.op("exit")
	}
}

// The offsets of a record, which package driver reads.
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

// record writes the record of a failed check in the slot that the host gave, if this thread is the
// first to claim it, and ends the thread. A thread that is late says so: a wait for its launch must
// not end before the record of the other thread, which may be of another launch, is visible.
// Without a slot the thread traps.
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

var _ = [1]int{}[recordThread-recordBlock-12] // the thread's index follows the block's

func (e *module) faultVars() (fault, claim *build.Var) {
	if e.fault == nil {
		e.fault = e.out.Global("__purecuda_fault", ptx.U64, 0).Align(8).Linkage(ptx.Weak).Init(build.Int(0))
		e.claim = e.out.Global("__purecuda_claim", ptx.U32, 0).Align(4).Linkage(ptx.Weak).Init(build.Int(0))
	}
	return e.fault, e.claim
}

// site returns the variable that says where a check is and what it checks. Equal sites share one.
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

// outside returns where the function of package gpu was called that is inlined at a position, as
// for a panic under gpu.Run. Other code is at its own position.
func (e *module) outside(p ir.Pos) ir.Pos {
	for p.Inline > 0 && int(p.Inline) <= len(e.ir.Inlines) && path.Dir(e.file(p)) == "ptx/gpu" {
		p = e.ir.Inlines[p.Inline-1].At
	}
	return p
}
