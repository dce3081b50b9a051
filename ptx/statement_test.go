package ptx_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

func TestOpcodeParts(t *testing.T) {
	for _, c := range []struct {
		in   string
		name string
		mods []string
	}{
		{"ret", "ret", nil},
		{"ld.global.nc.v4.f32", "ld", []string{"global", "nc", "v4", "f32"}},
		{"ld .global .f32", "ld", []string{"global", "f32"}},
		{"ld.global\n\t.f32", "ld", []string{"global", "f32"}},
		{"tex.1d.v4.f32.s32", "tex", []string{"1d", "v4", "f32", "s32"}},
		{"ld.global.L2::128B.b32", "ld", []string{"global", "L2::128B", "b32"}},
		{"cp.async.bulk.shared::cluster.mbarrier::complete_tx::bytes", "cp",
			[]string{"async", "bulk", "shared::cluster", "mbarrier::complete_tx::bytes"}},
		{"tcgen05.mma.collector::a::fill", "tcgen05", []string{"mma", "collector::a::fill"}},
	} {
		op := lastInstr(t, c.in+";").Op
		if op.Name != c.name || !slices.Equal(op.Mods, c.mods) {
			t.Errorf("%q is %q with %q, want %q with %q", c.in, op.Name, op.Mods, c.name, c.mods)
		}
	}
}

func TestOneOpcodePerSpelling(t *testing.T) {
	list := body(t, "add.u32 %r1, %r1, 1;\nadd.u32 %r2, %r1, 1;\nadd.s32 %r2, %r1, 1;")
	a, b, c := list[0].(*ptx.Instr).Op, list[1].(*ptx.Instr).Op, list[2].(*ptx.Instr).Op
	if a != b || a == c {
		t.Errorf("add.u32 twice: same opcode %v; add.u32 and add.s32: same opcode %v", a == b, a == c)
	}
}

func TestOpcodeQueries(t *testing.T) {
	op, ok := ptx.NewOpcode("cvt.rn.f32.u64")
	if !ok || !op.Has("rn") || op.Has("f64") || op.Type() != ptx.U64 {
		t.Errorf("cvt.rn.f32.u64: %+v, ok %v, type %v", op, ok, op.Type())
	}
	for _, bad := range []string{"", ".x", "add.", "add..x", "add x", "1add", "%r", "add.x:y"} {
		if _, ok := ptx.NewOpcode(bad); ok {
			t.Errorf("NewOpcode takes %q", bad)
		}
	}
}

