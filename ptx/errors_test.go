package ptx_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
)

// Each case marks the expected position of its error with «.
func TestErrorPlacesAndMessages(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"«", `expected ".version" (a module starts with .version and .target), found end of file`},
		{"«.entry k() { ret; }", `expected ".version" (a module starts with .version and .target), found ".entry"`},
		{".version «eight", `expected a version number such as 8.0, found "eight"`},
		{".version «8\n.target sm_80", `expected a version number such as 8.0, found "8"`},
		{".version 8.0\n«.entry k() { ret; }", `expected ".target" after .version, found ".entry"`},
		{".version 8.0\n.target «;", `expected a target such as sm_80, found ";"`},
		{header + ".address_size «48", `expected 32 or 64, found "48"`},
		{header + "«int x;", `expected a directive such as .visible, .entry, .func or .global, found "int"`},
		{header + "«.globl .u32 x;", `unknown directive .globl`},
		{header + ".visible «x;", `expected .entry, .func or a state space, found "x"`},
		{header + ".global .align «3 .u32 x;", `alignment must be a power of two`},
		{header + ".global «x;", `expected a type such as .b32, found "x"`},
		{header + ".global «.u31 x;", `expected a type such as .b32, .align or .v4, found ".u31"`},
		{header + ".global .u32 «.u32 x;", `expected a name: the type is .u32 already, found ".u32"`},
		{header + ".global .u32 x[4«;", `expected "]", found ";"`},
		{header + ".global .u32 x[2][«];", `expected the array's size, found "]"`},
		{header + ".global .u32 x[-1«];", `array size is out of range`},
		{header + ".global .u32 x[4] = {1, 2«;", `expected "," or "}", found ";"`},
		{header + ".global .u32 x = «;", `expected a constant, found ";"`},
		{header + ".global .u32 x = 1 +«;", `expected a constant, found ";"`},
		{header + ".global .u32 x = 1 «/ 0;", `division by zero in a constant expression`},
		{header + ".global .u32 x = 1.5 «<< 2;", `this operator needs integers`},
		{header + ".global .u32 x = «18446744073709551616;", `malformed or too large number "18446744073709551616"`},
		{header + ".global .u32 x = «0f123;", `malformed or too large number "0f123"`},
		{header + ".global .f64 x = «0d3FF0;", `malformed or too large number "0d3FF0"`},
		{header + ".global .u32 x«", `expected "," or ";", found end of file`},
		{header + ".global .u32 x «@", `expected "," or ";", found "@"`},
		{header + ".entry «() { ret; }", `expected the function's name, found "("`},
		{header + ".entry k(«u64 p) { ret; }", `expected .param, .reg or ")", found "u64"`},
		{header + ".entry k(.param .u64 p «.param .u64 q) { ret; }", `expected "," or ")", found ".param"`},
		{header + ".entry k() .maxntid «{ ret; }", `expected a number, found "{"`},
		{header + ".entry k() .maxntid 1,2,3,4 «{ ret; }", `.maxntid takes fewer numbers`},
		{header + ".entry k() «.maxtid 3 { ret; }", `expected "{", ";" or a directive such as .maxntid, found ".maxtid"`},
		{header + ".entry k() { ret; «", `expected "}" for the "{" of line 4, found end of file`},
		{header + ".entry k() { ret «}", `expected an operand or ";", found "}"`},
		{header + ".entry k() {\n add.s32 %r1, %r2 «%r3;\n}", `expected "," or ";", found "%r3"`},
		{header + ".entry k() {\n add.s32 %r1, «;\n}", `expected an operand, found ";"`},
		{header + ".entry k() {\n «add..s32 %r1;\n}", `malformed instruction name "add..s32"`},
		{header + ".entry k() {\n «%r1 = 5;\n}", `malformed instruction name "%r1"`},
		{header + ".entry k() {\n @«5 ret;\n}", `expected a predicate register, found "5"`},
		{header + ".entry k() {\n @%p1 «;\n}", `expected an instruction after the predicate, found ";"`},
		{header + ".entry k() {\n ld.u32 %r1, [%rd1«;\n}", `expected "+", "," or "]", found ";"`},
		{header + ".entry k() {\n ld.u32 %r1, [%rd1+«x];\n}", `expected a constant, found "x"`},
		{header + ".entry k() {\n ld.u32 %r1, [%rd1+1.5«];\n}", `an offset must be an integer`},
		{header + ".entry k() {\n ld.u32 %r1, [«];\n}", `expected an address, found "]"`},
		{header + ".entry k() {\n ld.v2.u32 {%r1, %r2, [%rd1]«;\n}", `expected "," or "}", found ";"`},
		{header + ".entry k() {\n mov.u32 %r1, {1, «};\n}", `expected an operand, found "}"`},
		{header + ".entry k() {\n mov.u32 %r1, !«x;\n}", `expected a register or a number, found "x"`},
		{header + ".entry k() {\n mov.u32 %r1, x«.y;\n}", `expected "," or ";", found ".y"`},
		{header + ".entry k() {\n «.branchtargets L;\n}", `.branchtargets needs a label before it`},
		{header + ".entry k() {\n «.foo 1;\n}", `unknown directive .foo`},
		{header + ".entry k() {\n .reg .u32 x[4]«;\n}", `a register cannot be an array or have an initialiser`},
		{header + ".entry k() {\n .reg .b32 %r<0«>;\n}", `an empty range of registers`},
		{header + ".entry k() {\n .loc 1 «x 3\n}", `expected a line number, found "x"`},
		{header + ".entry k() {\n .loc 1 «4294967296 3\n}", `number is too large`},
		{header + ".entry k() {\n .pragma «nounroll;\n}", `expected a string, found "nounroll"`},
		{header + ".entry k() {\n ret;\n}\n«}", `expected a directive such as .visible, .entry, .func or .global, found "}"`},
		{header + "«\"open\n", `string is not closed on its line`},
		{header + "«/* open\n.entry k()", `comment is not closed`},
		{header + "«#define X 1\n", `preprocessor directives are not supported: run the preprocessor first`},
		{header + "«é", `expected a directive such as .visible, .entry, .func or .global, found character 'é'`},
		{header + ".section .debug «{ .b8 1", `section is not closed: no "}" for this "{"`},
		{header + ".entry k() {\n ret;\n«.visible .entry l() { ret; }", `expected "}" before .visible, found ".visible"`},
	} {
		before, after, _ := strings.Cut(c.in, "«")
		_, err := ptx.Parse("k.ptx", []byte(before+after))
		if err == nil {
			t.Errorf("%q parses", c.in)
			continue
		}
		e := errorsOf(t, err)[0]
		line := strings.Count(before, "\n") + 1
		col := len(before) - strings.LastIndexByte(before, '\n')
		if int(e.Pos.Line) != line || int(e.Pos.Col) != col {
			t.Errorf("%q: error at %d:%d, want %d:%d (%v)", c.in, e.Pos.Line, e.Pos.Col, line, col, e)
		}
		got := e.Problem
		if got == "" {
			got = "expected " + e.Expected + ", found " + e.Found
		}
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, c.want)
		}
		if text := strings.Split(before+after, "\n")[line-1]; e.Line != text {
			t.Errorf("%q: line %q, want %q", c.in, e.Line, text)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	_, err := ptx.Parse("k.ptx", []byte(header+".entry k()\n{\n\tadd.s32\t%r1 %r2;\n}\n"))
	want := `k.ptx:6:14: expected "," or ";", found "%r2": add.s32	%r1 %r2;`
	if got := err.Error(); got != want {
		t.Errorf("error is\n%s\nwant\n%s", got, want)
	}
	want = "k.ptx:6:14: expected \",\" or \";\", found \"%r2\"\n\tadd.s32\t%r1 %r2;\n\t       \t    ^"
	if got := fmt.Sprintf("%+v", err); got != want {
		t.Errorf("detail is\n%s\nwant\n%s", got, want)
	}
	var one *ptx.Error
	if !errors.As(err, &one) || one.File != "k.ptx" {
		t.Errorf("errors.As gives %v", one)
	}
}

