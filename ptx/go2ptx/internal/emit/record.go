package emit

import (
	"encoding/binary"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
)

// A report is what the failure paths of a function pass to the code that writes the fault record: which
// check failed, as the offset of its description in sites, and up to three values. The paths are as short
// as possible, because the time that ptxas takes depends on the number of instructions.
type report struct {
	sites  []byte // the descriptions of the checks
	at     map[string]int64
	fields [1 + recordedValues]field
	loaded int // the field that the code for the record loads from the kernel's parameters, or 0
}

// recordedValues is the number of values in a record.
const recordedValues = 3

// field is a part of a report.
type field struct {
	reg  build.Reg
	kind ir.Kind   // I32 if all checks have extended the value from 32 bits, otherwise I64
	all  *ir.Value // a constant or parameter that is the field of all checks, or nil
}

// prepareReport determines how the fields are passed. It must run before findNeeds.
func (x *fn) prepareReport() {
	var checks []*ir.Value
	for _, b := range x.f.Blocks {
		for _, v := range b.Values {
			if v.Op == ir.OpCheck && !x.f.Options.Trap {
				checks = append(checks, v)
			}
		}
	}
	x.out.at = map[string]int64{}
	x.chooseLoaded(checks)
	for i := range x.out.fields {
		p := &x.out.fields[i]
		p.kind = ir.I32
		varying := x.varying(checks, i)
		for _, v := range varying {
			if i > 0 && !short(v.Args[i]) {
				p.kind = ir.I64
			}
		}
		if len(varying) == 0 {
			p.all = x.f.Const(ir.TI64, 0)
		}
		for n, v := range varying {
			switch a := x.fieldOf(v, i); {
			case n == 0 && (a.Op == ir.OpConst || a.Op == ir.OpParam && a.Block == x.f.Blocks[0]):
				p.all = a
			case p.all != nil && !same(a, p.all):
				p.all = nil
			}
		}
	}
}

// fixed reports whether field i of a check is a constant that its site contains. The failure path then passes nothing.
func fixed(check *ir.Value, i int) bool {
	return i > 0 && (i >= len(check.Args) || resolve(check.Args[i]).Op == ir.OpConst)
}

// varying returns the checks whose field i is not fixed.
func (x *fn) varying(checks []*ir.Value, i int) (list []*ir.Value) {
	for _, v := range checks {
		if !fixed(v, i) && (i == 0 || i != x.out.loaded) {
			list = append(list, v)
		}
	}
	return list
}

// short reports whether 32 bits determine a value, because it is extended from 32 bits or small.
func short(v *ir.Value) bool {
	v = resolve(v)
	return v.Op == ir.OpSExt32 || v.Op == ir.OpUndef || v.Op == ir.OpConst && v.Aux >= math.MinInt32 && v.Aux <= math.MaxInt32
}

// fieldOf returns what the failure path of a check passes as field i.
func (x *fn) fieldOf(check *ir.Value, i int) *ir.Value {
	t := ir.Type{Kind: x.out.fields[i].kind}
	switch {
	case i == 0:
		return x.f.Const(t, x.wordOf(check))
	case i >= len(check.Args):
		return x.f.Const(t, 0)
	}
	v := resolve(check.Args[i])
	if v.Op == ir.OpSExt32 && (t.Kind == ir.I32 || x.need == nil || !x.need[v.ID]) {
		return resolve(v.Args[0])
	}
	return v
}

// fieldsOf returns the values that the failure path of a check passes.
func (x *fn) fieldsOf(check *ir.Value) (list []*ir.Value) {
	for i := 1; i < len(check.Args) && !x.f.Options.Trap; i++ {
		if i != x.out.loaded {
			list = append(list, x.fieldOf(check, i))
		}
	}
	return list
}

