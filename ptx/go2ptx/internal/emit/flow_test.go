package emit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/emit"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/irtest"
)

// perThread begins kernel k and returns the address of the current thread's words.
func perThread(m *ir.Module, words int64) (*irtest.Builder, *ir.Value) {
	b := irtest.Kernel(m, "k", ir.MPtr)
	return b, b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8*words)
}

func expect(t *testing.T, m *ir.Module, threads int, in, want []uint64) {
	t.Helper()
	src := text(t, m, emit.Options{})
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		t.Helper()
		got := run(t, c, src, threads, in)
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("word %d is %#x, want %#x\n%s", i, got[i], want[i], src)
				return
			}
		}
	})
}

// The phis of this loop swap their values in each iteration, and one pair consists of predicates.
// After the loop, the kernel reads the values from before the last swap.
func TestPhis(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	n := b.Load(ir.M64, p, 0)
	loop, body, end := b.Block(), b.Block(), b.Block()
	entry := b.B
	entry.Jump(loop)
	b.Set(loop)
	i, x, y, z := b.Phi(loop, ir.TI64), b.Phi(loop, ir.TI64), b.Phi(loop, ir.TI64), b.Phi(loop, ir.TI64)
	q, r := b.Phi(loop, ir.TBool), b.Phi(loop, ir.TBool)
	b.B.If(b.Cmp(ir.SLt, i, n), body, end)
	b.Set(body)
	next := b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))
	b.B.If(b.Cmp(ir.Ne, i, b.I64(100)), loop, end)
	i.Args = []*ir.Value{b.I64(0), next}
	x.Args = []*ir.Value{b.I64(1), y}
	y.Args = []*ir.Value{b.I64(2), z}
	z.Args = []*ir.Value{b.I64(3), x}
	q.Args, r.Args = []*ir.Value{b.Bool(true), r}, []*ir.Value{b.Bool(false), q}
	b.Set(end)
	ox := b.Phi(end, ir.TI64, x, b.I64(-1))
	b.Store(ir.M64, p, 8, ox)
	b.Store(ir.M64, p, 16, y)
	b.Store(ir.MBool, p, 24, q)
	b.B.Ret()
	expect(t, m, 4, []uint64{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0},
		[]uint64{0, 1, 2, 1, 1, 2, 3, 0, 2, 3, 1, 1, 7, 2, 3, 0})
}

// The calls pass and return all types, return several results, and recurse.
func TestCalls(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 4)
	f := irtest.Func(m, "fact", ir.M64, ir.MBool, ir.MF16)
	f.F.Results = []ir.Type{ir.TI64, ir.TBool, ir.TF16, ir.TI32}
	n, flag, h := f.Param(0), f.Param(1), f.Param(2)
	more, base := f.Block(), f.Block()
	f.B.If(f.Cmp(ir.SGt, n, f.I64(1)), more, base)
	f.Set(base)
	f.B.Ret(f.I64(1), flag, h, f.I32(5))
	f.Set(more)
	call := func(b *irtest.Builder, args ...*ir.Value) *ir.Value {
		v := b.Op(ir.OpCall, ir.TTuple, args...)
		v.Callee, v.Tuple = f.F, f.F.Results
		return v
	}
	c := call(f, f.Op(ir.OpSub, ir.TI64, n, f.I64(1)), f.Op(ir.OpNot, ir.TBool, flag), h)
	f.B.Ret(f.Op(ir.OpMul, ir.TI64, n, f.Extract(c, 0)), f.Extract(c, 1), f.Extract(c, 2), f.Op(ir.OpAdd, ir.TI32, f.Extract(c, 3), f.I32(1)))
	one := irtest.Func(m, "one", ir.MF32)
	one.F.Results = []ir.Type{ir.TF32}
	one.B.Ret(one.Op(ir.OpFAdd, ir.TF32, one.Param(0), one.Param(0)))

	c = call(b, b.Load(ir.M64, p, 0), b.Bool(true), b.F.Const(ir.TF16, 0x3c00))
	b.Store(ir.M64, p, 8, b.Extract(c, 0))
	b.Store(ir.MBool, p, 16, b.Extract(c, 1))
	b.Store(ir.MF16, p, 18, b.Extract(c, 2))
	b.Store(ir.M32, p, 20, b.Extract(c, 3))
	v := b.Op(ir.OpCall, ir.TF32, b.F.Const(ir.TF32, 0x3f800000))
	v.Callee = one.F
	b.Store(ir.MF32, p, 24, v)
	b.B.Ret()
	expect(t, m, 2, []uint64{5, 0, 0, 0, 2, 0, 0, 0}, []uint64{5, 120, 0x9_3c00_0001, 0x40000000, 2, 2, 0x6_3c00_0000, 0x40000000})
}