func TestLongLinesAreShortened(t *testing.T) {
	long := strings.Repeat("ret; ", 1000)
	_, err := ptx.Parse("", []byte(header+".entry k() { "+long+"5; "+long+"}"))
	e := errorsOf(t, err)[0]
	if len(e.Line) > 300 || !strings.HasPrefix(e.Line, "...") || !strings.HasSuffix(e.Line, "...") {
		t.Errorf("line of %d bytes: %q", len(e.Line), e.Line)
	}
	if !strings.HasPrefix(e.Error(), "ptx:4:5014: ") {
		t.Errorf("error %q", e)
	}
}

func TestSeveralErrorsInOneRun(t *testing.T) {
	src := header + lines(
		".global .u33 a;",             // 4
		".entry k(.param .u64 p)",     // 5
		"{",                           //
		"\t.reg .b32 %r<5;",           // 7
		"\tadd.s32 %r1, %r2, %r3",     // 8: no ";", reported on line 9
		"\tmul.lo.s32 %r1, %r2, 3;",   // 9
		"\tmov.u32 %r1, {1, 2;",       // 10
		"\t{",                         //
		"\t\tld.u32 %r1, [%rd1 8];",   // 12
		"\t}",                         //
		"L:\t@ ret;",                  // 14
		"\tret;",                      //
		"}",                           //
		".entry (",                    // 17
		") { ret; }",                  //
		".entry l() { bad bad bad; }", // 19
		".global .u32 b = ;",          // 20
		".global .u32 c;")
	m, err := ptx.Parse("k.ptx", []byte(src))
	var got []int32
	for _, e := range errorsOf(t, err) {
		got = append(got, e.Pos.Line)
	}
	if want := []int32{4, 7, 9, 10, 12, 14, 17, 19, 20}; !slices.Equal(got, want) {
		t.Errorf("errors in lines %v, want %v\n%+v", got, want, err)
	}
	if m.Variable("c") == nil || m.Function("l") == nil {
		t.Error("what comes after an error is not in the module")
	}
	var muls int
	for _, s := range m.Function("k").Body.Stmts {
		if in, ok := s.(*ptx.Instr); ok && in.Op.Name == "mul" {
			muls++
		}
	}
	if muls != 1 {
		t.Error("the instruction after a missing semicolon was lost")
	}
}

