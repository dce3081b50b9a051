package isa_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// in returns a kernel that contains the given line as line 20.
func in(version, target, line string) string {
	return ".version " + version + "\n.target " + target + `
.address_size 64
.global .align 16 .b32 gv[8];
.const .b32 cv[8];
.shared .align 16 .b32 sv[8];
.func (.param .b32 r) fn(.param .b32 a, .param .b64 b) { ret; }
.visible .entry k(.param .b64 kp)
{
	.reg .pred %p<9>;
	.reg .b16 %h<9>;
	.reg .b32 %b<9>;
	.reg .u32 %u<9>;
	.reg .s32 %s<9>;
	.reg .f32 %f<9>;
	.reg .b64 %bd<9>;
	.reg .f64 %d<9>;
	.reg .v2 .b32 %v;
	.param .b32 pv;
	` + line + `
L0:
	ret;
}
`
}

// Check must report the expected problem for each instruction that ptxas rejects.
func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		// register types that differ from the instruction type
		{"add.s32 %f1, %f2, %f3;", "add.s32: operand 1 is register %f1 of type .f32; it must be .s32"},
		{"add.f16 %b1, %b2, %b3;", "add.f16: operand 1 is register %b1 of type .b32; it must be .f16"},
		{"st.global.u64 [%bd1], %b1;", "st.global.u64: operand 2 is register %b1 of type .b32; it must be .u64 or wider"},
		{"ld.global.u32 %b1, [%f1];", "operand 2 is an address in register %f1 of type .f32; it must be in an integer register"},
		{"mul.wide.s32 %b1, %s1, %s2;", "operand 1 is register %b1 of type .b32; it must be .s64"},
		{"add.f32 %f1, %f2, 1;", "operand 3 is an integer constant; write it with a decimal point"},
		{"add.s32 %s1, %s2, 1.0;", "operand 3 is a floating-point constant; it must be .s32"},
		{"setp.eq.s32 %s1, %s2, %s3;", "operand 1 is register %s1 of type .s32; it must be .pred"},
		{"ld.global.v2.u32 {%u1, %f1}, [%bd1];", "operand 1 is {register %u1 of type .u32, register %f1 of type .f32}"},
		// modifiers that the instruction does not have
		{"mov.approx.b32 %b1, %b2;", "mov has no modifier .approx"},
		{"ld.rn.global.b32 %b1, [%bd1];", "ld has no modifier .rn"},
		{"mul.v2.s32 %s1, %s2, %s3;", "mul has no modifier .v2"},
		{"cvt.ftz.u32.u16 %u1, %h1;", "cvt.ftz.u32.u16: these modifiers do not go together with .u32.u16"},
		{"cvt.rni.u32.u16 %u1, %h1;", "do not go together"},
		{"cvt.sat.s32.s16 %s1, %h1;", ".s32 holds every .s16, so .sat has no effect"},
		{"add.rn.rz.f32 %f1, %f2, %f3;", "do not go together"},
		{"add.sat.u32 %u1, %u2, %u3;", "do not go together"},
		{"ld.volatile.ca.global.b32 %b1, [%bd1];", "do not go together"},
		{"ld.global.shared.b32 %b1, [%bd1];", "do not go together"},
		// missing modifiers
		{"sqrt.f32 %f1, %f2;", "sqrt.f32 is not available from PTX 1.4 on: sqrt needs one of .approx .rn .rz .rm .rp"},
		{"cvt.f32.s32 %f1, %s1;", "cvt.f32.s32 lacks a modifier: one of .rn .rz .rm .rp"},
		{"ld.acquire.global.b32 %b1, [%bd1];", "lacks a modifier: one of .cta .cluster .gpu .sys"},
		{"atom.global.add.f16 %h1, [%bd1], %h2;", "lacks a modifier: one of .noftz"},
		{"mul.s32 %s1, %s2, %s3;", "mul.s32 lacks a modifier after mul: one of .lo .hi .wide"},
		{"vote.all.pred %p1, %p2;", "vote.all.pred is not available from PTX 6.4 and sm_70 on: write vote.sync"},
		{"shfl.up.b32 %b1, %b2, 1, 0;", "shfl.up.b32 is not available from PTX 6.4 and sm_70 on: write shfl.sync"},
		// nonexistent types and names
		{"add.b32 %b1, %b2, %b3;", "add has no type .b32; it takes .u16 .s16"},
		{"atom.global.and.u32 %u1, [%bd1], %u2;", "do not go together with .u32"},
		{"fnord.rn.f32 %f1;", "there is no instruction fnord"},
		// operands
		{"add.s32 %s1, %s2;", "add.s32 has 2 operands; it takes 3"},
		{"add.s32 5, %s1, %s2;", "operand 1 must be a register"},
		{"add.s32 %s1, %tid.x, %s2;", "operand 2 is the special register %tid.x, which this instruction cannot read: move it to a register first"},
		{"add.s32 %s1, -%s2, %s3;", "operand 2 cannot be negated"},
		{"add.s32 %s1, %nope, %s3;", "operand 2 %nope is not declared"},
		{"add.s32 %s1, {%s2, %s3}, %s3;", "operand 2 is a vector"},
		{"mov.u32 %tid.x, %u1;", "operand 1 is the special register %tid.x, which cannot be written"},
		{"ld.global.b32 %b1, [sv];", "operand 2 is sv, which is in .shared, not in .global"},
		{"ld.b32 %b1, [cv];", "operand 2 is cv, which is in .const: the instruction must name that space"},
		{"ld.global.b32 %b1, [16];", "an absolute address, which only .local has"},
		{"ld.global.b32 %b1, %bd1;", "operand 2 must be an address in brackets"},
		{"ld.global.v4.b64 {%bd1, %bd2, %bd3, %bd4}, [%bd5];", "a vector of 32 bytes; at most 16 are allowed"},
		{"ld.global.v2.b32 {%b1, %b2, %b3}, [%bd1];", "operand 1 has 3 elements; it must have 2"},
		{"st.const.b32 [%bd1], %b1;", "st has no modifier .const"},
		{"st.param.b64 [kp], %bd1;", "kp is an input parameter, which the function cannot write"},
		{"bar.sync 16;", "there is no barrier 16: barriers are 0 to 15"},
		{"bar.sync 0, 33;", "33 threads are not a whole number of warps of 32"},
		{"bfe.u32 %u1, %u2, 300, 1;", "operand 3 is out of range: it must be from 0 to 255"},
		{"cp.async.cg.shared.global [%b1], [%bd1], 8;", "operand 3 is 8: with .cg it must be 16"},
		{"mma.sync.aligned.m16n8k8.col.row.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%b1, %b2}, {%b3}, {%f0, %f1, %f2, %f3};", "the layouts are .row.col"},
		{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f0, %f1}, {%b1, %b2}, {%b3}, {%f0, %f1, %f2, %f3};", "operand 1 has 2 elements; it must have 4"},
		{"lop3.and.b32 %b1, %b2, %b3, %b4, 1, %p1;", "needs PTX 8.2"},
		// calls, branches and guards
		{"call fn, (%b1, %bd1);", "2 arguments and 0 results; it takes 2 and 1"},
		{"call (%b1), fn, (%bd1, %bd1);", "argument 1 is register %bd1 of type .b64; the parameter is .b32"},
		{"call (%b1), nowhere, (%b1);", "nowhere is not declared"},
		{"call (%b1), %bd1, (%b2);", "needs a .callprototype"},
		{"call k;", "k is a kernel"},
		{"bra nowhere;", "must be a label of this function"},
		{"brx.idx %u1, L0;", "L0 is not the label of a .branchtargets"},
		{"@%b1 add.s32 %s1, %s2, %s3;", "register %b1 guards the instruction, but is of type .b32"},
		{"@%p99 add.s32 %s1, %s2, %s3;", "register %p99 is not declared"},
		// declarations
		{".reg .bf16 %x;", "%x cannot be of type .bf16, which is for instructions only: use .b16"},
		{".reg .v4 .b64 %x;", "%x: a vector of 32 bytes; at most 16 are allowed"},
		{".local .b32 x[];", "array x has no size"},
		{".shared .b32 x = 1;", "x is in .shared and cannot have an initial value"},
		{".reg .b32 %x, %x;", "%x is declared twice in one block"},
	} {
		err := check(t, in("7.8", "sm_90", c.line))
		var first *isa.Error
		if !errors.As(err, &first) {
			t.Errorf("%s is accepted", c.line)
			continue
		}
		if first.Pos.Line != 20 || !strings.Contains(first.Problem, c.says) {
			t.Errorf("%s\n  says %v\n  want line 20: %s", c.line, err, c.says)
		}
	}
}