// Ptxas crashes on some direct calls within a cycle of calls, and of functions that lead to a cycle, so these
// calls are indirect. All others are direct. Only a function in a cycle is declared before its definition.
func TestCallsThatReachACycleAreIndirect(t *testing.T) {
	m := &ir.Module{}
	var fs []*irtest.Builder
	for _, name := range []string{"even", "odd"} {
		f := irtest.Func(m, name, ir.M32)
		f.F.Results = []ir.Type{ir.TI32}
		fs = append(fs, f)
	}
	call := func(f *irtest.Builder, callee *ir.Func, arg *ir.Value) *ir.Value {
		v := f.Op(ir.OpCall, ir.TI32, arg)
		v.Callee = callee
		return v
	}
	for i, f := range fs {
		again, end := f.Block(), f.Block()
		f.B.If(f.Cmp(ir.SGt, f.Param(0), f.I32(0)), again, end)
		f.Set(again)
		f.B.Ret(call(f, fs[1-i].F, f.Op(ir.OpSub, ir.TI32, f.Param(0), f.I32(1))))
		f.Set(end)
		f.B.Ret(f.I32(int32(i)))
	}
	outer, plain, inner := irtest.Func(m, "outer", ir.M32), irtest.Func(m, "plain", ir.M32), irtest.Func(m, "inner", ir.M32)
	for _, f := range []*irtest.Builder{outer, plain, inner} {
		f.F.Results = []ir.Type{ir.TI32}
	}
	outer.B.Ret(call(outer, inner.F, call(outer, fs[0].F, outer.Param(0))))
	plain.B.Ret(call(plain, inner.F, plain.Param(0)))
	inner.B.Ret(inner.Op(ir.OpAdd, ir.TI32, inner.Param(0), inner.I32(5)))
	b, p := perThread(m, 2)
	b.Store(ir.M32, p, 4, call(b, plain.F, call(b, outer.F, b.Load(ir.M32, p, 0))))
	b.B.Ret()
	expect(t, m, 2, []uint64{3, 0, 6, 0}, []uint64{11<<32 | 3, 0, 10<<32 | 6, 0})
	src := text(t, m, emit.Options{})
	for want, n := range map[string]int{"call (ret), inner,": 2, "call (ret), plain,": 1, "call (ret), even,": 1, "call (ret), ": 7, ".callprototype": 3,
		") inner(": 1, ") plain(": 1, ") outer(": 1, ") even(": 2, ") odd(": 1} {
		if got := strings.Count(string(src), want); got != n {
			t.Errorf("%q %d times, not %d:\n%s", want, got, n, src)
		}
	}
}

