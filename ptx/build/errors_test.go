package build_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// For each misuse, Build must report the function, the instruction and the correct form.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(m *build.Module, k *build.Func)
		want string
	}{
		{"unknown instruction", func(_ *build.Module, k *build.Func) { k.Op("frobnicate.f32", k.Reg(ptx.F32)) },
			"build: k: frobnicate.f32 %f1; there is no instruction frobnicate"},
		{"modifier", func(_ *build.Module, k *build.Func) { k.Op("mov.approx.b32", k.Reg(ptx.B32), build.Int(1)) },
			"build: k: mov.approx.b32 %r1, 1; mov has no modifier .approx"},
		{"type of a register", func(_ *build.Module, k *build.Func) { k.Op("add.s32", k.Reg(ptx.F32), build.Int(1), build.Int(2)) },
			"operand 1 is register %f1 of type .f32; it must be .s32"},
		{"number of operands", func(_ *build.Module, k *build.Func) { k.Op("add.s32", k.Reg(ptx.B32), build.Int(1)) },
			"add.s32 has 2 operands; it takes 3"},
		{"constant", func(_ *build.Module, k *build.Func) { k.Op("add.f32", k.Reg(ptx.F32), build.Int(1), build.F32(1)) },
			"operand 2 is an integer constant"},
		{"name of an instruction", func(_ *build.Module, k *build.Func) { k.Op("add.s32 %r1") }, `k: "add.s32 %r1" is not the name of an instruction`},
		{"zero register", func(_ *build.Module, k *build.Func) { k.Op("mov.b32", build.Reg{}, build.Int(1)) },
			"k: operand 1 of mov.b32 is the zero Reg"},
		{"register of another function", func(m *build.Module, k *build.Func) {
			k.Op("mov.b32", k.Reg(ptx.B32), m.Kernel("other").Reg(ptx.B32))
		}, "k: operand 2 of mov.b32 is register %r1 of other"},
		{"type without registers", func(_ *build.Module, k *build.Func) { k.Reg(ptx.E4M3) }, "there are no registers of type .e4m3"},
		{"nil operand", func(_ *build.Module, k *build.Func) { k.Op("mov.b32", k.Reg(ptx.B32), nil) }, "operand 2 of mov.b32 is nil"},
		{"special register", func(_ *build.Module, k *build.Func) { k.Op("mov.u32", k.Reg(ptx.B32), build.Special("%tidy")) },
			`is "%tidy", which is not a special register`},
		{"component of a special register", func(_ *build.Module, k *build.Func) { k.Op("mov.u32", k.Reg(ptx.B32), build.Special("%tid.xy")) },
			"not a special register"},
		{"guard", func(_ *build.Module, k *build.Func) { k.When(k.Reg(ptx.B32)).Op("ret") }, "@%r1 ret; register %r1 guards the instruction"},
		{"zero guard", func(_ *build.Module, k *build.Func) { k.When(build.Reg{}).Op("ret") }, "the guard of ret is the zero Reg"},
		{"label not placed", func(_ *build.Module, k *build.Func) { k.Bra(k.NewLabel("x")) }, "label $L1_x is used and not placed"},
		{"label placed twice", func(_ *build.Module, k *build.Func) { l := k.NewLabel(""); k.Place(l); k.Place(l) }, "label $L1 is placed twice"},
		{"zero label", func(_ *build.Module, k *build.Func) { k.Bra(build.Label{}) }, "operand 1 of bra is the zero Label"},
		{"label of another function", func(m *build.Module, k *build.Func) { k.Bra(m.Kernel("other").NewLabel("")) }, "a label of another function"},
		{"hint", func(_ *build.Module, k *build.Func) { k.NewLabel("a b") }, `the label "a b" contains characters`},
		{"branch table", func(m *build.Module, k *build.Func) { k.BranchTable(m.Kernel("other").NewLabel("")) }, "a target of a branch table is"},
		{"branch to a table", func(_ *build.Module, k *build.Func) { k.Bra(k.BranchTable()) }, "$L1_table is not a label of this function"},
		{"name", func(m *build.Module, _ *build.Func) { m.Global("a-b", ptx.B32, 0) }, `"a-b" is not a name`},
		{"reserved name", func(m *build.Module, _ *build.Func) { m.Global("$L1", ptx.B32, 0) }, `"$L1" is not a name`},
		{"declared twice", func(m *build.Module, _ *build.Func) { m.Global("k", ptx.B32, 0) }, "k: the name is declared twice"},
		{"parameter declared twice", func(_ *build.Module, k *build.Func) { k.Param("a", ptx.B32); k.Local("a", ptx.B32, 0) },
			"the name a is declared twice in one function"},
		{"hidden variable", func(m *build.Module, k *build.Func) { k.Param("a", ptx.B32); m.Global("a", ptx.B32, 0) },
			"a is declared in the function and in the module"},
		{"variable of another function", func(m *build.Module, k *build.Func) {
			k.Op("mov.u64", k.Reg(ptx.B64), m.Kernel("other").Local("v", ptx.B32, 0))
		}, "is v, a variable of other"},
		{"variable of another module", func(_ *build.Module, k *build.Func) {
			k.Op("mov.u64", k.Reg(ptx.B64), build.New(build.Config{}).Global("v", ptx.B32, 0))
		}, "is v, a variable of another module"},
		{"parameter of another function", func(m *build.Module, k *build.Func) {
			k.Op("ld.param.b32", k.Reg(ptx.B32), m.Kernel("other").Param("p", ptx.B32).At(0))
		}, "is p, a parameter of other"},
		{"function of another module", func(_ *build.Module, k *build.Func) { k.Call(build.New(build.Config{}).Func("f"), nil) },
			"the function to call is f, a function of another module"},
		{"alignment", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 0).Align(3) }, "a: the alignment is 3: it must be a power of two"},
		{"alignment of a parameter", func(_ *build.Module, k *build.Func) { k.Param("a", ptx.B32).Align(0) }, "the alignment of a is 0"},
		{"vector", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 0).Vector(3) }, "a: a vector of 3"},
		{"size", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, -7) }, "a: the number of elements is -7"},
		{"attribute", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 0).Attribute("x y") }, `"x y" is not an attribute`},
		{"initial value in shared memory", func(m *build.Module, _ *build.Func) { m.Shared("a", ptx.B32, 0).Init(build.Int(1)) },
			"a: a is in .shared and cannot have an initial value"},
		{"too many initial values", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 1).Init(build.Int(1), build.Int(2)) },
			"a has 1 elements, but its initial value has 2"},
		{"register as an initial value", func(m *build.Module, k *build.Func) { m.Global("a", ptx.B32, 0).Init(k.Reg(ptx.B32)) },
			"a: the initial value is register"},
		{"vector as an initial value", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 1).Init(build.Vec()) }, "is neither a constant nor an address"},
		{"initial value of a local", func(_ *build.Module, k *build.Func) { k.Local("a", ptx.B32, 0).Init(build.Int(1)) },
			"a: only variables of a module have initial values"},
		{"bytes", func(m *build.Module, _ *build.Func) { m.Global("a", ptx.B32, 1).InitBytes([]byte{1}) }, "InitBytes is for arrays of .b8"},
		{"result of a kernel", func(_ *build.Module, k *build.Func) { k.Result("r", ptx.B32) }, "k: a kernel has no results"},
		{"body of an extern function", func(m *build.Module, _ *build.Func) { m.Vprintf().Ret() }, "vprintf: the function is .extern and has a body"},
		{"directive", func(_ *build.Module, k *build.Func) { k.NoReturn() }, "k: .noreturn is for functions (.func)"},
		{"name of a directive", func(_ *build.Module, k *build.Func) { k.Directive(".maxntid") }, `".maxntid" is not a directive`},
		{"size of a block", func(_ *build.Module, k *build.Func) { k.ReqNTID(0, 1, 1) }, "a number of .reqntid is 0"},
		{"arguments", func(m *build.Module, k *build.Func) { k.Call(m.Vprintf(), k.Regs(ptx.B32, 1), build.Int(0)) },
			"a call of vprintf has 1 arguments; it takes 2"},
		{"results", func(m *build.Module, k *build.Func) { k.Call(m.Vprintf(), nil, build.Int(0), build.Int(0)) },
			"a call has too few result registers: result needs 1"},
		{"too many results", func(m *build.Module, k *build.Func) {
			k.Call(m.Vprintf(), k.Regs(ptx.B32, 3), build.Int(0), build.Int(0))
		},
			"a call of vprintf has 3 result registers; it takes 1"},
		{"array argument", func(m *build.Module, k *build.Func) {
			f := m.Func("f")
			f.Param("p", ptx.B32).Array(2)
			k.Call(f, nil, build.Int(0))
		}, "the argument for p must be a vector of 2 elements"},
		{"call of a kernel", func(m *build.Module, k *build.Func) { k.Call(m.Kernel("other"), nil) }, "other is a kernel: only functions (.func) are called"},
		{"call through nothing", func(m *build.Module, k *build.Func) { k.CallThrough(build.Reg{}, m.Func("f"), nil) }, "the register of the function to call is the zero Reg"},
		{"call like nothing", func(_ *build.Module, k *build.Func) { k.CallThrough(k.Reg(ptx.B64), nil, nil) }, "the signature of a call is not a function"},
		{"file", func(_ *build.Module, k *build.Func) { k.Loc(build.Pos{File: 1, Line: 1}) }, "file 1 of a position does not exist"},
		{"file name", func(m *build.Module, _ *build.Func) { m.File("a\nb") }, `the file name "a\nb" contains a line end`},
		{"position", func(m *build.Module, k *build.Func) { k.Loc(build.Pos{File: m.File("f"), Line: -1}) }, "a position is negative"},
		{"pragma", func(_ *build.Module, k *build.Func) { k.Pragma(`a"b`) }, "contains quotation marks"},
		{"own error", func(_ *build.Module, k *build.Func) { k.Fail("the compiler met a lion") }, "build: k: the compiler met a lion"},
		{"own error of the module", func(m *build.Module, _ *build.Func) { m.Fail("no code") }, "build: no code"},
		{"selector", func(_ *build.Module, k *build.Func) { k.Op("mov.b32", k.Reg(ptx.B32).Part("b.0"), build.Int(1)) }, `has the invalid selector "b.0"`},
		{"sum", func(_ *build.Module, k *build.Func) { k.Op("call", build.List(), build.Syntax(nil)) }, "operand 2 of call is nil"},
		{"constant value", func(_ *build.Module, k *build.Func) { build.Const(k, int32(1)).Set(build.Const(k, int32(2))) }, "Set of a constant"},
		{"bits of a float", func(_ *build.Module, k *build.Func) { v := build.Const(k, float32(1)); v.And(v) }, "k: and of a floating-point value"},
	} {
		m := build.New(build.Config{})
		c.use(m, m.Kernel("k"))
		_, err := m.Build()
		var list build.Errors
		if !errors.As(err, &list) || !strings.Contains(fmt.Sprintf("%+v", list), c.want) {
			t.Errorf("%s: got\n  %+v\nwant\n  %s", c.name, err, c.want)
		}
	}
}

// Errors of one Build must not remain in the module. After a correction, Build must succeed.
func TestErrorsOfOneBuildDoNotStay(t *testing.T) {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	l := k.NewLabel("")
	k.Bra(l)
	if _, err := m.Build(); err == nil {
		t.Fatal("a label that is not placed is accepted")
	}
	k.Place(l)
	if _, err := m.Build(); err != nil {
		t.Fatalf("after the label is placed: %v", err)
	}
}

// Build must return the tree and its text even if it contains errors.
func TestTheTreeWithErrors(t *testing.T) {
	m := build.New(build.Config{})
	m.Kernel("k").Op("frobnicate")
	tree, err := m.Build()
	if err == nil || !strings.Contains(tree.String(), "\tfrobnicate;\n") {
		t.Errorf("got %v and\n%v", err, tree)
	}
	if _, err := m.Text(); err == nil {
		t.Error("Text returns the text of an invalid module")
	}
}