// Check must apply the rules for the .version and .target of the module.
func TestTheTextsOwnHeaderCounts(t *testing.T) {
	for _, c := range []struct {
		version, target, line string
		valid                 bool
	}{
		{"6.0", "sm_70", "vote.all.pred %p1, %p2;", true},
		{"6.4", "sm_60", "vote.all.pred %p1, %p2;", true},
		{"6.3", "sm_70", "shfl.up.b32 %b1, %b2, 1, 0;", true},
		{"6.4", "sm_70", "shfl.up.b32 %b1, %b2, 1, 0;", false},
		{"6.0", "sm_30", "vote.sync.all.pred %p1, %p2, -1;", true},
		{"5.0", "sm_30", "vote.sync.all.pred %p1, %p2, -1;", false},
		{"1.3", "sm_13", "sqrt.f32 %f1, %f2;", true},
		{"1.4", "sm_13", "sqrt.f32 %f1, %f2;", false},
		{"3.1", "sm_35", "mad.f32 %f1, %f2, %f3, %f4;", true},
		{"3.2", "sm_35", "mad.f32 %f1, %f2, %f3, %f4;", false},
		{"7.8", "sm_80", "fence.sc.cluster;", false},
		{"7.8", "sm_90", "fence.sc.cluster;", true},
		{"8.0", "sm_90", "setmaxnreg.inc.sync.aligned.u32 64;", false},
		{"8.0", "sm_90a", "setmaxnreg.inc.sync.aligned.u32 64;", true},
		{"1.4", "sm_13", "ld.u32 %u1, [%bd1];", false},
		{"2.0", "sm_20", "ld.u32 %u1, [%bd1];", true},
		{"9.9", "sm_999", "something.nobody.knows %u1;", true}, // newer than the table, so not checked
		{"9.9", "sm_90", "something.nobody.knows %u1;", false},
	} {
		if err := check(t, in(c.version, c.target, c.line)); (err == nil) != c.valid {
			t.Errorf("PTX %s for %s: %s: %v", c.version, c.target, c.line, err)
		}
	}
}