// Ptxas crashes on some ballots of a predicate that is equal in all threads, in functions with recursion. The
// predicate of a ballot therefore depends on the lane in functions that lead to a recursive one, and in those that
// they call.
func TestBallotsBesideRecursion(t *testing.T) {
	m := &ir.Module{}
	ballot := func(f *irtest.Builder, n *ir.Value) *ir.Value {
		return f.Asm("vote.sync.ballot.b32 $0, %0, %1;", ir.Convergent, ir.TI32, f.Cmp(ir.SGt, n, f.I32(0)), f.I32(-1))
	}
	inner, again, plain := irtest.Func(m, "inner", ir.M32), irtest.Func(m, "again", ir.M32), irtest.Func(m, "plain", ir.M32)
	for _, f := range []*irtest.Builder{inner, again, plain} {
		f.F.Results = []ir.Type{ir.TI32}
	}
	call := func(f *irtest.Builder, callee *ir.Func, arg *ir.Value) *ir.Value {
		v := f.Op(ir.OpCall, ir.TI32, arg)
		v.Callee = callee
		return v
	}
	inner.B.Ret(ballot(inner, inner.Param(0)))
	plain.B.Ret(ballot(plain, plain.Param(0)))
	more, end := again.Block(), again.Block()
	n := again.Param(0)
	again.B.If(again.Cmp(ir.SGt, n, again.I32(1)), more, end)
	again.Set(more)
	again.B.Ret(call(again, again.F, again.Op(ir.OpSub, ir.TI32, n, again.I32(1))))
	again.Set(end)
	again.B.Ret(call(again, inner.F, n))

	b, p := perThread(m, 2)
	b.Store(ir.M32, p, 4, call(b, again.F, b.Load(ir.M32, p, 0)))
	b.Store(ir.M32, p, 8, ballot(b, b.Load(ir.M32, p, 0)))
	b.B.Ret()
	other := irtest.Kernel(m, "other", ir.MPtr)
	other.Store(ir.M32, other.Param(0), 0, call(other, plain.F, ballot(other, other.Load(ir.M32, other.Param(0), 0))))
	other.B.Ret()
	expect(t, m, 2, []uint64{3, 0, 3, 0}, []uint64{3<<32 | 3, 3, 3<<32 | 3, 3})
	src := string(text(t, m, emit.Options{}))
	for i, part := range strings.Split(src, "vote.sync.ballot")[:4] { // in the order of the functions
		name := []string{"inner", "plain", "k", "other"}[i]
		if got, want := strings.Contains(part, "%laneid"), name == "inner" || name == "k"; got != want {
			t.Errorf("the ballot of %s depends on the lane: %v\n%s", name, got, src)
		}
	}
}

// Ptxas crashes when setp.eq compares the result of lop3.
func TestResultsOfLop3AreComparedWithNe(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 1)
	l := b.Asm("lop3.b32 $0, %0, %1, %2, 128;", 0, ir.TI32, b.Load(ir.M32, p, 0), b.Load(ir.M32, p, 4), b.I32(-1))
	zero, end := b.Block(), b.Block()
	b.B.If(b.Cmp(ir.Eq, l, b.I32(0)), zero, end)
	b.Set(zero)
	b.Store(ir.M32, p, 0, b.I32(9))
	b.B.Jump(end)
	b.Set(end)
	b.B.Ret()
	expect(t, m, 2, []uint64{1<<32 | 2, 3<<32 | 1}, []uint64{1<<32 | 9, 3<<32 | 1})
	if src := string(text(t, m, emit.Options{})); strings.Contains(src, "setp.eq") || !strings.Contains(src, "setp.ne") {
		t.Error(src)
	}
}