// report emits the failure paths and the code that writes the record.
func (x *fn) report() {
	for i := range x.out.fields {
		if p := &x.out.fields[i]; p.all == nil {
			p.reg = x.temp(p.kind)
		}
	}
	tail, merged := x.b.NewLabel("record"), false
	for i, f := range x.fails {
		x.b.Place(f.label)
		x.loc(f.checks[0].Pos)
		x.paths(x.outside(f.checks), func(checks []*ir.Value, last bool) {
			for i := range x.out.fields {
				if x.out.fields[i].all == nil {
					x.choose(checks, i)
				}
			}
			if !last || i+1 < len(x.fails) {
				x.b.Bra(tail)
				merged = true
			}
		})
	}
	if merged {
		x.b.Place(tail)
	}
	x.loc(x.f.Pos)
	var values [recordedValues]build.Operand
	for i := range values {
		if all := x.out.fields[i+1].all; all == nil || !all.IsConst(0) {
			values[i] = x.passed(i + 1)
		}
	}
	if k := x.out.loaded; k > 0 {
		values[k-1] = x.loadParam()
	}
	site := x.temp(ir.I64)
	x.op("mov.u64", site, x.declareSites())
	if x.out.fields[0].all == nil {
		x.op("mad.wide.u32", site, x.out.fields[0].reg, build.Int(1), site)
	}
	x.record(site, values)
}

// mostChosen limits the values between which the failure path of checks in a loop selects. With 4, ptxas 12.4
// already loads a parameter in each iteration of Stencil3D that it otherwise keeps in a uniform register.
const mostChosen = 3

// paths calls path for groups of merged checks, each of which has a failure path of its own. It emits
// branches to the paths of all groups but the first one. The last one is emitted last.
func (x *fn) paths(checks []*ir.Value, path func(checks []*ir.Value, last bool)) {
	n := x.selectable(checks)
	if cond, _ := strip(checks[0].Args[0]); n == 1 && cond.Op == ir.OpConst { // the others are not reached
		checks = checks[:1]
	}
	if n == len(checks) {
		path(checks, true)
		return
	}
	rest := x.b.NewLabel("fault")
	x.branch(checks[:n], true, rest)
	path(checks[:n], false)
	x.b.Place(rest)
	x.paths(checks[n:], path)
}

// selectable returns how many of the checks have one failure path. All values that a path selects from must be
// in registers at the same time. In a loop, ptxas may then give the whole kernel more registers.
func (x *fn) selectable(checks []*ir.Value) int {
	if x.loops.Of[checks[0].Block.ID] == nil {
		return len(checks)
	}
	values := map[*ir.Value]bool{}
	for i, v := range checks {
		for k := 1; k <= recordedValues; k++ {
			if f := x.fieldOf(v, k); x.out.fields[k].all == nil && f.Op != ir.OpConst && k != x.out.loaded {
				values[f] = true
			}
		}
		if len(values) > mostChosen && i > 0 {
			return i
		}
	}
	return len(checks)
}

// passed returns field i, in 64 bits.
func (x *fn) passed(i int) build.Operand {
	p := x.out.fields[i]
	r := p.reg
	switch {
	case p.all != nil && p.all.Op == ir.OpConst:
		return immediate(p.all)
	case p.all != nil:
		r = x.reg(p.all)
	}
	if p.kind == ir.I64 && (p.all == nil || p.all.Type.Kind == ir.I64) {
		return r
	}
	long := x.temp(ir.I64)
	x.op("cvt.s64.s32", long, r)
	return long
}

// choose sets the register of field i for the first of several merged checks that fails. Selections,
// unlike branches, leave the failure path in one block.
func (x *fn) choose(checks []*ir.Value, i int) {
	if checks = x.varying(checks, i); len(checks) == 0 {
		return
	}
	if p := x.out.fields[i]; p.kind == ir.I64 && x.fit32(checks, i) {
		chosen := x.temp(ir.I32)
		x.chooseIn(chosen, "b32", checks, i, x.operand)
		x.op("cvt.s64.s32", p.reg, chosen)
		return
	}
	x.chooseIn(x.out.fields[i].reg, movTypes[x.out.fields[i].kind], checks, i, func(v *ir.Value) build.Operand { return x.fieldOperand(v, i) })
}