// Check must accept unusual code that ptxas accepts.
func TestWhatIsAccepted(t *testing.T) {
	for _, line := range []string{
		"add.s32.sat %s1, %s2, %s3;", "ld.b32.global %b1, [%bd1];", "add.s32 %u1, %b2, 70000;", "ld.global.u8 %bd1, [%b1];",
		"cvt.u8.u32 %bd1, %u1;", "and.b32 %f1, %u2, %s3;", "and.b32 %b1, %b2, 0f3F800000;", "mov.b32 %f1, 0f3F800000;", "add.f64 %d1, %d2, 0f3F800000;",
		"setp.lt.and.s32 %p1|_, %s1, %s2, !%p2;", "selp.b32 %b1, %b2, %b3, 1;", "add.s32 %s1, %s2, gv+4;", "add.s32 %s1, %s2+4, %s3;",
		"mov.u64 %bd1, gv+4;", "mov.u16 %h1, %tid.x;", "cvt.u32.u16 %u1, %tid.x;", "mov.b64 {%u1, %b2}, %bd1;", "mov.b64 %bd1, {1, 2};",
		"ld.global.v2.b32 {%b1, _}, [%bd1];", "st.global.v2.u32 [%bd1], {%u1, -1};", "ld.global.v2.b32 %v, [%bd1];", "add.s32 %v.x, %v.y, 1;",
		"mov.b32 %b1, %v.x;", "call (%b1), fn, (%b2, %bd1);", "call (pv), fn, (pv, %bd1);", "call (_), fn, (1, 2);", "bra.uni L0;", "@!%p1 bra L0;",
		"fma.rn.relu.relu.f16 %h1, %h2, %h3, %h4;", "atom.global.add.u32 _, [%bd1], 1;", "bar.sync %b1, %b2;", "not.finite.b32 %b1, %b2;", "{ .reg .b64 %b; mov.b64 %b, %bd1; }",
	} {
		if err := check(t, in("7.8", "sm_90", line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Check must also report errors in uncalled functions, headers and variables.
func TestDeclarationsAreChecked(t *testing.T) {
	const head = ".version 7.8\n.target sm_90\n.address_size 64\n"
	for _, c := range []struct{ text, says string }{
		{".func f() {\n.reg .f32 %f<3>;\nadd.s32 %f1, %f2, %f2;\nret;\n}", "t:6:1: add.s32: operand 1"},
		{".entry k() .noreturn { ret; }", ".noreturn is for functions (.func), k is a kernel"},
		{".func f() .maxntid 32 { ret; }", ".maxntid is for kernels (.entry), f is a function"},
		{".entry k() .maxntid 32 .reqntid 32 { ret; }", "exclude each other"},
		{".entry k() .maxntid 0 { ret; }", "a number of .maxntid is 0"},
		{".entry k(.reg .b32 a) { ret; }", "kernel parameter a must be a .param"},
		{".entry k(.param .b8 a[5000]) { ret; }", "5000 bytes of parameters; at most 4352 are allowed"},
		{".entry k(.param .b32 a, .param .b32 a) { ret; }", "a is declared twice"},
		{".shared .b8 s[167937];\n.entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }", "kernel k has 167937 bytes of .shared variables; at most 167936 are allowed for any GPU"},
		{".shared .b8 s[90000];\n.func f() { .reg .b32 %r; mov.u32 %r, s; ret; }\n.entry k() { .shared .b8 t[90000]; .reg .b32 %r; mov.u32 %r, t; call f; ret; }", "kernel k has 180000 bytes"},
		{".global .pred g;", "predicate g must be a register"},
		{".local .b32 l;", "l: .local variables are declared in functions"},
		{".global .f32 g = 1;", "its initial value is an integer"},
		{".extern .global .b32 g = 1;", "g is .extern and cannot have an initial value"},
		{".global .b32 g;\n.global .b32 g;", "variable g is declared twice"},
		{".func f() { ret; }\n.func f() { ret; }", "function f is defined twice"},
		{".reg .b32 %r;", "register %r is declared outside a function"},
		{".func (.param .b32 r) f() { .reg .b32 %r; ld.param.b32 %r, [r]; ret; }", "r is the function's result, which it cannot read"},
		// Ptxas mistakes a variable in a nested block for the parameter with the same name.
		{".func (.param .b32 r) f() { .reg .b32 %r; { .param .b32 r; ld.param.b32 %r, [r]; } ret; }", "r is the function's result, which it cannot read"},
		{".func f(.param .b32 a) { .reg .b32 %r; { .param .b32 a; st.param.b32 [a], %r; } ret; }", "a is an input parameter, which the function cannot write"},
		{".entry k(.param .b32 a) { .reg .b32 %r; { .param .b32 a; st.param.b32 [a], %r; } ret; }", "a is an input parameter, which the function cannot write"},
	} {
		if err := check(t, head+c.text); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s\n  says %v\n  want %s", c.text, err, c.says)
		}
	}
	for _, text := range []string{
		".func f() .noreturn { ret; }", ".extern .shared .b32 s[];\n.entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }",
		".shared .b8 s[60000];", ".shared .b8 s[60000];\n.entry k() { ret; }", // s is unused, so it takes no memory
		".global .b32 g[] = {1, 2};", ".extern .global .b32 g;\n.visible .global .b32 g;", ".func f(.param .b8 v[]) { ret; }",
		".func f();\n.func f() { ret; }",
	} {
		if err := check(t, head+text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A mov to a vector also accepts a scalar, which is copied to every component. A vector
// has at most 16 bytes. A special register such as %tid is a vector unless it has a
// selector.
func TestMovesOfVectors(t *testing.T) {
	for _, version := range []string{"7.8 sm_90", "8.4 sm_90a"} {
		v, target, _ := strings.Cut(version, " ")
		for line, says := range map[string]string{
			"mov.v2.b64 {%bd1, %bd2}, %bd3;":             "",
			"mov.v2.b32 {%b1, %b2}, %b3;":                "",
			"mov.v2.b32 %v, %b3;":                        "",
			"mov.v2.b16 {%h1, %h2}, %h3;":                "",
			"mov.v4.b16 {%h1, %h2, %h3, %h4}, 1;":        "",
			"mov.v2.u32 {%u1, %u2}, %tid.x;":             "",
			"mov.v2.u32 {%u1, %u2}, gv;":                 "",
			"mov.v2.s64 {%bd1, %bd2}, gv;":               "",
			"mov.v4.u32 {%u1, %u2, %u3, %u4}, %tid;":     "",
			"mov.v4.b16 {%h1, %h2, %h3, %h4}, %ctaid;":   "",
			"mov.v4.b64 {%bd1, %bd2, %bd3, %bd4}, %bd1;": "a vector of 32 bytes; at most 16 are allowed",
			"mov.v4.u64 {%bd1, %bd2, %bd3, %bd4}, 1;":    "a vector of 32 bytes; at most 16 are allowed",
			"mov.v4.f64 {%d1, %d2, %d3, %d4}, 1.5;":      "a vector of 32 bytes; at most 16 are allowed",
			"mov.v2.u32 {%u1, %u2}, %tid;":               "operand 2 ",
			"mov.v4.f32 {%f1, %f2, %f3, %f4}, %tid;":     "operand 2 ",
			"mov.u32 %u1, %tid;":                         "operand 2 is a vector; it must be .u32",
			"mov.b32 {%h1, %h2}, %tid;":                  "operand 2 is a vector",
			"cvt.u32.u32 %u1, %ntid;":                    "operand 2 is a vector",
			"mov.b64 %bd1, {%u1, %tid};":                 "operand 2 is a vector",
			"ld.global.u32 %u1, [%tid.x];":               "operand 2 ",
		} {
			err := check(t, in(v, target, line))
			if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
				t.Errorf("%s: %s: %v; want %q", version, line, err, says)
			}
		}
	}
}

// The .shared limit of a kernel must depend on the architecture passed to CheckFor, not
// on the .target of the module.
func TestSharedMemoryFollowsTheArchitecture(t *testing.T) {
	text := func(header string, bytes int) *ptx.Module {
		m, err := ptx.Parse("t", fmt.Appendf(nil, "%s\n.shared .b8 s[%d];\n.entry k() { .reg .b32 %%r; mov.u32 %%r, s; ret; }", header, bytes))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const old, newer, own = ".version 3.1\n.target sm_30", ".version 7.8\n.target sm_80", ".version 8.0\n.target sm_90a"
	for _, c := range []struct {
		header, arch string
		most         int
	}{
		{old, "sm_30", 48 << 10}, {old, "sm_50", 64 << 10}, {old, "sm_52", 96 << 10}, {old, "sm_61", 96 << 10}, {old, "sm_75", 64 << 10}, {old, "sm_90", 164 << 10},
		{newer, "sm_80", 164 << 10}, {newer, "sm_86", 100 << 10}, {newer, "sm_89", 164 << 10}, {newer, "sm_90", 164 << 10},
		{old, "", 164 << 10}, {newer, "", 164 << 10}, {own, "", 164 << 10},
	} {
		check := isa.Check
		if c.arch != "" {
			check = func(m *ptx.Module) error { return isa.CheckFor(m, c.arch) }
		}
		if err := check(text(c.header, c.most)); err != nil {
			t.Errorf("%s for %s: %d bytes: %v", c.header, c.arch, c.most, err)
		}
		want := fmt.Sprintf("at most %d are allowed", c.most)
		if err := check(text(c.header, c.most+1)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.arch) {
			t.Errorf("%s for %s: %d bytes: %v; want %q", c.header, c.arch, c.most+1, err, want)
		}
	}
}

// Check must apply the rules for the operands of mbarrier, movmatrix, cp.reduce.async.bulk and
// st.async. A parity must be 0 or 1. In st.async, only a vector of floats accepts integer
// registers.
func TestOperandsOfBarrierOperations(t *testing.T) {
	for line, says := range map[string]string{
		"mbarrier.arrive.shared.b64 %bd1, [sv], 1;":                                                                   "",
		"mbarrier.arrive.shared.b64 %bd1, [sv], 0;":                                                                   "out of range",
		"mbarrier.arrive_drop.noComplete.shared.b64 %bd1, [sv], -1;":                                                  "out of range",
		"movmatrix.sync.aligned.m8n8.trans.b16 %b1, %f1;":                                                             "",
		"movmatrix.sync.aligned.m8n8.trans.b16 %b1, 1;":                                                               "must be a register",
		"movmatrix.sync.aligned.m8n8.trans.b16 %b1, [%b2];":                                                           "must be a register",
		"movmatrix.sync.aligned.m8n8.trans.b16 %b1, %bd2;":                                                            "it must be .b32",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [gv], [sv], 16;":                            "",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.max.bf16 [gv], [sv], 16;":                                 "",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [gv], [sv], 16;":                                  "lacks a modifier",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.min.b32 [gv], [sv], 16;":                                  "cp.reduce.async.bulk",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.xor.u64 [gv], [sv], 16, %bd1;":             "cp.reduce.async.bulk",
		"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.s64 [sv], [sv], 16, [sv];": "cp.reduce.async.bulk",
		"mbarrier.test_wait.parity.b64 %p1, [%bd1], 0;":                                                               "",
		"mbarrier.try_wait.parity.shared.b64 %p1, [%bd1], 1, 70;":                                                     "",
		"mbarrier.test_wait.parity.b64 %p1, [%bd1], 2;":                                                               "out of range: it must be from 0 to 1",
		"mbarrier.try_wait.parity.shared.b64 %p1, [%bd1], -1;":                                                        "out of range: it must be from 0 to 1",
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%b1], {%s1, %s2}, [%b2];":                      "",
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%b1], {%bd1, %bd2}, [%b2];":                    "",
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%b1], %s1, [%b2];":                                "it must be .f32",
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%b1], {%f1, %f2}, [%b2];":                      "it must be .u32",
	} {
		err := check(t, in("8.4", "sm_90", line))
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v; want %q", line, err, says)
		}
	}
}

// Check must reject each special register in a module for an older version or target.
func TestSpecialRegistersNeedAVersion(t *testing.T) {
	for _, c := range []struct{ version, target, line, says string }{
		{"1.2", "sm_13", "mov.u32 %u1, %laneid;", "%laneid, which needs PTX 1.3; the text is PTX 1.2 for sm_13"},
		{"1.3", "sm_13", "mov.u32 %u1, %laneid;", ""},
		{"1.0", "sm_10", "mov.u32 %u1, %tid.x;", ""},
		{"1.0", "sm_10", "mov.u32 %u1, %clock;", ""},
		{"1.4", "sm_13", "mov.u64 %bd1, %clock64;", "PTX 2.0 and sm_20"},
		{"2.3", "sm_13", "mov.u32 %u1, %lanemask_lt;", "PTX 2.0 and sm_20"},
		{"2.0", "sm_20", "mov.u32 %u1, %lanemask_lt;", ""},
		{"2.3", "sm_20", "mov.u32 %u1, %pm3;", ""},
		{"2.3", "sm_20", "mov.u32 %u1, %pm4;", "%pm4, which needs PTX 3.0"},
		{"4.0", "sm_35", "mov.u64 %bd1, %pm0_64;", "PTX 4.0 and sm_50"},
		{"4.3", "sm_50", "mov.u32 %u1, %clock_hi;", "PTX 5.0"},
		{"7.5", "sm_80", "mov.u32 %u1, %reserved_smem_offset_begin;", "PTX 7.6"},
		{"7.8", "sm_80", "mov.u32 %u1, %cluster_ctarank;", "PTX 7.8 and sm_90"},
		{"7.8", "sm_80", "mov.u32 %u1, %clusterid.x;", "%clusterid, which needs PTX 7.8 and sm_90"},
		{"7.8", "sm_80", "mov.v4.u32 {%u1, %u2, %u3, %u4}, %clusterid;", "%clusterid, which needs PTX 7.8 and sm_90"},
		{"7.8", "sm_90", "mov.u32 %u1, %cluster_ctarank;", ""},
		{"7.8", "sm_90", "mov.u64 %bd1, %current_graph_exec;", "PTX 8.0"},
		{"8.0", "sm_90", "mov.u32 %u1, %aggr_smem_size;", "PTX 8.1"},
		{"8.1", "sm_90", "mov.u32 %u1, %aggr_smem_size;", ""},
		{"1.2", "sm_13", "mov.b64 %bd1, {%u1, %laneid};", "%laneid, which needs PTX 1.3"},
		{"1.2", "sm_13", "ld.global.u32 %u1, [%laneid];", "%laneid, which needs PTX 1.3"},
	} {
		text := in(c.version, c.target, c.line)
		if c.version < "2.3" {
			text = strings.Replace(text, ".address_size 64", "", 1)
		}
		if c.version < "2.0" {
			text = strings.Replace(text, "(.param .b32 r) fn(.param .b32 a, .param .b64 b)", "fn()", 1)
		}
		err := check(t, text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("PTX %s for %s: %s: %v; want %q", c.version, c.target, c.line, err, c.says)
		}
	}
}

func TestLegal(t *testing.T) {
	for _, c := range []struct {
		op     string
		v      ptx.Version
		target string
		legal  bool
	}{
		{"add.s32", ptx.Version{Major: 6, Minor: 0}, "sm_60", true},
		{"add.b32", ptx.Version{Major: 6, Minor: 0}, "sm_60", false},
		{"fma.rn.bf16", ptx.Version{Major: 7, Minor: 0}, "sm_80", true},
		{"fma.rn.bf16", ptx.Version{Major: 7, Minor: 0}, "sm_75", false},
		{"shfl.idx.b32", ptx.Version{Major: 7, Minor: 0}, "sm_60", true},
		{"shfl.idx.b32", ptx.Version{Major: 7, Minor: 0}, "sm_70", false},
	} {
		op, ok := ptx.NewOpcode(c.op)
		if !ok {
			t.Fatal(c.op)
		}
		if err := isa.Legal(op, c.v, c.target); (err == nil) != c.legal {
			t.Errorf("%s in PTX %v for %s: %v", c.op, c.v, c.target, err)
		}
	}
}

// Errors must be in source order, each with its line.
func TestErrorsTellTheirPlaces(t *testing.T) {
	err := check(t, in("7.8", "sm_90", "bar.sync 16;\n\tadd.b32 %b1, %b2, %b3;\n\tadd.s32 %s1, %s2, %s3;"))
	var all isa.Errors
	if !errors.As(err, &all) || len(all) != 2 || all[0].Pos.Line != 20 || all[1].Pos.Line != 21 {
		t.Fatalf("%v", err)
	}
	if got := fmt.Sprintf("%v", err); !strings.HasSuffix(got, "(and 1 more)") {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprintf("%+v", err); strings.Count(got, "\n") != 1 || !strings.Contains(got, "t:21:2: add has no type .b32") {
		t.Errorf("%s", got)
	}
}
