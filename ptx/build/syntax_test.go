package build_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/build"
)

// Each kind of operand must be printed in the notation of the PTX ISA.
func TestOperands(t *testing.T) {
	m := build.New(build.Config{})
	v := m.Global("v", ptx.B32, 4)
	k := m.Kernel("k")
	param := k.Param("param", ptx.U64)
	p, q, r, s, d := k.Reg(ptx.Pred), k.Reg(ptx.Pred), k.Reg(ptx.B32), k.Reg(ptx.B32), k.Reg(ptx.B64)
	for _, c := range []struct {
		op   string
		args []build.Operand
		want string
	}{
		{"mov.b32", []build.Operand{r, s}, "mov.b32 %r1, %r2;"},
		{"add.s32", []build.Operand{r, s, build.Int(-5)}, "add.s32 %r1, %r2, -5;"},
		{"mov.b64", []build.Operand{d, build.Uint(math.MaxUint64)}, "mov.b64 %rd1, 18446744073709551615U;"},
		{"mov.b64", []build.Operand{d, build.Uint(7)}, "mov.b64 %rd1, 7;"},
		{"mov.b64", []build.Operand{d, build.Int(math.MinInt64)}, "mov.b64 %rd1, -9223372036854775807-1;"},
		{"mov.f32", []build.Operand{k.Reg(ptx.F32), build.F32(1.5)}, "mov.f32 %f1, 0f3FC00000;"},
		{"mov.f32", []build.Operand{k.Reg(ptx.F32), build.F32Bits(0x7fa00001)}, "mov.f32 %f2, 0f7FA00001;"},
		{"mov.f64", []build.Operand{k.Reg(ptx.F64), build.F64(-2)}, "mov.f64 %fd1, 0dC000000000000000;"},
		{"mov.f64", []build.Operand{k.Reg(ptx.F64), build.F64Bits(0x7ff4000000000001)}, "mov.f64 %fd2, 0d7FF4000000000001;"},
		{"mov.u32", []build.Operand{r, build.NctaidZ}, "mov.u32 %r1, %nctaid.z;"},
		{"mov.u64", []build.Operand{d, build.Clock64}, "mov.u64 %rd1, %clock64;"},
		{"mov.u64", []build.Operand{d, v}, "mov.u64 %rd1, v;"},
		{"mov.u64", []build.Operand{d, v.Plus(8)}, "mov.u64 %rd1, v+8;"},
		{"mov.u64", []build.Operand{d, param.Plus(0)}, "mov.u64 %rd1, param;"},
		{"add.s32", []build.Operand{r, s.Plus(4), s.Plus(0)}, "add.s32 %r1, %r2+4, %r2;"},
		{"ld.global.b32", []build.Operand{r, v.At(-4)}, "ld.global.b32 %r1, [v+-4];"},
		{"ld.param.b32", []build.Operand{r, param.At(4)}, "ld.param.b32 %r1, [param+4];"},
		{"ld.global.v2.b32", []build.Operand{build.VecOf(r, s), d.At(0)}, "ld.global.v2.b32 {%r1, %r2}, [%rd1];"},
		{"ld.global.v2.b32", []build.Operand{build.Vec(r, build.Discard()), d.At(16)}, "ld.global.v2.b32 {%r1, _}, [%rd1+16];"},
		{"setp.eq.and.s32", []build.Operand{build.Pair(p, q), r, s, q.Not()}, "setp.eq.and.s32 %p1|%p2, %r1, %r2, !%p2;"},
		{"vmad.s32.s32.s32", []build.Operand{r, s.Neg(), r, r}, "vmad.s32.s32.s32 %r1, -%r2, %r1, %r1;"},
		{"vadd.s32.s32.s32", []build.Operand{r, s.Part("b2"), r}, "vadd.s32.s32.s32 %r1, %r2.b2, %r1;"},
		{"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group", []build.Operand{d.At(0, build.VecOf(r, s)), d.At(0)},
			"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%rd1];"},
		{"mov.b32", []build.Operand{r, build.Syntax(&ptx.Imm{Bits: 9})}, "mov.b32 %r1, 9;"},
	} {
		k.Op(c.op, c.args...)
		k.Op("mov.b32", r, r)
		if got := text(t, m); !strings.Contains(got, "\t"+c.want+"\n") {
			t.Errorf("%s is missing in\n%s", c.want, got)
		}
	}
}