// TestMemory covers all access widths, vectors, state spaces, offsets and address conversions.
func TestMemory(t *testing.T) {
	m := &ir.Module{Vars: []*ir.Var{
		{Name: "table", Space: ir.Const, Size: 8, Align: 8, Init: []byte{1, 2, 3, 4, 5, 6, 7, 0x88}},
		{Name: "tile", Space: ir.Shared, Size: 256, Align: 16},
		{Name: "counter", Space: ir.Global, Size: 8, Align: 8, Visible: true},
	}}
	b, p := perThread(m, 8)
	b.F.Slots = []ir.Slot{{Name: "x", Size: 16, Align: 16}}
	at := func(i int) *ir.Value {
		v := b.Op(ir.OpGlobal, ir.PtrTo(m.Vars[i].Space))
		v.Var = m.Vars[i]
		return v
	}
	far := b.Op(ir.OpPtrAdd, p.Type, p, b.I64(1<<40))
	near := b.Op(ir.OpPtrAdd, p.Type, far, b.I64(8-1<<40))
	b.Store(ir.M64, near, 0, b.Load(ir.M64, at(0), 0))
	slot := b.Aux(ir.OpSlot, ir.PtrTo(ir.Local), 0)
	v := b.Op(ir.OpStoreV, ir.TNone, slot, b.I32(1), b.I32(2), b.I32(3), b.I32(4))
	v.Mem, v.N = ir.M32, 4
	generic := b.Op(ir.OpSpaceCast, ir.TPtr, slot)
	back := b.Op(ir.OpSpaceCast, ir.PtrTo(ir.Local), generic)
	l := b.Op(ir.OpLoadV, ir.TTuple, back)
	l.Mem, l.N, l.Tuple = ir.M32, 2, []ir.Type{ir.TI32, ir.TI32}
	sum := b.Op(ir.OpAdd, ir.TI32, b.Op(ir.OpAdd, ir.TI32, b.Extract(l, 0), b.Extract(l, 1)), b.Load(ir.M32, generic, 12))
	b.Store(ir.M32, p, 16, sum)
	b.Store(ir.MU8, p, 20, b.Load(ir.MS8, at(0), 7))
	b.Store(ir.MS16, p, 22, b.Load(ir.MU16, at(0), 6))
	b.Store(ir.M32, p, 24, b.Load(ir.MS8, at(0), 7))
	b.Store(ir.M32, p, 28, b.Load(ir.MU8, at(0), 7))
	b.Store(ir.M32, at(1), 4, b.I32(9))
	bar := b.Asm("bar.sync 0;", ir.Convergent|ir.Fences, ir.TNone)
	_ = bar
	two := b.Op(ir.OpAsm, ir.TTuple, b.Load(ir.M32, at(1), 4), b.I32(2))
	two.Sym, two.Tuple = "{ .reg .u32 t; mul.lo.u32 t, %0, %1; add.u32 $0, t, %1; sub.u32 $1, t, %1; }", []ir.Type{ir.TI32, ir.TI32}
	b.Store(ir.M32, p, 32, b.Extract(two, 0))
	b.Store(ir.M32, p, 36, b.Extract(two, 1))
	s := b.Op(ir.OpStoreV, ir.TNone, p, b.Bool(true), b.Bool(false), b.Cmp(ir.Eq, sum, b.I32(7)), b.Bool(true))
	s.Mem, s.N, s.Aux = ir.MBool, 4, 40
	b.Store(ir.M64, at(2), 0, b.I64(77))
	b.Store(ir.M64, p, 48, b.I64(3))
	b.B.Ret()
	expect(t, m, 1, make([]uint64, 8), []uint64{0, 0x8807060504030201, 0x8807_0088_0000_0007, 0x88_ffffff88, 0x10_00000014, 0x01010001, 3, 0})
}