func TestGuards(t *testing.T) {
	for _, c := range []struct {
		in, reg string
		not     bool
	}{
		{"@%p1 ret;", "%p1", false}, {"@!%p1 ret;", "%p1", true}, {"@ ! p ret;", "p", true}, {"ret;", "", false},
	} {
		g := lastInstr(t, c.in).Guard
		if g.Reg != c.reg || g.Not != c.not {
			t.Errorf("%q: guard %+v", c.in, g)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, c := range []struct{ in, ret, callee, args, table string }{
		{"call f;", "", "sym f + 0", "", ""},
		{"call.uni f, ();", "", "sym f + 0", "", ""},
		{"call (r), f, (a, %r1, 5);", "sym r + 0", "sym f + 0", "sym a + 0, reg %r1, int 0x5", ""},
		{"call (_), f, (_);", "sink", "sym f + 0", "sink", ""},
		{"call (r), %rd1, (a), proto;", "sym r + 0", "reg %rd1", "sym a + 0", "proto"},
		{"call %rd1, (a), proto;", "", "reg %rd1", "sym a + 0", "proto"},
		{"call %rd1, proto;", "", "reg %rd1", "", "proto"},
		{"call (x, y), f, (1+(2*3));", "sym x + 0, sym y + 0", "sym f + 0", "int 0x7", ""},
	} {
		call, ok := lastInstr(t, c.in).Call()
		if !ok || shapes(call.Return) != c.ret || shape(call.Callee) != c.callee || shapes(call.Args) != c.args || call.Table != c.table {
			t.Errorf("%q: %+v, %v", c.in, call, ok)
		}
	}
	for _, in := range []string{"ret;", "call;", "call (r);", "call f, (a), t, u;", "call f, (a), 5;"} {
		if call, ok := lastInstr(t, in).Call(); ok {
			t.Errorf("%q is a call: %+v", in, call)
		}
	}
}

func TestStatementKinds(t *testing.T) {
	list := body(t, lines(
		".reg .b32 %r<5>, x;",
		"L1:", "L2 : ret;",
		"tab: .branchtargets L1, L2;",
		"fns: .calltargets f, g;",
		"pro: .callprototype (.param .b32 _) _ (.param .b64 _);",
		"{ .local .u32 y[2]; }",
		`.pragma "nounroll";`,
		".loc 1 2 3", `.file 1 "a"`,
		"@@DWARF .byte 1",
		".section .debug_x { .b8 1 }",
		";"))
	want := []string{"*ptx.RegDecl", "*ptx.RegDecl", "*ptx.Label", "*ptx.Label", "*ptx.Instr", "*ptx.BranchTargets",
		"*ptx.CallTargets", "*ptx.CallPrototype", "*ptx.Block", "*ptx.Pragma", "*ptx.Loc", "*ptx.File", "*ptx.Raw", "*ptx.Section"}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%T", s))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("statements %v\nwant %v", got, want)
	}
	if r := list[0].(*ptx.RegDecl); r.Name != "%r" || r.Count != 5 || r.Type != ptx.B32 {
		t.Errorf("range %+v", r)
	}
	if b := list[5].(*ptx.BranchTargets); b.Label != "tab" || !slices.Equal(b.Targets, []string{"L1", "L2"}) {
		t.Errorf("branch targets %+v", b)
	}
	if p := list[7].(*ptx.CallPrototype); p.Label != "pro" || len(p.Return) != 1 || len(p.Params) != 1 || p.Params[0].Type != ptx.B64 {
		t.Errorf("prototype %+v", p)
	}
	if r := list[12].(*ptx.Raw); r.Text != "@@DWARF .byte 1" {
		t.Errorf("raw %q", r.Text)
	}
	if s := list[13].(*ptx.Section); s.Name != ".debug_x" || s.Text != " .b8 1 " {
		t.Errorf("section %+v", s)
	}
}

func TestInlinedLocations(t *testing.T) {
	list := body(t, ".loc 1 11 5, function_name $L_str+4, inlined_at 2 96 9\nret;")
	l := list[0].(*ptx.Loc)
	want := ptx.Inlined{Func: "$L_str", FuncOffset: 4, File: 2, Line: 96, Col: 9}
	if l.File != 1 || l.Line != 11 || l.Col != 5 || l.Inlined == nil || *l.Inlined != want {
		t.Errorf("loc %+v, inlined %+v", l, l.Inlined)
	}
}

func TestNamesFollowScopes(t *testing.T) {
	m := parse(t, header+lines(
		".entry k() {",
		"op x;", // x is not declared, so it is a symbol
		"{ .reg .u32 x; op x; { .shared .u32 x; op x; } op x; }",
		"op x;",
		"}",
		".entry l() { op x; }"))
	var got []string
	var walk func(b *ptx.Block)
	walk = func(b *ptx.Block) {
		for _, s := range b.Stmts {
			switch s := s.(type) {
			case *ptx.Block:
				walk(s)
			case *ptx.Instr:
				got = append(got, shape(s.Args[0]))
			}
		}
	}
	walk(m.Function("k").Body)
	walk(m.Function("l").Body)
	want := []string{"sym x + 0", "reg x", "sym x + 0", "reg x", "sym x + 0", "sym x + 0"}
	if !slices.Equal(got, want) {
		t.Errorf("x is %q, want %q", got, want)
	}
}

func TestPositions(t *testing.T) {
	m := parse(t, header+".entry k(.param .u64 p)\n{\n\t@%p1\tadd.s32 %r1, %r2, [a];\n/* two\nlines */ L: ret;\n}\n")
	f := m.Function("k")
	in := f.Body.Stmts[0].(*ptx.Instr)
	for _, c := range []struct {
		what string
		got  ptx.Pos
		want ptx.Pos
	}{
		{"function", f.Pos, ptx.Pos{Line: 4, Col: 1}},
		{"parameter", f.Params[0].Pos, ptx.Pos{Line: 4, Col: 22}},
		{"body", f.Body.Pos, ptx.Pos{Line: 5, Col: 1}},
		{"end of body", f.Body.End, ptx.Pos{Line: 9, Col: 1}},
		{"guard", in.Guard.Pos, ptx.Pos{Line: 6, Col: 2}},
		{"opcode", in.Pos, ptx.Pos{Line: 6, Col: 7}},
		{"second operand", in.Args[1].Position(), ptx.Pos{Line: 6, Col: 20}},
		{"address", in.Args[2].Position(), ptx.Pos{Line: 6, Col: 25}},
		{"label", f.Body.Stmts[1].Position(), ptx.Pos{Line: 8, Col: 10}},
	} {
		if c.got != c.want {
			t.Errorf("%s at %v, want %v", c.what, c.got, c.want)
		}
	}
	if got := m.Line(6); got != "\t@%p1\tadd.s32 %r1, %r2, [a];" {
		t.Errorf("line 6 is %q", got)
	}
	if m.Line(100) != "" {
		t.Errorf("line 100 is %q", m.Line(100))
	}
}

func TestEveryNodeHasAPosition(t *testing.T) {
	m := parse(t, testdata(t)["features.ptx"])
	check := func(n interface{ Position() ptx.Pos }) {
		if !n.Position().IsValid() {
			t.Errorf("%T without a position: %+v", n, n)
		}
	}
	var operands func(list []ptx.Operand)
	operands = func(list []ptx.Operand) {
		for _, o := range list {
			check(o)
			switch o := o.(type) {
			case *ptx.Vec:
				operands(o.Elems)
			case *ptx.List:
				operands(o.Elems)
			case *ptx.Pair:
				operands([]ptx.Operand{o.A, o.B})
			case *ptx.Addr:
				operands(o.Rest)
			}
		}
	}
	var block func(b *ptx.Block)
	block = func(b *ptx.Block) {
		for _, s := range b.Stmts {
			check(s)
			switch s := s.(type) {
			case *ptx.Block:
				block(s)
			case *ptx.Instr:
				operands(s.Args)
			}
		}
	}
	for _, d := range m.Decls {
		check(d)
		if f, ok := d.(*ptx.Function); ok && f.Body != nil {
			block(f.Body)
		}
	}
}
