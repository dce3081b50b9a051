package vm_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

const square = `
.func (.param .b32 ret) square(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	mul.lo.s32 %r2, %r1, %r1;
	st.param.b32 [ret], %r2;
	ret;
}
`

// callOf returns the call sequence that compilers emit for a function with one u32 parameter and a
// u32 result.
func callOf(fn, dst, src string) string {
	return `{ .param .b32 param0; st.param.b32 [param0], ` + src + `; .param .b32 retval0;
	call.uni (retval0), ` + fn + `, (param0); ld.param.b32 ` + dst + `, [retval0]; }`
}

func runText(t *testing.T, n int, text string) []uint32 {
	t.Helper()
	m := load(t, text)
	out := upload(m, make([]uint32, n))
	m.mustLaunch("k", n, out)
	return download[uint32](m, out, n)
}

func TestFunctionCalls(t *testing.T) {
	got := runText(t, 64, square+`
.func (.param .b64 ret) mix(.param .b32 a, .param .align 8 .b8 s[16], .param .f32 f)
{
	.reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<2>;
	ld.param.u32 %r1, [a];
	ld.param.u64 %rd1, [s+8];
	ld.param.f32 %f1, [f];
	cvt.rzi.u32.f32 %r2, %f1;
	`+callOf("square", "%r3", "%r2")+`
	add.u32 %r1, %r1, %r3;
	cvt.u64.u32 %rd2, %r1;
	add.u64 %rd2, %rd2, %rd1;
	st.param.b64 [ret], %rd2;
	ret;
}
`+threadOut(`
	`+callOf("square", "%r1", "%r0")+`
	setp.lt.u32 %p0, %r0, 40;
	mov.u32 %d, %r1;
	@!%p0 bra END;
	{
	.param .b32 p0; st.param.b32 [p0+0], %r0;
	.param .align 8 .b8 p1[16]; mov.u64 %rd1, 1000; st.param.b64 [p1+8], %rd1;
	.param .b32 p2; mov.f32 %f1, 0f40400000; st.param.f32 [p2+0], %f1;
	.param .b64 r0;
	call.uni (r0), mix, (p0, p1, p2);
	ld.param.b64 %rd2, [r0+0];
	}
	cvt.u32.u64 %r2, %rd2;
	add.u32 %d, %d, %r2;
END:`))
	for i, v := range got {
		want := uint32(i * i)
		if i < 40 {
			want += uint32(i) + 9 + 1000
		}
		if v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
}

func TestCallsWithRegisterParameters(t *testing.T) {
	got := runText(t, 32, `
.func (.reg .u32 %res) add3(.reg .u32 %a, .reg .u64 %b, .reg .pred %unused2) ;
.func (.reg .u32 %res) sum(.reg .u32 %a, .reg .u64 %b)
{
	.reg .u32 %t;
	cvt.u32.u64 %t, %b;
	add.u32 %res, %a, %t;
	ret;
}
`+threadOut(`
	mov.u64 %rd1, 500;
	call (%d), sum, (%r0, %rd1);
	call (%r1), sum, (7, %rd1);
	add.u32 %d, %d, %r1;`))
	for i, v := range got {
		if v != uint32(i+500+507) {
			t.Errorf("thread %d: %d", i, v)
		}
	}
}

func TestRecursionWithDifferentDepths(t *testing.T) {
	got := runText(t, 64, `
.func (.param .b32 ret) fib(.param .b32 x)
{
	.reg .b32 %r<8>; .reg .pred %p;
	ld.param.b32 %r1, [x];
	setp.lt.u32 %p, %r1, 2;
	@%p bra BASE;
	sub.u32 %r2, %r1, 1;
	`+callOf("fib", "%r3", "%r2")+`
	sub.u32 %r4, %r1, 2;
	`+callOf("fib", "%r5", "%r4")+`
	add.u32 %r6, %r3, %r5;
	st.param.b32 [ret], %r6;
	ret;
BASE:
	st.param.b32 [ret], %r1;
	ret;
}
`+threadOut(`
	rem.u32 %r1, %r0, 13;
	`+callOf("fib", "%d", "%r1")))
	fib := []uint32{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}
	for i, v := range got {
		if v != fib[i%13] {
			t.Errorf("thread %d: %d, want %d", i, v, fib[i%13])
		}
	}
}

func TestEndlessRecursionOverflowsTheStack(t *testing.T) {
	m := load(t, `
.func f(.param .b32 x)
{
	.reg .b32 %r<3>;
	.local .b8 room[1000];
	ld.param.b32 %r1, [x];
	{ .param .b32 p; st.param.b32 [p], %r1; call.uni f, (p); }
	st.local.u32 [room], %r1;
	ret;
}
.visible .entry k() { { .param .b32 p; st.param.b32 [p], 1; call.uni f, (p); } ret; }`)
	f := faultOf(t, m.launch("k", 32))
	if f.Kind != vm.FaultStack || f.Result() != 719 {
		t.Errorf("fault is %v", f)
	}
}

func TestIndirectCalls(t *testing.T) {
	m := load(t, square+`
.func (.param .b32 ret) twice(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	shl.b32 %r2, %r1, 1;
	st.param.b32 [ret], %r2;
	ret;
}
.global .align 8 .u64 table[2] = {square, twice};
`+threadOut(`
	and.b32 %r1, %r0, 1;
	mul.wide.u32 %rd1, %r1, 8;
	mov.u64 %rd2, table;
	add.u64 %rd2, %rd2, %rd1;
	ld.global.u64 %rd3, [%rd2];
	{
	.param .b32 p0; st.param.b32 [p0], %r0;
	.param .b32 r0;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
	call (r0), %rd3, (p0), proto;
	ld.param.b32 %d, [r0];
	}
	mov.u64 %rd4, twice;
	{
	.param .b32 p0; st.param.b32 [p0], %d;
	.param .b32 r0;
targets: .calltargets square, twice;
	call (r0), %rd4, (p0), targets;
	ld.param.b32 %d, [r0];
	}
	activemask.b32 %r2;
	popc.b32 %r2, %r2;
	mad.lo.u32 %d, %r2, 10000, %d;`))
	out := upload(m, make([]uint32, 32))
	m.mustLaunch("k", 32, out)
	for i, v := range download[uint32](m, out, 32) {
		want := uint32(i * i * 2)
		if i%2 == 1 {
			want = uint32(i * 4)
		}
		if v != want+320000 {
			t.Errorf("thread %d: %d, want %d", i, v, want+320000)
		}
	}
	table, _ := m.mod.Variable("table")
	if err := m.mem.Write(table.Addr, []byte{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
		t.Fatal(err)
	}
	if f := faultOf(t, m.launch("k", 32, out)); f.Kind != vm.FaultInvalidPC || f.Result() != 718 {
		t.Errorf("fault is %v", f)
	}
}

const printing = `
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 fmt[] = {105,61,37,100,32,117,61,37,53,117,32,102,61,37,46,50,102,32,115,61,37,115,32,120,61,37,48,56,108,108,120,32,99,61,37,99,37,37,10,0};
.global .align 1 .b8 str[] = {97,98,99,0};
.visible .entry k(.param .u64 n)
{
	.reg .b32 %r<6>; .reg .b64 %rd<10>; .reg .f64 %g<3>; .reg .pred %p; .reg .b64 %SP, %SPL;
	.local .align 8 .b8 depot[48];
	mov.u64 %SPL, depot;
	cvta.local.u64 %SP, %SPL;
	mov.u32 %r1, %tid.x;
	neg.s32 %r2, %r1;
	st.local.u32 [%SPL], %r2;
	st.local.u32 [%SPL+4], %r1;
	cvt.rn.f64.u32 %g1, %r1;
	mul.f64 %g1, %g1, 0d3FD0000000000000;
	st.local.f64 [%SPL+8], %g1;
	mov.u64 %rd1, str;
	cvta.global.u64 %rd2, %rd1;
	st.local.u64 [%SPL+16], %rd2;
	mov.u64 %rd3, 0xabcdef;
	st.local.u64 [%SPL+24], %rd3;
	mov.u32 %r3, 65;
	st.local.u32 [%SPL+32], %r3;
	mov.u64 %rd4, fmt;
	cvta.global.u64 %rd5, %rd4;
	{ .param .b64 p0; st.param.b64 [p0], %rd5; .param .b64 p1; st.param.b64 [p1], %SP; .param .b32 rv;
	call.uni (rv), vprintf, (p0, p1); ld.param.b32 %r4, [rv]; }
	setp.ne.u32 %p, %r4, 6;
	@%p trap;
	ret;
}
`

func TestPrintf(t *testing.T) {
	m := load(t, printing)
	var out bytes.Buffer
	o := grid(1, 3)
	o.Stdout = &out
	if err := m.launchWith("k", o, uint64(0)); err != nil {
		t.Fatal(err)
	}
	want := "i=0 u=    0 f=0.00 s=abc x=00abcdef c=A%\ni=-1 u=    1 f=0.25 s=abc x=00abcdef c=A%\ni=-2 u=    2 f=0.50 s=abc x=00abcdef c=A%\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestDeviceHeap(t *testing.T) {
	m := load(t, `
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<6>; .reg .b64 %rd<10>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	mov.u64 %rd2, 100;
	{ .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 rv; call.uni (rv), malloc, (p0); ld.param.b64 %rd3, [rv]; }
	st.u32 [%rd3+96], %r1;
	bar.sync 0;
	ld.u32 %r2, [%rd3+96];
	mul.wide.u32 %rd4, %r1, 4;
	add.u64 %rd1, %rd1, %rd4;
	st.global.u32 [%rd1], %r2;
	{ .param .b64 p0; st.param.b64 [p0], %rd3; call.uni free, (p0); }
	ld.u32 %r3, [%rd3];
	ret;
}`)
	heap := vm.NewHeap(m.mem, 0, 1<<20)
	o := grid(1, 32)
	o.Heap = heap
	out := upload(m, make([]uint32, 32))
	f := faultOf(t, m.launchWith("k", o, out))
	if f.Kind != vm.FaultUseAfterFree || !strings.Contains(f.Detail, "freed by free in a kernel") {
		t.Errorf("fault is %v", f)
	}
	for i, v := range download[uint32](m, out, 32) {
		if v != uint32(i) {
			t.Errorf("thread %d: %d", i, v)
		}
	}
	if heap.Malloc(2<<20) != 0 {
		t.Error("malloc beyond the limit")
	}
	p := heap.Malloc(100)
	if !heap.Free(p) || heap.Free(p) {
		t.Error("free does not tell the first from the second")
	}
	if heap.Malloc(1<<19) == 0 {
		t.Error("half of the heap cannot be allocated")
	}
	heap.Release()
	if heap.Malloc(1<<20) == 0 {
		t.Error("a released heap cannot be used in full")
	}
}

// malloc must read all 64 bits of the size. The lower half of the second size alone would fit in
// the heap.
func TestMallocOfMoreThanFourGigabytesFails(t *testing.T) {
	m := load(t, `
.extern .func (.param .b64 r) malloc(.param .b64 n);
`+threadOut(`
	mov.u64 %rd2, 64;
	setp.eq.u32 %p0, %r0, 1;
	@%p0 mov.u64 %rd2, 4294967360;
	{ .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 rv; call.uni (rv), malloc, (p0); ld.param.b64 %rd3, [rv]; }
	setp.ne.u64 %p0, %rd3, 0;
	selp.u32 %d, 1, 0, %p0;`))
	out := upload(m, []uint32{7, 7})
	m.mustLaunch("k", 2, out)
	if got := download[uint32](m, out, 2); got[0] != 1 || got[1] != 0 {
		t.Errorf("allocated 64 bytes: %d, 4 GiB and 64 bytes: %d, want 1 and 0", got[0], got[1])
	}
}

func TestAssertions(t *testing.T) {
	m := load(t, `
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 msg[] = {120,62,48,0};
.global .align 1 .b8 file[] = {97,46,99,117,0};
.visible .entry k()
{
	.reg .b64 %rd<4>; .reg .b32 %r; .reg .pred %p;
	mov.u32 %r, %tid.x;
	setp.ne.u32 %p, %r, 33;
	@%p ret;
	mov.u64 %rd1, msg; cvta.global.u64 %rd1, %rd1;
	mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2;
	{ .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b32 p2; st.param.b32 [p2], 12;
	.param .b64 p3; st.param.b64 [p3], %rd1; .param .b64 p4; st.param.b64 [p4], 1;
	call.uni __assertfail, (p0, p1, p2, p3, p4); }
	ret;
}`)
	var out bytes.Buffer
	o := grid(1, 64)
	o.Stdout = &out
	f := faultOf(t, m.launchWith("k", o))
	if f.Kind != vm.FaultAssert || f.Result() != 710 || f.Thread.X != 33 || !strings.Contains(f.Detail, "a.cu:12: x>0: block: [0,0,0], thread: [33,0,0] Assertion `x>0` failed.") || !strings.Contains(out.String(), "a.cu:12") {
		t.Errorf("fault is %v, printed %q", f, out.String())
	}
}

func TestExternFunctionsInGo(t *testing.T) {
	src, err := ptx.Parse("t", []byte(header+`
.extern .func set(.param .b64 h, .param .b32 v);
.visible .entry k()
{
	.reg .b64 %rd; .reg .b32 %r;
	mov.u32 %r, %tid.x;
	mov.u64 %rd, 77;
	{ .param .b64 p0; st.param.b64 [p0], %rd; .param .b32 p1; st.param.b32 [p1], %r; call.uni set, (p0, p1); }
	ret;
}`))
	if err != nil {
		t.Fatal(err)
	}
	mem := vm.NewMemory()
	if _, err := vm.Compile(vm.CompileOptions{Memory: mem}, src); err == nil || !strings.Contains(err.Error(), "function set is not defined") {
		t.Errorf("without the function: %v", err)
	}
	sum, user := uint32(0), any(nil)
	mod, err := vm.Compile(vm.CompileOptions{Memory: mem, Externs: map[string]vm.Extern{"set": func(c *vm.ExternCall) {
		if binary.LittleEndian.Uint64(c.Args) != 77 {
			t.Errorf("first argument is %x", c.Args)
		}
		sum += binary.LittleEndian.Uint32(c.Args[8:])
		user = c.Options.User
	}}}, src)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, mem: mem, mod: mod}
	o := grid(1, 10)
	o.User = "mine"
	if err := m.launchWith("k", o); err != nil {
		t.Fatal(err)
	}
	if sum != 45 || user != "mine" {
		t.Errorf("sum %d, user %v", sum, user)
	}
}

func TestLinkingOfSeveralSources(t *testing.T) {
	parse := func(name, text string) *ptx.Module {
		m, err := ptx.Parse(name, []byte(header+text))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a := parse("a", `.extern .func (.param .b32 r) f(.param .b32 x);
.extern .global .u32 g;
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd; .reg .b32 %r<3>;
	ld.param.u64 %rd, [out];
	ld.global.u32 %r1, [g];
	`+callOf("f", "%r2", "%r1")+`
	st.global.u32 [%rd], %r2;
	ret;
}`)
	b := parse("b", `.visible .global .u32 g = 20;
.visible .func (.param .b32 r) f(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	add.u32 %r2, %r1, 1;
	st.param.b32 [r], %r2;
	ret;
}`)
	mem := vm.NewMemory()
	mod, err := vm.Compile(vm.CompileOptions{Memory: mem}, a, b)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, mem: mem, mod: mod}
	out := upload(m, []uint32{0})
	m.mustLaunch("k", 1, out)
	if v := download[uint32](m, out, 1)[0]; v != 21 {
		t.Errorf("%d, want 21", v)
	}
	if _, err := vm.Compile(vm.CompileOptions{Memory: vm.NewMemory()}, a); err == nil {
		t.Error("an unresolved symbol was accepted")
	}
}

const sumOf = `
.func (.param .b32 ret) NAME(.param .b32 n, .param .align 8 .b8 v[])
{
	.reg .b32 %n, %s, %x; .reg .b64 %a; .reg .pred %p; .local .align 8 .b8 room[32];
	st.local.u32 [room], 99; st.local.u32 [room+28], 99;
	ld.param.b32 %n, [n]; mov.u32 %s, 0; mov.b64 %a, v;
NEXT:
	setp.eq.u32 %p, %n, 0; @%p bra DONE;
	ld.param.u32 %x, [%a]; add.u32 %s, %s, %x; add.u64 %a, %a, 4; sub.u32 %n, %n, 1;
	bra NEXT;
DONE:
	st.param.b32 [ret], %s;
	ret;
}
`

const fill3 = `.param .align 8 .b8 three[12]; add.u32 %r1, %r0, 10; st.param.b32 [three], %r1; add.u32 %r1, %r0, 20; st.param.b32 [three+4], %r1; add.u32 %r1, %r0, 30; st.param.b32 [three+8], %r1;
`
const fill20 = `.param .align 16 .b8 twenty[80]; st.param.v4.b32 [twenty], {1,2,3,4}; st.param.v4.b32 [twenty+16], {5,6,7,8}; st.param.v4.b32 [twenty+32], {9,10,11,12};
	st.param.v4.b32 [twenty+48], {13,14,15,16}; st.param.v4.b32 [twenty+64], {17,18,19,%r0};
`

func TestVariadicFunctions(t *testing.T) {
	text := func(s, name string) string { return strings.ReplaceAll(s, "NAME", name) }
	got := runText(t, 40, text(sumOf, "sum")+text(sumOf, "sum2")+`
.func (.param .b32 ret) passes(.param .b32 x)
{ // a frame in between, with variables of its own
	.reg .b32 %r<4>; .local .align 8 .b8 own[16];
	ld.param.b32 %r0, [x]; st.local.u32 [own], %r0; st.local.u32 [own+12], %r0;
	{ `+fill20+` .param .b32 n; st.param.b32 [n], 20; .param .b32 s; call (s), sum, (n, twenty); ld.param.b32 %r1, [s]; }
	ld.local.u32 %r2, [own]; ld.local.u32 %r3, [own+12]; sub.u32 %r2, %r2, %r3; add.u32 %r1, %r1, %r2;
	st.param.b32 [ret], %r1;
	ret;
}
`+threadOut(`
	mov.u32 %d, 0;
	{ `+fill3+` .param .b32 n; st.param.b32 [n], 3; .param .b32 s; call (s), sum, (n, three); ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2; }
	{ `+fill20+` .param .b32 s; call (s), sum, (20, twenty); ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2; }
	call (%r2), sum, (0); add.u32 %d, %d, %r2;
	`+callOf("passes", "%r2", "%r0")+` add.u32 %d, %d, %r2;
	{
	.reg .b64 %fp, %gp; .reg .pred %q; `+fill3+` .param .b32 n; st.param.b32 [n], 2; .param .b32 s;
	mov.u64 %fp, sum; mov.u64 %gp, sum2; and.b32 %r1, %r0, 1; setp.ne.u32 %q, %r1, 0; selp.b64 %fp, %gp, %fp, %q;
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]);
	call (s), %fp, (n, three), proto;
	ld.param.b32 %r2, [s]; add.u32 %d, %d, %r2;
	}`))
	for i, v := range got {
		lane := uint32(i)
		if want := 3*lane + 60 + 190 + lane + 190 + lane + 2*lane + 30; v != want {
			t.Errorf("lane %d: %d, want %d", i, v, want)
		}
	}
}

func TestArgumentsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct{ function, call string }{
		{".func f(.reg .b32 a)", "call f, (%h1);"},
		{".func f(.reg .b32 a)", "call f, (%l1);"},
		{".func f(.reg .b64 a)", "call f, (%w1);"},
		{".func f(.param .b32 a)", "call f, (%l1);"},
		{".func f(.reg .b64 a)", "call f, (%vh1);"},
		{".func f(.reg .v4 .b32 a)", "call f, (%vw1);"},
		{".func f(.reg .b8 a)", "call f, (%p1);"},
		{".func f(.reg .pred a)", "call f, (%w1);"},
		{".func f(.reg .pred a)", "call f, (1);"},
		{".func f(.reg .pred a)", "call f, (!%p1);"},
		{".func f(.reg .b32 a)", "call f, (%vw1.x);"},
		{".func f(.reg .b32 a)", "call f, (%tid.x);"},
		{".func f(.reg .b32 a)", "call f, (%w1+1);"},
		{".func f(.reg .v2 .b32 a)", "call f, ({%w1,%w2});"},
		{".func f(.param .align 8 .b8 a[8])", "call f, (%l1);"},
		{".func f(.param .align 8 .b8 a[])", "call f, (%l1);"},
		{".func f(.reg .b32 a)", "call f, ();"},
		{".func f(.reg .b32 a, .param .b8 v[])", "call f, ();"},
		{".func f(.reg .b32 a)", "call f, (%w1, %w2);"},
		{".func (.reg .b32 r) f()", "call (%vw1), f;"},
		{".func (.reg .b64 r) f()", "call (%w1), f;"},
		{".func (.reg .b32 r) f()", "call (5), f;"},
		{".func (.reg .pred r) f()", "call (%w1), f;"},
	} {
		_, err := tryLoad(t, c.function+" { ret; }\n"+`.visible .entry k()
{
	.reg .b64 %l<3>; .reg .b32 %w<3>; .reg .b16 %h<3>; .reg .pred %p<3>; .reg .v2 .b32 %vw<3>; .reg .v2 .b16 %vh<3>;
	`+c.call+`
	ret;
}`)
		if e := (vm.CompileErrors{}); !asCompileErrors(err, &e) || e[0].Kind != vm.CompileInvalid || e[0].Line != 8 {
			t.Errorf("%s, %s: %v", c.function, c.call, err)
		}
	}
}
