package ptx_test

import (
	"fmt"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// shape prints an operand with the kind of each node, because nodes of different kinds
// can print alike.
func shape(o ptx.Operand) string {
	switch o := o.(type) {
	case *ptx.Reg:
		s := "reg " + o.Name
		if o.Special {
			s = "special " + o.Name
		}
		if o.Sel != "" {
			s += "." + o.Sel
		}
		if o.Not {
			s = "not " + s
		}
		if o.Neg {
			s = "neg " + s
		}
		return s
	case *ptx.RegSum:
		return fmt.Sprintf("%s + %d", shape(o.Reg), o.Offset)
	case *ptx.Imm:
		return fmt.Sprintf("%s %#x", [...]string{"int", "uint", "f32", "f64"}[o.Kind], o.Bits)
	case *ptx.Sym:
		return fmt.Sprintf("sym %s + %d", o.Name, o.Offset)
	case *ptx.Vec:
		return "{" + shapes(o.Elems) + "}"
	case *ptx.List:
		return "(" + shapes(o.Elems) + ")"
	case *ptx.Addr:
		s := "["
		if o.Base != nil {
			s += shape(o.Base)
		}
		s += fmt.Sprintf(" @ %d", o.Offset)
		if len(o.Rest) > 0 {
			s += " ; " + shapes(o.Rest)
		}
		return s + "]" + o.Suffix
	case *ptx.Elem:
		if o.Index != nil {
			return fmt.Sprintf("elem %s[%s + %d]", o.Name, shape(o.Index), o.Offset)
		}
		return fmt.Sprintf("elem %s[%d]", o.Name, o.Offset)
	case *ptx.Pair:
		return shape(o.A) + " | " + shape(o.B)
	case *ptx.Sink:
		return "sink"
	}
	return fmt.Sprintf("%T", o)
}

func shapes(list []ptx.Operand) string {
	s := ""
	for i, o := range list {
		if i > 0 {
			s += ", "
		}
		s += shape(o)
	}
	return s
}

func TestOperandForms(t *testing.T) {
	const declared = ".reg .u32 a, v<3>; .reg .v2 .u32 w; .shared .u32 arr[4]; .local .u32 %var;\n"
	for _, c := range []struct{ in, want string }{
		{"%r1", "reg %r1"},
		{"a", "reg a"},
		{"v2", "reg v2"},
		{"v3", "sym v3 + 0"},
		{"v02", "sym v02 + 0"},
		{"w.x", "reg w.x"},
		{"arr", "sym arr + 0"},
		{"%var", "sym %var + 0"},
		{"arr+4", "sym arr + 4"},
		{"arr+4*2-1", "sym arr + 7"},
		{"%r1+1", "reg %r1 + 1"},
		{"%r1+0", "reg %r1"},
		{"%tid.x", "special %tid.x"},
		{"%laneid", "special %laneid"},
		{"%pm0", "special %pm0"},
		{"%pm7_64", "special %pm7_64"},
		{"%pmx", "reg %pmx"},
		{"%envreg31", "special %envreg31"},
		{"%clock64", "special %clock64"},
		{"%p12", "reg %p12"},
		{"!%p1", "not reg %p1"},
		{"-%r1", "neg reg %r1"},
		{"%r1.b3210", "reg %r1.b3210"},
		{"_", "sink"},
		{"%p1|%p2", "reg %p1 | reg %p2"},
		{"%p1|_", "reg %p1 | sink"},
		{"{%f1,%f2}|%p", "{reg %f1, reg %f2} | reg %p"},
		{"{a, {1, _}}", "{reg a, {int 0x1, sink}}"},
		{"{}", "{}"},
		{"[%rd1]", "[reg %rd1 @ 0]"},
		{"[ %rd1 + 8 ]", "[reg %rd1 @ 8]"},
		{"[%rd1+-8]", "[reg %rd1 @ -8]"},
		{"[%rd1-8]", "[reg %rd1 @ -8]"},
		{"[arr+0x10]", "[sym arr + 0 @ 16]"},
		{"[arr+(2+2)*4]", "[sym arr + 0 @ 16]"},
		{"[4096]", "[ @ 4096]"},
		{"[-1]", "[ @ -1]"},
		{"[w.x]", "[reg w.x @ 0]"},
		{"[t, {%f1, %f2}]", "[sym t + 0 @ 0 ; {reg %f1, reg %f2}]"},
		{"[t, s, %r1]", "[sym t + 0 @ 0 ; sym s + 0, reg %r1]"},
		{"[%rd1].unified", "[reg %rd1 @ 0]unified"},
		{"arr[2]", "elem arr[2]"},
		{"arr[a]", "elem arr[reg a + 0]"},
		{"arr[%r1+3]", "elem arr[reg %r1 + 3]"},
		{"0", "int 0x0"},
		{"42", "int 0x2a"},
		{"052", "int 0x2a"},
		{"0x2A", "int 0x2a"},
		{"0b101010", "int 0x2a"},
		{"42U", "uint 0x2a"},
		{"0U", "uint 0x0"},
		{"-1", "int 0xffffffffffffffff"},
		{"9223372036854775807", "int 0x7fffffffffffffff"},
		{"9223372036854775808", "uint 0x8000000000000000"},
		{"-9223372036854775807-1", "int 0x8000000000000000"},
		{"0f3F800000", "f32 0x3f800000"},
		{"-0f3f800000", "f32 0xbf800000"},
		{"0F7fc00001", "f32 0x7fc00001"},
		{"0d3FF0000000000000", "f64 0x3ff0000000000000"},
		{"1.0", "f64 0x3ff0000000000000"},
		{"1.", "f64 0x3ff0000000000000"},
		{".5", "f64 0x3fe0000000000000"},
		{"1e0", "f64 0x3ff0000000000000"},
		{"-1.5e+1", "f64 0xc02e000000000000"},
		{"WARP_SZ", "int 0x20"},
		{"-WARP_SZ", "int 0xffffffffffffffe0"},
		{"WARP_SZ/2-1", "int 0xf"},
	} {
		t.Run(c.in, func(t *testing.T) {
			in := lastInstr(t, declared+"op.b32 "+c.in+";")
			if got := shapes(in.Args); got != c.want {
				t.Errorf("%q is %s, want %s", c.in, got, c.want)
			}
			if again := lastInstr(t, declared+in.String()); shapes(again.Args) != c.want {
				t.Errorf("printed as %q, which is %s, want %s", in, shapes(again.Args), c.want)
			}
		})
	}
}

func TestConstantExpressions(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"1+2*3", "int 0x7"},
		{"(1+2)*3", "int 0x9"},
		{"10-4-3", "int 0x3"},
		{"-7/2", "int 0xfffffffffffffffd"},
		{"-7%4", "int 0x1"}, // the remainder is unsigned
		{"5%-3", "int 0x5"},
		{"7%3", "int 0x1"},
		{"7 % 3", "int 0x1"},
		{"1<<4|3", "int 0x13"},
		{"0xF0^0xFF&0x3C", "int 0xcc"},
		{"-16>>2", "int 0xfffffffffffffffc"},
		{"(.u64)-16>>60", "uint 0xf"},
		{"(.s64)5U", "int 0x5"},
		{"1<<65", "int 0x2"}, // only the low six bits of a shift count are used
		{"5<<-1", "int 0x8000000000000000"},
		{"-5>>70", "int 0xffffffffffffffff"},
		{"3<4", "int 0x1"},
		{"3>=4", "int 0x0"},
		{"-1<0U", "int 0x0"}, // the operands are compared as unsigned numbers
		{"3==3&&4!=5", "int 0x1"},
		{"0||0", "int 0x0"},
		{"!5", "int 0x0"},
		{"!0", "int 0x1"},
		{"~0", "uint 0xffffffffffffffff"},
		{"~0>>60", "uint 0xf"},
		{"(~5)/2", "uint 0x7ffffffffffffffd"},
		{"+5", "int 0x5"},
		{"1?2:3", "int 0x2"},
		{"0?2:0?3:4", "int 0x4"},
		{"5-2U", "uint 0x3"},
		{"1.5+2", "f64 0x400c000000000000"},
		{"0f3F800000*2", "f64 0x4000000000000000"},
		{"1.5<2", "int 0x1"},
		{"3.0-1.0/2.0", "f64 0x4004000000000000"},
		{"(1.0>2.0)+(1.0<=2.0)+(1.0>=2.0)+(1.0==2.0)+(1.0!=2.0)", "int 0x2"},
		{"1.0&&0.0", "int 0x0"},
		{"-(1.5)", "f64 0xbff8000000000000"},
		{"7U/2", "uint 0x3"},
		{"7U%4", "int 0x3"},
		{"(1U<2)+(1U>2)*2+(1U<=2)*4+(1U>=2)*8+(1U==2)*16+(1U!=2)*32", "int 0x25"},
		{"(1<2)+(1>2)*2+(1<=2)*4+(1==2)*16", "int 0x5"},
		{"-1U>>63", "uint 0x1"},
		{"0xabcDEF", "int 0xabcdef"},
		{"9223372036854775807+1", "int 0x8000000000000000"},
		{"(-9223372036854775807-1)/-1", "int 0x8000000000000000"},
		{"(-9223372036854775807-1)%-1", "int 0x8000000000000000"},
	} {
		if got := shapes(lastInstr(t, "op.b32 "+c.in+";").Args); got != c.want {
			t.Errorf("%s = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestImmediateValues(t *testing.T) {
	imm := func(s string) *ptx.Imm { return lastInstr(t, "op "+s+";").Args[0].(*ptx.Imm) }
	if got := imm("0f7FC00001").Float32Bits(); got != 0x7FC00001 {
		t.Errorf("a NaN's payload became %#x", got)
	}
	if got := imm("0d7FF8000000000001").Float64Bits(); got != 0x7FF8000000000001 {
		t.Errorf("a NaN's payload became %#x", got)
	}
	if got := imm("0.1").Float32Bits(); got != 0x3DCCCCCD {
		t.Errorf("0.1 as f32 is %#x", got)
	}
	if got := imm("0f3FC00000").Float64(); got != 1.5 {
		t.Errorf("0f3FC00000 is %v", got)
	}
	if got := imm("18446744073709551615").Float64(); got != 18446744073709551615 {
		t.Errorf("2^64-1 is %v", got)
	}
	if got := imm("-3").Float64(); got != -3 {
		t.Errorf("-3 is %v", got)
	}
	if got := imm("2.9").Int64(); got != 2 {
		t.Errorf("2.9 as integer is %v", got)
	}
}

func TestOperandString(t *testing.T) {
	in := lastInstr(t, "op {%r1,_}|%p2, [t,{1}].unified;")
	if got := ptx.OperandString(in.Args[0]) + " " + ptx.OperandString(in.Args[1]); got != "{%r1, _}|%p2 [t, {1}].unified" {
		t.Errorf("operands print as %s", got)
	}
}