// The tree that Build returns must have no positions, because nothing was parsed.
func TestTheTreeHasNoPositions(t *testing.T) {
	tree, err := everything().Build()
	if err != nil {
		t.Fatal(err)
	}
	var find func(v reflect.Value, path string)
	find = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				find(v.Elem(), path)
			}
		case reflect.Slice:
			for i := range v.Len() {
				find(v.Index(i), path)
			}
		case reflect.Struct:
			if p, ok := v.Interface().(ptx.Pos); ok && p != (ptx.Pos{}) {
				t.Errorf("%s is %v", path, p)
			}
			for i := range v.NumField() {
				find(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	}
	find(reflect.ValueOf(tree), "module")
}

// Build must add a return if and only if control can reach the end of a function.
func TestReturns(t *testing.T) {
	for _, c := range []struct {
		end  func(k *build.Func)
		rets int
	}{
		{func(*build.Func) {}, 1},
		{func(k *build.Func) { k.Ret() }, 1},
		{func(k *build.Func) { k.Ret(); k.Comment("end") }, 1},
		{func(k *build.Func) { k.Op("exit") }, 0},
		{func(k *build.Func) { k.Op("trap") }, 0},
		{func(k *build.Func) { k.When(k.Reg(ptx.Pred)).Op("exit") }, 1},
		{func(k *build.Func) { l := k.NewLabel(""); k.Place(l); k.Bra(l) }, 0},
		{func(k *build.Func) { l := k.NewLabel(""); k.Place(l); k.Unless(k.Reg(ptx.Pred)).Bra(l) }, 1},
		{func(k *build.Func) { k.Block(func() { k.Op("exit") }) }, 1},
	} {
		m := build.New(build.Config{})
		c.end(m.Kernel("k"))
		if got := text(t, m); strings.Count(got, "\tret;\n") != c.rets {
			t.Errorf("want %d returns in\n%s", c.rets, got)
		}
	}
}

// The text of a module must parse to the same tree that Build returned.
func TestTheTextParsesToTheTree(t *testing.T) {
	m := everything()
	m.File(`C:\a "b".go`)
	m.Kernel("other").Pragma("nounroll")
	tree, err := m.Build()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := ptx.Parse("", tree.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := withoutComments(parsed.String()), withoutComments(tree.String()); got != want {
		t.Errorf("printed again:\n%s\nwant:\n%s", got, want)
	}
	if want := `.file 2 "C:\\a \"b\".go"`; !strings.Contains(tree.String(), want) {
		t.Errorf("%s is missing", want)
	}
}

func withoutComments(text string) string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if !strings.HasPrefix(l, "\t//") {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// Repeated declarations of the same file or known function must result in a single declaration.
func TestDeclarationsAreShared(t *testing.T) {
	m := build.New(build.Config{})
	if a, b := m.File("a.go"), m.File("b.go"); a != 1 || b != 2 || m.File("a.go") != a {
		t.Errorf("files %d and %d, and again %d", a, b, m.File("a.go"))
	}
	if v, c := m.Vprintf(), m.GraphSetConditional(); v != m.Vprintf() || c != m.GraphSetConditional() {
		t.Error("a known function is declared twice")
	}
	got := text(t, m)
	for _, want := range []string{".extern .func (.param .b32 result) vprintf(", ".extern .func cudaGraphSetConditional(\n\t.param .b64 handle,\n\t.param .b32 value\n);"} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q occurs %d times in\n%s", want, strings.Count(got, want), got)
		}
	}
}