// Every memory order and scope must be accepted for every target. The old values that the atomic
// additions return must add up.
func TestAtomics(t *testing.T) {
	for _, target := range []string{"", "sm_60", "sm_70", "sm_90"} {
		m := &ir.Module{}
		b := irtest.Kernel(m, "k", ir.MPtr)
		p := b.Param(0)
		atomic := func(op ir.RMW, mem ir.Mem, s ir.Scope, o ir.Order, at int64, args ...*ir.Value) {
			t := mem.Type()
			if op == ir.RMWStore {
				t = ir.TNone
			}
			v := b.Op(ir.OpAtomic, t, append([]*ir.Value{p}, args...)...)
			v.Mem, v.Aux, v.Atomic = mem, at, ir.Atomic{Op: op, Scope: s, Order: o}
		}
		n := uint64(0)
		for s := ir.ScopeDevice; s <= ir.ScopeSystem; s++ {
			if s == ir.ScopeCluster && target != "sm_90" || s == ir.ScopeSystem && target == "" {
				continue
			}
			for o := ir.Relaxed; o <= ir.SeqCst; o++ {
				n++
				atomic(ir.RMWAdd, ir.M32, s, o, 0, b.I32(1))
				atomic(ir.RMWLoad, ir.M64, s, o, 8)
				atomic(ir.RMWStore, ir.M64, s, o, 16, b.I64(5))
				v := b.Op(ir.OpCAS, ir.TI64, p, b.I64(0), b.I64(8))
				v.Mem, v.Aux, v.Atomic = ir.M64, 24, ir.Atomic{Scope: s, Order: o}
				f := b.Aux(ir.OpFence, ir.TNone, int64(s))
				f.Atomic.Order = o
			}
		}
		for op := ir.RMWAdd; op <= ir.RMWDec; op++ {
			atomic(op, ir.M32, ir.ScopeDevice, ir.Relaxed, 32, b.I32(3))
			if op < ir.RMWInc {
				atomic(op, ir.M64, ir.ScopeDevice, ir.Relaxed, 40, b.I64(3))
			}
		}
		atomic(ir.RMWAdd, ir.MF32, ir.ScopeBlock, ir.Relaxed, 48, b.F.Const(ir.TF32, 0x3f800000))
		b.B.Ret()
		src := text(t, m, emit.Options{Target: target})
		gputest.Each(t, func(t *testing.T, c *driver.Context) {
			out := run(t, c, src, 3, make([]uint64, 8))
			if out[0] != 3*n || out[2] != 5 || out[3] != 8 || out[6] != 0x40400000 {
				t.Errorf("%s: %#x", target, out)
			}
		})
	}
}

// A failed check ends its thread and is reported with its source position. Other threads finish. If
// one branch tests several checks, the first one that fails is reported.
func TestCheck(t *testing.T) {
	m := &ir.Module{Files: []string{"a/heat.go"}}
	b, p := perThread(m, 1)
	b.F.GoName = "heat.step"
	i := b.Load(ir.M64, p, 0)
	b.Check("index", b.Cmp(ir.ULt, i, b.I64(10)), i, b.I64(10)).Pos = ir.Pos{Line: 7, Col: 3}
	b.Check("divide", b.Op(ir.OpNot, ir.TBool, b.Op(ir.OpOr, ir.TBool, b.Cmp(ir.Eq, i, b.I64(4)), b.Cmp(ir.Eq, i, b.I64(12))))).Pos = ir.Pos{Line: 8, Col: 4}
	b.Check("assert", b.Bool(true))
	b.Store(ir.M64, p, 0, b.I64(1))
	b.B.Ret()
	src := text(t, m, emit.Options{Lines: emit.SourceLines})
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, bad := range []struct {
			value uint64
			want  driver.KernelFault
		}{
			{12, driver.KernelFault{Kind: "index", Kernel: "heat.step", File: "a/heat.go", Line: 7, Column: 3, Values: [3]int64{12, 10}, Thread: [3]uint32{2}}},
			{4, driver.KernelFault{Kind: "divide", Kernel: "heat.step", File: "a/heat.go", Line: 8, Column: 4, Thread: [3]uint32{2}}},
		} {
			_, err := launch(c, src, 4, []uint64{0, 1, bad.value, 3})
			var fault *driver.KernelFault
			if !errors.As(err, &fault) || *fault != bad.want {
				t.Errorf("%v (%+v), want %+v\n%s", err, fault, bad.want, src)
			}
		}
		out, err := launch(c, src, 4, []uint64{0, 1, 2, 3})
		if err != nil || out[3] != 1 {
			t.Errorf("%v %v", out, err)
		}
	})
	b.F.Options.Trap = true
	if src := string(text(t, m, emit.Options{})); !strings.Contains(src, "trap;") || strings.Contains(src, "__purecuda") {
		t.Error(src)
	}
}

