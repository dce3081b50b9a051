package graphtest

import "github.com/purecuda/cuda/driver"

// Kernels is the PTX of the tests' kernels: p[i] = p[i] + v, p[i] = p[i] * v and d[i] = a[i] +
// b[i]. The results of the first two depend on their order.
const Kernels = `
.version 7.0
.target sm_52
.address_size 64

.visible .entry plus(.param .u64 p, .param .u32 n, .param .u32 v)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [v];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r3, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r4, [%rd3];
	add.u32 %r5, %r4, %r2;
	st.global.u32 [%rd3], %r5;
DONE:
	ret;
}

.visible .entry times(.param .u64 p, .param .u32 n, .param .u32 v)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [v];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r3, 4;
	add.u64 %rd3, %rd1, %rd2;
	ld.global.u32 %r4, [%rd3];
	mul.lo.u32 %r5, %r4, %r2;
	st.global.u32 [%rd3], %r5;
DONE:
	ret;
}

.visible .entry sum(.param .u64 d, .param .u64 a, .param .u64 b, .param .u32 n)
{
	.reg .pred %q;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [d];
	ld.param.u64 %rd2, [a];
	ld.param.u64 %rd3, [b];
	ld.param.u32 %r1, [n];
	mov.u32 %r3, %tid.x;
	setp.ge.u32 %q, %r3, %r1;
	@%q bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	cvta.to.global.u64 %rd3, %rd3;
	mul.wide.u32 %rd4, %r3, 4;
	add.u64 %rd1, %rd1, %rd4;
	add.u64 %rd2, %rd2, %rd4;
	add.u64 %rd3, %rd3, %rd4;
	ld.global.u32 %r4, [%rd2];
	ld.global.u32 %r5, [%rd3];
	add.u32 %r4, %r4, %r5;
	st.global.u32 [%rd1], %r4;
DONE:
	ret;
}
`

// Elems is the number of elements in a Kit's buffers.
const Elems = 32

// Config configures launches on Elems elements.
var Config = driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(Elems)}