func TestErrorsAreLimited(t *testing.T) {
	_, err := ptx.Parse("", []byte(header+strings.Repeat(".global x;\n", 1000)))
	list := errorsOf(t, err)
	if len(list) != 21 || !strings.Contains(list[20].Error(), "too many errors") {
		t.Errorf("%d errors, the last %v", len(list), list[len(list)-1])
	}
	if !strings.Contains(err.Error(), "(and 20 more)") {
		t.Errorf("error %q does not say how many there are", err)
	}
}

func TestNestingIsLimited(t *testing.T) {
	const n = 100_000
	for name, src := range map[string]string{
		"scopes":       header + ".entry k() " + strings.Repeat("{", n),
		"vectors":      header + ".entry k() { op " + strings.Repeat("{", n),
		"addresses":    header + ".entry k() { op " + strings.Repeat("[a,", n),
		"initialisers": header + ".global .u32 x = " + strings.Repeat("{", n),
		"parentheses":  header + ".global .u32 x = " + strings.Repeat("(", n),
		"signs":        header + ".global .u32 x = " + strings.Repeat("-", n),
		"conditionals": header + ".global .u32 x = " + strings.Repeat("1?", n),
		"casts":        header + ".global .u32 x = " + strings.Repeat("(.s64)", n),
	} {
		_, err := ptx.Parse("", []byte(src))
		if err == nil || !strings.Contains(err.Error(), "nested more than 200 deep") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// An error must be reported only once. The parser skips the rest of the statement,
// including braces, and reads the next statement normally.
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

// A function's local names must not be in scope in the next function.
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