// A branch to a block that only fails leads to the failure path. One that stores first does not.
func TestBlocksThatOnlyFail(t *testing.T) {
	for _, stores := range []bool{false, true} {
		m := &ir.Module{Files: []string{"a/heat.go"}}
		b, p := perThread(m, 1)
		i := b.Load(ir.M64, p, 0)
		fails, to := b.Block(), b.Block()
		fails.Cold = true
		b.B.If(b.Cmp(ir.SGt, i, b.I64(5)), fails, to)
		b.Set(fails)
		if stores {
			b.Store(ir.M64, p, 0, b.I64(7))
		}
		b.Check("panic", b.Bool(false), i)
		b.B.Exit()
		b.Set(to)
		b.Store(ir.M64, p, 0, b.I64(1))
		b.B.Ret()
		src := text(t, m, emit.Options{})
		if n, labels := strings.Count(string(src), "bra "), strings.Count(string(src), ":\n"); (n == 1 && labels == 1) == stores {
			t.Errorf("stores %t: %d branches, %d labels:\n%s", stores, n, labels, src)
		}
		gputest.Each(t, func(t *testing.T, c *driver.Context) {
			for _, value := range []uint64{5, 6} {
				_, err := launch(c, src, 2, []uint64{0, value})
				var fault *driver.KernelFault
				if failed := errors.As(err, &fault) && fault.Kind == "panic" && fault.Thread[0] == 1; failed != (value > 5) || failed && fault.Values[0] != 6 {
					t.Errorf("stores %t: %d leads to %v\n%s", stores, value, err, src)
				}
			}
		})
	}
}

// The failure path of a check in a loop computes again what was computed before the loop.
func TestCheckInLoop(t *testing.T) {
	m := &ir.Module{}
	b := irtest.Kernel(m, "k", ir.MPtr)
	p := b.Index(b.Param(0), b.Special("%tid.x", ir.TI64), 8)
	limit := b.Op(ir.OpAdd, ir.TI64, b.Op(ir.OpMul, ir.TI64, b.Special("%tid.x", ir.TI64), b.I64(10)), b.I64(3))
	low := b.Cmp(ir.SGt, limit, b.I64(5))
	head, body, end := b.Block(), b.Block(), b.Block()
	b.B.Jump(head)
	b.Set(head)
	i := b.Phi(head, ir.TI64)
	b.B.If(b.Cmp(ir.SLt, i, b.Load(ir.M64, p, 0)), body, end)
	b.Set(body)
	b.Check("assert", b.Op(ir.OpOr, ir.TBool, low, b.Cmp(ir.SLt, i, b.I64(7))), limit)
	b.Check("index", b.Cmp(ir.ULt, i, limit), i, limit)
	next := b.Op(ir.OpAdd, ir.TI64, i, b.I64(1))
	b.Store(ir.M64, p, 8*8, next)
	b.B.Jump(head)
	i.Args = []*ir.Value{b.I64(0), next}
	b.Set(end)
	b.B.Ret()
	src := text(t, m, emit.Options{})
	if n := strings.Count(string(src), "mul.lo.s64") + strings.Count(string(src), "mad.lo.s64"); n != 3 { // the address of p, limit, and limit again
		t.Errorf("%d multiplications:\n%s", n, src)
	}
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		data := make([]uint64, 16)
		data[0], data[1] = 3, 14
		_, err := launch(c, src, 8, data)
		var fault *driver.KernelFault
		if want := [3]int64{13, 13}; !errors.As(err, &fault) || fault.Kind != "index" || fault.Values != want || fault.Thread[0] != 1 {
			t.Errorf("%v (%+v)", err, fault)
		}
		data[0], data[1] = 9, 13
		_, err = launch(c, src, 8, data)
		if want := [3]int64{3, 3}; !errors.As(err, &fault) || fault.Kind != "index" || fault.Values != want || fault.Thread[0] != 0 {
			t.Errorf("%v (%+v)", err, fault)
		}
	})
}