// fit32 reports whether field i of several checks, which has 64 bits, is a choice between numbers of 32 bits.
func (x *fn) fit32(checks []*ir.Value, i int) bool {
	first := x.fieldOf(checks[0], i)
	different := false
	for _, v := range checks {
		f := x.fieldOf(v, i)
		if !x.extended(f, i) {
			return false
		}
		different = different || !same(f, first)
	}
	return different
}

func (x *fn) chooseIn(to build.Reg, t string, checks []*ir.Value, i int, operand func(*ir.Value) build.Operand) {
	last := len(checks) - 1
	value := x.fieldOf(checks[last], i) // nil if checks differ
	if last == 0 && t == "b64" && x.extended(value, i) {
		x.op("cvt.s64.s32", to, x.reg(value))
		return
	}
	chosen := operand(value)
	for k := last - 1; k >= 0; k-- {
		v := x.fieldOf(checks[k], i)
		if value != nil && same(v, value) {
			continue
		}
		cond, not := strip(checks[k].Args[0])
		yes, no := chosen, operand(v)
		if not {
			yes, no = no, yes
		}
		x.op("selp."+t, to, yes, no, x.reg(cond))
		value, chosen = nil, to
	}
	if value != nil {
		x.op("mov."+t, to, chosen)
	}
}

// extended reports whether the failure path must extend a value for field i.
func (x *fn) extended(v *ir.Value, i int) bool {
	return x.out.fields[i].kind == ir.I64 && v.Type.Kind == ir.I32
}

func (x *fn) fieldOperand(v *ir.Value, i int) build.Operand {
	if !x.extended(v, i) {
		return x.operand(v)
	}
	long := x.temp(ir.I64)
	x.op("cvt.s64.s32", long, x.reg(v))
	return long
}

// same reports whether two operands are the same value or equal constants.
func same(v, w *ir.Value) bool {
	return v == w || v.Op == ir.OpConst && w.Op == ir.OpConst && v.Aux == w.Aux
}

// Offsets of the fields of a fault record, which package driver reads, and of the claim in the module's variable.
const (
	recordFlag   = 0
	recordNumber = 4
	recordSite   = 16
	recordValues = 24
	recordBlock  = 48
	recordThread = 60
	recordLate   = 80 // the record of a late thread, of which only the flag is read
	faultClaim   = 16
)

// record emits code that fills in the fault record and ends the thread. Only the first thread to
// claim the host's slot writes the record. A later thread writes a record that nobody reads, except for the
// flag: it tells that another thread, possibly of another launch, has claimed the slot. A wait for the later
// launch must not return before that thread's record is visible. If the host provided no slot, the thread
// accesses address 4, which is invalid.
//
// The code has neither branches nor predicates for stores, because they cost ptxas time. It stores no zeros, because
// the host clears a record that it has read.
func (x *fn) record(site build.Reg, values [recordedValues]build.Operand) {
	fault := x.m.faultVar()
	slot, number, old, summary := x.temp(ir.I64), x.temp(ir.I32), x.temp(ir.I32), x.temp(ir.I64)
	late := x.temp(ir.Bool)
	x.op("ld.global.v2.u64", build.Vec(slot, summary), fault.At(0))
	x.op("ld.volatile.global.u32", number, slot.At(recordNumber))
	x.op("atom.global.max.u32", old, fault.At(faultClaim), number)
	x.op("setp.ge.u32", late, old, number)
	x.op("max.u32", number, number, old)
	x.b.When(late).Op("add.s64", slot, slot, build.Int(recordLate))
	x.storePair(slot.At(recordSite), slot.At(recordValues), site, values[0])
	x.storePair(slot.At(recordValues+8), slot.At(recordValues+16), values[1], values[2])
	x.place(slot)
	x.publish(slot.At(recordFlag), number)
	x.publish(summary.At(0), number)
	x.op("exit")
}

