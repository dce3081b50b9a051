package build_test

import (
	"os"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/isa"
)

// everything returns a module that uses every part of the package.
func everything() *build.Module {
	m := build.New(build.Config{})
	file := m.File("heat/step.go")
	fault := m.Global("__fault", ptx.U64, 0).Align(8).Linkage(ptx.Weak)
	site := m.Global("site", ptx.B8, 6).Align(8).InitBytes([]byte("index\x00"))
	m.Const("table", ptx.F32, 3).Linkage(ptx.Visible).Init(build.F32(1), build.F32(-0.5), build.F32Bits(0x7fc00001))
	m.Global("ptrs", ptx.U64, 2).Init(site.Generic(), site.Plus(4)).Doc("two addresses")
	dyn := m.DynamicShared("dyn", ptx.B8).Align(16)
	printf := m.Vprintf()
	k := m.Kernel("step").ReqNTID(256, 1, 1).MinNCTAPerSM(2).Doc("one step")
	helper := m.Func("helper")
	a := helper.Param("a", ptx.B32)
	s := helper.Param("s", ptx.B64).Array(2).Align(8)
	helper.Result("r", ptx.B64).Array(2)

	next := k.Param("next", ptx.U64).Ptr(ptx.GlobalSpace, 4)
	n := k.Param("n", ptx.B32)
	frame := k.Local("frame", ptx.B8, 16).Align(8)
	p, r, q := k.Reg(ptx.Pred), k.Regs(ptx.B32, 5), k.Regs(ptx.B64, 4)
	loop, out := k.NewLabel("loop"), k.NewLabel("")
	k.Loc(build.Pos{File: file, Line: 12, Col: 3})
	k.Op("ld.param.u64", q[0], next.At(0))
	k.Op("ld.param.u32", r[0], n.At(0))
	k.Op("mov.u32", r[1], build.TidX)
	k.Op("setp.ge.s32", p, r[1], r[0])
	k.When(p).Bra(out)
	k.Comment("a loop\nof one block")
	k.Place(loop)
	k.LocInlined(build.Pos{File: file, Line: 30, Col: 1}, "heat.inner", build.Pos{File: file, Line: 13, Col: 2})
	k.Op("ld.volatile.global.u64", q[1], fault.At(0))
	k.Op("ld.global.v4.b32", build.VecOf(r[1:]...), q[0].At(16))
	k.Op("shfl.sync.bfly.b32", build.Pair(r[1], p), r[1], build.Int(16), build.Int(31), build.Int(-1))
	k.Op("st.shared.b32", dyn.At(4), r[1])
	k.Op("mov.u64", q[2], site)
	k.Call(helper, q[2:4], r[1], build.Vec(q[0], q[1]))
	k.Op("cvta.local.u64", q[3], q[3])
	k.Op("mov.u64", q[3], frame)
	k.Call(printf, r[2:3], q[2], q[3])
	k.Op("brx.idx", r[1], k.BranchTable(loop, out))
	k.Place(out)
	k.Op("mov.u64", q[1], helper)
	k.CallThrough(q[1], helper, q[2:4], build.Int(1), build.Vec(q[0], q[1]))

	h, w := helper.Regs(ptx.B64, 2), helper.Reg(ptx.B32)
	helper.Op("ld.param.b32", w, a.At(0))
	helper.Op("ld.param.v2.b64", build.VecOf(h...), s.At(0))
	return m
}

func text(t *testing.T, m *build.Module) string {
	t.Helper()
	b, err := m.Text()
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return string(b)
}

// The text of a module that uses every part of the package must equal the stored text, parse, and
// pass isa.Check.
func TestEveryPart(t *testing.T) {
	got := text(t, everything())
	want, err := os.ReadFile("testdata/everything.ptx")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the text differs from testdata/everything.ptx:\n%s", got)
	}
	m, err := ptx.Parse("everything.ptx", []byte(got))
	if err != nil {
		t.Fatal(err)
	}
	if err := isa.Check(m); err != nil {
		t.Errorf("%+v", err)
	}
	if strings.Contains(got, "%!") {
		t.Error("the text contains a formatting error")
	}
}

// Constructing a module twice, and building one module twice, must result in the same text.
func TestTheTextIsDeterministic(t *testing.T) {
	m := everything()
	first := text(t, m)
	if again := text(t, m); again != first {
		t.Error("a second Build of the module prints another text")
	}
	if other := text(t, everything()); other != first {
		t.Error("a second module prints another text")
	}
}
