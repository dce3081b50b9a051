package build_test

import (
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
	"github.com/purecuda/cuda/ptx/num"
)

// Using zero values as operands must result in errors, not panics.
func TestZeroValuesAreErrors(t *testing.T) {
	m := build.New(build.Config{})
	k := m.Kernel("k")
	r := k.Reg(ptx.B32)
	for _, c := range []struct {
		operand build.Operand
		want    string
	}{
		{build.Reg{}, "is the zero Reg"},
		{build.Reg{}.At(4), "is the zero Reg"},
		{build.Reg{}.Plus(4), "is the zero Reg"},
		{build.Reg{}.Not(), "is the zero Reg"},
		{build.Special(""), "is not a special register"},
		{(*build.Var)(nil), "is not a variable"},
		{&build.Var{}, "is not a variable"},
		{(*build.Var)(nil).At(0), "is not a variable"},
		{(*build.Var)(nil).Generic(), "is not a variable"},
		{(*build.Param)(nil), "is not a parameter"},
		{&build.Param{}, "is not a parameter"},
		{(&build.Param{}).Align(4).Array(1).Ptr(ptx.GlobalSpace, 0).At(0), "is not a parameter"},
		{(*build.Func)(nil), "is not a function"},
		{&build.Func{}, "is not a function"},
		{build.Label{}, "is the zero Label"},
		{build.Value[int32]{}, "is the zero Value"},
		{build.Value[int32]{}.Add(build.Value[int32]{}), "is the zero Value"},
		{build.Pointer[int32]{}.At(build.Value[int32]{}), "is nil"},
		{build.Vec(nil), "is nil"},
		{build.List(nil), "is nil"},
		{build.Pair(nil, nil), "is nil"},
	} {
		before := len(errorsOf(m))
		k.Op("mov.b32", r, c.operand)
		all := errorsOf(m)
		if len(all) != before+1 || !strings.Contains(all[before].Problem, c.want) {
			t.Errorf("%T: errors %v, want %s", c.operand, all[before:], c.want)
		}
	}
}

func errorsOf(m *build.Module) build.Errors {
	all, _ := m.Err().(build.Errors)
	return all
}

// Methods of nil and zero objects must do nothing, and Build of a zero Module must fail.
func TestZeroObjects(t *testing.T) {
	for _, m := range []*build.Module{nil, {}} {
		k := m.Kernel("k").ReqNTID(1, 1, 1).Doc("text").Linkage(ptx.Weak)
		v := build.NumberParam[float32](k, "v")
		x := build.PointerParam[float32](k, "x")
		x.From(k.GlobalX()).Store(k.GlobalX(), v.Add(x.Load(k.GlobalX())))
		build.SharedArray[int32](k, "s", 4)
		k.If(v.Lt(v), func() { t.Error("If of a function without a module calls its argument") })
		build.For(k, v, v, v, func(build.Value[float32]) { t.Error("so does For") })
		build.Convert[num.BF16](build.Convert[num.F16](v))
		k.Call(m.Vprintf(), nil)
		k.LocInlined(build.Pos{File: m.File("f")}, "f", build.Pos{})
		k.Place(k.BranchTable(k.NewLabel("a")))
		m.Global("g", ptx.B8, 2).InitBytes([]byte{1}).Align(3)
		m.Fail("problem")
		if _, err := m.Text(); err == nil || !strings.Contains(err.Error(), "make one with build.New") {
			t.Errorf("Text of a nil or zero Module: %v", err)
		}
	}
}
