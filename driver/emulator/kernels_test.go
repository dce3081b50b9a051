package emulator_test

// testPTX has kernels of one shape, (p *u32, a u32, b u32).
const testPTX = `
.version 7.0
.target sm_70
.address_size 64

.global .align 4 .u32 counter = 7;
.const .align 4 .u32 limit = 9;

// p[a] = b
.visible .entry store(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r2;
	ret;
}

// p[a] += b
.visible .entry add(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.u32 %r4, %r3, %r2;
	st.global.u32 [%rd3], %r4;
	ret;
}

// p[a] = 2 * p[a] + b: its order with others shows
.visible .entry shift(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [a];
	ld.param.u32 %r2, [b];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r3, [%rd3];
	add.u32 %r4, %r3, %r3;
	add.u32 %r4, %r4, %r2;
	st.global.u32 [%rd3], %r4;
	ret;
}

.visible .entry broken(.param .u64 p, .param .u32 a, .param .u32 b)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	mov.u64 %rd1, 64;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}

.visible .entry trapped(.param .u64 p, .param .u32 a, .param .u32 b)
{
	trap;
	ret;
}

.visible .entry bounded(.param .u64 p, .param .u32 a, .param .u32 b)
.maxntid 64, 1, 1
{
	ret;
}

.visible .entry required(.param .u64 p, .param .u32 a, .param .u32 b)
.reqntid 64, 1, 1
{
	ret;
}

.visible .entry nothing()
{
	ret;
}
`
