package vm_test

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

func TestAllocaIsPerThreadAndEndsWithTheFunction(t *testing.T) {
	m := load(t, `
.func (.param .b32 ret) sum(.param .b32 n)
{
	.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;
	ld.param.u32 %r1, [n];
	mul.wide.u32 %rd1, %r1, 4;
	alloca.u64 %rd2, %rd1, 16;
	mov.u32 %r2, 0;
	mov.u32 %r4, 0;
	setp.eq.u32 %p, %r1, 0;
	@%p bra END;
FILL:
	mul.wide.u32 %rd3, %r2, 4;
	add.u64 %rd3, %rd3, %rd2;
	st.local.u32 [%rd3], %r2;
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p, %r2, %r1;
	@%p bra FILL;
	cvta.local.u64 %rd4, %rd2;
SUM:
	sub.u32 %r2, %r2, 1;
	mul.wide.u32 %rd3, %r2, 4;
	add.u64 %rd3, %rd3, %rd4;
	ld.u32 %r3, [%rd3];
	add.u32 %r4, %r4, %r3;
	setp.ne.u32 %p, %r2, 0;
	@%p bra SUM;
END:
	st.param.b32 [ret], %r4;
	ret;
}
`+threadOut(`
	mov.u32 %r5, 0;
AGAIN: // a thousand calls must not use a thousand times the stack
	`+callOf("sum", "%d", "%r0")+`
	add.u32 %r5, %r5, 1;
	setp.lt.u32 %p0, %r5, 1000;
	@%p0 bra AGAIN;
	stacksave.u64 %rd1;
	alloca.u64 %rd2, 128;
	stackrestore.u64 %rd1;
	alloca.u64 %rd3, 128;
	setp.ne.u64 %p1, %rd2, %rd3;
	@%p1 mov.u32 %d, 7777;`))
	out := upload(m, make([]uint32, 64))
	o := grid(1, 64)
	o.StackLimit = 1 << 20
	if err := m.launchWith("k", o, out); err != nil {
		t.Fatal(err)
	}
	for i, v := range download[uint32](m, out, 64) {
		if want := uint32(i*(i-1)) / 2; v != want {
			t.Errorf("thread %d: %d, want %d", i, v, want)
		}
	}
	big := load(t, `.visible .entry k() { .reg .b64 %rd<3>; mov.u64 %rd1, 600000; alloca.u64 %rd2, %rd1; ret; }`)
	if f := faultOf(t, big.launch("k", 1)); f.Kind != vm.FaultStack {
		t.Errorf("fault is %v", f)
	}
}

func TestAsynchronousCopies(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p;
	.shared .align 16 .b8 buf[1024];
	ld.param.u64 %rd1, [in];
	ld.param.u64 %rd2, [out];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %rd3, %r0, 16;
	add.u64 %rd4, %rd1, %rd3;
	mov.u32 %r1, buf;
	mad.lo.u32 %r1, %r0, 32, %r1;
	cp.async.cg.shared.global.L2::128B [%r1], [%rd4], 16;
	mov.u32 %r2, 3;
	cp.async.ca.shared.global [%r1+16], [%rd4+4], 4, %r2;
	setp.lt.u32 %p, %r0, 16;
	cp.async.ca.shared.global [%r1+24], [%rd4+8], 8, %p;
	cp.async.commit_group;
	cp.async.wait_group 0;
	cp.async.wait_all;
	bar.sync 0;
	ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1];
	ld.shared.u32 %r7, [%r1+16];
	ld.shared.v2.u32 {%r8, %r9}, [%r1+24];
	mul.wide.u32 %rd5, %r0, 32;
	add.u64 %rd2, %rd2, %rd5;
	st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r6};
	st.global.u32 [%rd2+16], %r7;
	st.global.v2.u32 [%rd2+24], {%r8, %r9};
	ret;
}`)
	in := make([]uint32, 4*32)
	for i := range in {
		in[i] = 0x01020304 * uint32(i+1)
	}
	out := upload(m, make([]uint32, 8*32))
	m.mustLaunch("k", 32, upload(m, in), out)
	got := download[uint32](m, out, 8*32)
	for i := range 32 {
		x := in[4*i : 4*i+4]
		want := []uint32{x[0], x[1], x[2], x[3], x[1] & 0xffffff, 0, x[2], x[3]}
		if i < 16 {
			want[6], want[7] = 0, 0
		}
		if !slices.Equal(got[8*i:8*i+8], want) {
			t.Errorf("thread %d: %#x, want %#x", i, got[8*i:8*i+8], want)
		}
	}
}
