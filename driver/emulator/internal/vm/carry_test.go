package vm_test

import "testing"

// The condition code after a subtraction is 1 if nothing was borrowed, as observed on an H200. A
// chain of subtractions gives the same result either way.
func TestConditionCodeOfASubtractionIsNoBorrow(t *testing.T) {
	m := load(t, `.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .reg .b32 %r<9>;
	ld.param.u64 %rd1, [out];
	mov.u32 %r1, 5;
	mov.u32 %r2, 7;
	sub.cc.u32 %r3, %r1, %r2;
	addc.u32 %r4, 0, 0;
	sub.cc.u32 %r3, %r2, %r1;
	addc.u32 %r5, 0, 0;
	add.cc.u32 %r3, %r1, %r2;
	subc.u32 %r6, %r2, %r1;
	sub.cc.u32 %r3, %r1, %r2;
	subc.u32 %r7, %r2, %r1;
	st.global.v4.u32 [%rd1], {%r4, %r5, %r6, %r7};
	sub.cc.u64 %rd2, 5, 7;
	addc.cc.u64 %rd3, 0, 0;
	st.global.u64 [%rd1+16], %rd3;
	ret;
}`)
	out := upload(m, make([]uint32, 6))
	m.mustLaunch("k", 1, out)
	want := []uint32{0, 1, 1, 1, 0, 0}
	for i, got := range download[uint32](m, out, 6) {
		if got != want[i] {
			t.Errorf("result %d is %d, want %d", i, got, want[i])
		}
	}
}

func TestConstantsAreNotGlobal(t *testing.T) {
	m := load(t, `.const .u32 c = 7;
.visible .entry k(.param .u64 out)
{
	.reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p<3>;
	ld.param.u64 %rd1, [out];
	mov.u64 %rd2, c;
	cvta.const.u64 %rd3, %rd2;
	isspacep.global %p1, %rd3;
	isspacep.global %p2, %rd1;
	selp.u32 %r1, 1, 0, %p1;
	@%p2 add.u32 %r1, %r1, 2;
	st.global.u32 [%rd1], %r1;
	ret;
}`)
	out := upload(m, []uint32{0})
	m.mustLaunch("k", 1, out)
	if v := download[uint32](m, out, 1)[0]; v != 2 {
		t.Errorf("%d, want 2: the buffer is global, the constant is not", v)
	}
}
