package ptx_test

import (
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// An error is reported once. The rest of its statement is skipped, braces and all, and
// the next statement is read as usual.
func TestAnErrorEndsWithItsStatement(t *testing.T) {
	for _, text := range []string{
		"\tadd.u32 %r1, ] {%r2} %r3; mov.u32 %r4, 1;\n",
		"\tadd.u32 %r1, ] {%r2, {%r5} %r6} %r3; mov.u32 %r4, 1;\n",
		"\tld.u32 %r1, [%rd1+1.5]; mov.u32 %r4, 1;\n",
		"\tld.u32 %r1, [%rd1+0f3F800000]; mov.u32 %r4, 1;\n",
		"ts: .calltargets f<3>;\n\tmov.u32 %r4, 1;\n",
	} {
		m, err := ptx.Parse("test.ptx", []byte(header+".entry k() {\n"+text+"\tret;\n}\n.entry l() {\n\tret;\n}\n"))
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if list := errorsOf(t, err); len(list) != 1 || list[0].Pos.Line != 5 {
			t.Errorf("%s: %v", text, list)
		}
		if m != nil && m.Function("l") == nil {
			t.Errorf("%s: the next kernel is lost", text)
		}
	}
}

// A function's names are not in scope in the next.
func TestNamesEndWithTheirFunction(t *testing.T) {
	m := parse(t, header+`.global .u32 a;
.func (.reg .u32 r) f(.reg .u64 a) { cvt.u32.u64 r, a; ret; }
.func g(.reg .u64 a);
.entry k() {
	.reg .u64 %rd<2>;
	mov.u64 %rd1, a;
	ret;
}
`)
	for _, s := range m.Function("k").Body.Stmts {
		if in, ok := s.(*ptx.Instr); ok && in.Op.Name == "mov" {
			if _, ok := in.Args[1].(*ptx.Sym); !ok {
				t.Errorf("the variable is read as a %T", in.Args[1])
			}
			return
		}
	}
	t.Error("there is no mov")
}