// Line directives name files and inlined calls. The position of an outer call must appear before a
// directive that refers to it.
func TestLines(t *testing.T) {
	m := &ir.Module{Files: []string{"a.go", "b/c.go"}, Inlines: []ir.Inline{
		{Func: "pkg.outer", At: ir.Pos{File: 0, Line: 3, Col: 1}},
		{Func: "pkg.inner", At: ir.Pos{File: 1, Line: 30, Col: 2, Inline: 1}},
	}}
	b, p := perThread(m, 1)
	b.Store(ir.M64, p, 0, b.I64(1)).Pos = ir.Pos{File: 1, Line: 40, Col: 5, Inline: 2}
	b.B.Ret()
	src := string(text(t, m, emit.Options{Lines: emit.InlinedLines}))
	order := []string{".version 7.2", `.file 1`, ".loc 1 3 1\n", ".loc 2 30 2, function_name $L__info_string", "inlined_at 1 3 1\n", ".loc 2 40 5, function_name", "inlined_at 2 30 2\n", "st.global", ".debug_str"}
	at := 0
	for _, s := range order {
		i := strings.Index(src[at:], s)
		if i < 0 {
			t.Fatalf("no %q after byte %d in\n%s", s, at, src)
		}
		at += i
	}
	if src := string(text(t, m, emit.Options{})); strings.Contains(src, ".loc") || !strings.Contains(src, ".target sm_52") {
		t.Error(src)
	}
}

// Two inlined copies of a function both call another function. When code of the first copy follows
// code of the second, a new .loc for the position in the outer function is required.
func TestLinesOfTwoChains(t *testing.T) {
	m := &ir.Module{Files: []string{"a.go"}, Inlines: []ir.Inline{
		{Func: "pkg.outer", At: ir.Pos{Line: 3, Col: 1}},
		{Func: "pkg.inner", At: ir.Pos{Line: 30, Col: 2, Inline: 1}},
		{Func: "pkg.outer", At: ir.Pos{Line: 4, Col: 1}},
		{Func: "pkg.inner", At: ir.Pos{Line: 30, Col: 2, Inline: 3}},
	}}
	b, p := perThread(m, 1)
	for i, chain := range []int32{2, 4, 2} {
		b.Store(ir.M64, p, int64(8*i), b.I64(1)).Pos = ir.Pos{Line: 40, Col: 5, Inline: chain}
	}
	b.B.Ret()
	src := string(text(t, m, emit.Options{Lines: emit.InlinedLines}))
	var chains []string
	for _, line := range strings.Split(src, "\n") {
		if _, at, ok := strings.Cut(line, "inlined_at 1 "); ok {
			chains = append(chains, at)
		}
	}
	if got := strings.Join(chains, ", "); got != "3 1, 30 2, 4 1, 30 2, 3 1, 30 2" {
		t.Errorf("the places are %s in\n%s", got, src)
	}
}

// Cold blocks come last, and arithmetic with unused results is not emitted.
func TestLayout(t *testing.T) {
	m := &ir.Module{}
	b, p := perThread(m, 2)
	x := b.Load(ir.M64, p, 0)
	cold, hot := b.Block(), b.Block()
	cold.Cold = true
	b.Op(ir.OpMul, ir.TI64, x, x)
	b.B.If(b.Cmp(ir.Eq, x, b.I64(3)), cold, hot)
	b.Set(cold)
	b.Store(ir.M64, p, 8, b.I64(1111))
	b.B.Jump(hot)
	b.Set(hot)
	b.Store(ir.M64, p, 0, b.I64(2222))
	b.B.Ret()
	src := string(text(t, m, emit.Options{}))
	if strings.Index(src, "1111") < strings.Index(src, "2222") || strings.Contains(src, "mul.lo") || strings.Count(src, "mad.lo") != 1 {
		t.Error(src)
	}
	expect(t, m, 2, []uint64{3, 0, 4, 0}, []uint64{2222, 1111, 2222, 0})
}