// publish stores a number that the host must not see before earlier stores.
func (x *fn) publish(at, number build.Operand) {
	if x.m.arch >= 70 {
		x.op("st.release.sys.global.u32", at, number) // one instruction: it costs ptxas less time than two
		return
	}
	x.op("membar.sys")
	x.op("st.volatile.global.u32", at, number)
}

// storePair stores two numbers of 64 bits that are adjacent in the record, except those that are nil.
func (x *fn) storePair(at, next build.Operand, v, w build.Operand) {
	a, isReg := v.(build.Reg)
	b, areRegs := w.(build.Reg)
	if isReg && areRegs {
		x.op("st.global.v2.u64", at, build.Vec(a, b))
		return
	}
	for i, value := range []build.Operand{v, w} {
		if value != nil {
			x.op("st.global.u64", []build.Operand{at, next}[i], value)
		}
	}
}

// place emits code that stores the indices of the block and of the thread.
func (x *fn) place(slot build.Reg) {
	specials := []build.Special{build.CtaidX, build.CtaidY, build.CtaidZ, build.TidX, build.TidY, build.TidZ}
	if l := x.f.Launch; l.Required && l.Block[1] <= 1 && l.Block[2] <= 1 {
		specials = specials[:4]
	}
	var regs []build.Operand
	for _, s := range specials {
		r := x.temp(ir.I32)
		x.op("mov.u32", r, s)
		regs = append(regs, r)
	}
	x.op("st.global.v4.u32", slot.At(recordBlock), build.Vec(regs[:4]...))
	if len(regs) > 4 {
		x.op("st.global.v2.u32", slot.At(recordThread+4), build.Vec(regs[4:]...))
	}
}

var _ = [1]int{}[recordThread-recordBlock-12] // fails to compile unless the thread index directly follows the block index

// faultVar returns the variable in which the host stores the addresses of the slot and of the summary. Its third
// number is the claim.
func (e *module) faultVar() *build.Var {
	if e.fault == nil {
		e.fault = e.out.Global("__purecuda_fault", ptx.U64, 4).Align(32).Linkage(ptx.Weak).Init(build.Int(0), build.Int(0), build.Int(0), build.Int(0))
	}
	return e.fault
}

// declareSites declares the variable with the descriptions of the function's checks. Ptxas reads numbers of 64 bits
// faster than bytes.
func (x *fn) declareSites() *build.Var {
	bytes := append(x.out.sites, make([]byte, -len(x.out.sites)&7)...)
	var words []build.Operand
	for ; len(bytes) > 0; bytes = bytes[8:] {
		words = append(words, build.Uint(binary.LittleEndian.Uint64(bytes)))
	}
	return x.m.out.Global("__purecuda_sites_"+x.f.Name, ptx.B64, int64(len(words))).Init(words...)
}

// siteOf returns the offset of the description of a check: its source position, what it checks, and those values of
// its record that are constants.
func (x *fn) siteOf(v *ir.Value) int64 {
	name := x.f.GoName
	if name == "" {
		name = x.f.Name
	}
	pos := x.m.outside(v.Pos)
	fields := []string{v.Site.Kind, name, x.m.file(pos), strconv.Itoa(int(pos.Line)), strconv.Itoa(int(pos.Col)), v.Site.Message, constants(v)}
	text, r := strings.Join(fields, "\x00"), &x.out
	at, ok := r.at[text]
	if !ok {
		at = int64(len(r.sites)+3) &^ 3
		r.sites = append(r.sites, make([]byte, at-int64(len(r.sites)))...)
		r.sites = append(binary.LittleEndian.AppendUint32(r.sites, uint32(len(text))), text...)
		r.at[text] = at
	}
	return at
}

// constants returns the fixed values of a check, separated by commas. Those that are not fixed are empty.
func constants(check *ir.Value) string {
	var list [recordedValues]string
	for i := range list {
		switch {
		case i+1 >= len(check.Args):
			list[i] = "0"
		case fixed(check, i+1):
			list[i] = strconv.FormatInt(resolve(check.Args[i+1]).Aux, 10)
		}
	}
	return strings.Join(list[:], ",")
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
