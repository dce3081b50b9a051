package vm_test

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// cudaBuilds names the builds of testdata/cuda/kernels.cu with NVRTC 11.8: optimised.ptx for sm_80,
// debug.ptx with -G and without debug sections, and fastmath.ptx for sm_90 with -lineinfo
// --use_fast_math.
var cudaBuilds = []string{"optimised", "debug", "fastmath"}

func eachBuild(t *testing.T, f func(t *testing.T, m *machine)) {
	for _, name := range cudaBuilds {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "cuda", name+".ptx"))
			if err != nil {
				t.Fatal(err)
			}
			m := load(t, string(text))
			m.build = name
			f(t, m)
		})
	}
}

func (m *machine) mustLaunchWith(name string, o vm.LaunchOptions, args ...any) {
	m.t.Helper()
	if err := m.launchWith(name, o, args...); err != nil {
		m.t.Fatal(err)
	}
}

func randomInts(n, limit int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 2))
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(r.IntN(limit))
	}
	return v
}

func TestCUDAReductions(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 5000
		x := randomInts(n, 1000, 1)
		f := make([]float32, n)
		sum := int32(0)
		for i, v := range x {
			f[i] = float32(v)
			sum += v
		}
		out := upload(m, []float32{0})
		m.mustLaunchWith("reduce", grid(5, 256), upload(m, f), out, int32(n))
		if got := download[float32](m, out, 1)[0]; got != float32(sum) {
			t.Errorf("reduce: %v, want %v", got, sum)
		}
		last := upload(m, []int32{0})
		for range 3 { // the kernel resets its ticket to 0
			m.mustLaunchWith("lastblock", grid(7, 256), upload(m, x), upload(m, make([]int32, 7)), last, int32(n))
			if got := download[int32](m, last, 1)[0]; got != sum {
				t.Errorf("lastblock: %v, want %v", got, sum)
			}
		}
	})
}

func TestCUDAScanAndSort(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 200
		x := randomInts(n, 1000, 2)
		out := upload(m, make([]int32, n))
		o := grid(1, n)
		o.DynamicShared = 2 * n * 4
		m.mustLaunchWith("scan", o, upload(m, x), out, int32(n))
		sum := int32(0)
		for i, got := range download[int32](m, out, n) {
			if sum += x[i]; got != sum {
				t.Fatalf("scan[%d] = %d, want %d", i, got, sum)
			}
		}
		r := rand.New(rand.NewPCG(3, 3))
		v := make([]uint32, 3*512)
		for i := range v {
			v[i] = r.Uint32()
		}
		p := upload(m, v)
		m.mustLaunchWith("bitonic", grid(3, 512), p, int32(512))
		got := download[uint32](m, p, len(v))
		for b := range 3 {
			want := v[b*512 : (b+1)*512]
			slices.Sort(want)
			if !slices.Equal(got[b*512:(b+1)*512], want) {
				t.Errorf("block %d is not sorted", b)
			}
		}
	})
}

func TestCUDAHistogramAndSearch(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 10000
		x := make([]uint8, n)
		want := make([]uint32, 256)
		r := rand.New(rand.NewPCG(4, 4))
		for i := range x {
			x[i] = uint8(r.IntN(200) & r.IntN(256))
			want[x[i]]++
		}
		h := upload(m, make([]uint32, 256))
		m.mustLaunchWith("histogram", grid(6, 192), upload(m, x), h, int32(n))
		if got := download[uint32](m, h, 256); !slices.Equal(got, want) {
			t.Errorf("histogram is %v, want %v", got, want)
		}
		pattern := slices.Clone(x[7001:7009])
		found := upload(m, []int32{math.MaxInt32})
		m.mustLaunchWith("search", grid(n/128+1, 128), upload(m, x), int32(n), upload(m, pattern), int32(8), found)
		if got := download[int32](m, found, 1)[0]; int(got) != bytes.Index(x, pattern) {
			t.Errorf("found at %d, want %d", got, bytes.Index(x, pattern))
		}
	})
}

func TestCUDAMatmul(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 50
		a, b := random32(n*n, 5), random32(n*n, 6)
		c := upload(m, make([]float32, n*n))
		o := vm.LaunchOptions{Grid: vm.Dim3{X: 4, Y: 4, Z: 1}, Block: vm.Dim3{X: 16, Y: 16, Z: 1}}
		m.mustLaunchWith("matmul", o, upload(m, a), upload(m, b), c, int32(n))
		for i, got := range download[float32](m, c, n*n) {
			sum := 0.0
			for k := range n {
				sum += float64(a[i/n*n+k]) * float64(b[k*n+i%n])
			}
			if math.Abs(float64(got)-sum) > 1e-4 {
				t.Fatalf("c[%d] = %v, want %v", i, got, sum)
			}
		}
	})
}

func TestCUDANBody(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 100
		const words = 8 // the words in a float4, a float3 and padding to 16 bytes
		b := random32(n*words, 7)
		p := upload(m, b)
		m.mustLaunchWith("nbody", grid(2, 64), p, float32(0.01), int32(n))
		got := download[float32](m, p, n*words)
		for i := range n {
			var acc [3]float64
			for j := range n {
				var d [3]float64
				r2 := 1e-3
				for k := range 3 {
					d[k] = float64(b[j*words+k]) - float64(b[i*words+k])
					r2 += d[k] * d[k]
				}
				f := float64(b[j*words+3]) / (r2 * math.Sqrt(r2))
				for k := range 3 {
					acc[k] += f * d[k]
				}
			}
			for k := range 3 {
				want := float64(b[i*words+4+k]) + 0.01*acc[k]
				if math.Abs(float64(got[i*words+4+k])-want) > 1e-3*(1+math.Abs(want)) {
					t.Fatalf("body %d: v[%d] = %v, want %v", i, k, got[i*words+4+k], want)
				}
			}
		}
	})
}

func TestCUDARecursionAndFunctionPointers(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		out := upload(m, make([]int32, 32))
		m.mustLaunchWith("ackermann", grid(1, 32), out)
		for i, got := range download[int32](m, out, 32) {
			n := int32(i / 4)
			want := []int32{n + 1, n + 2, 2*n + 3}[i%3]
			if got != want {
				t.Errorf("ackermann(%d, %d) = %d, want %d", i%3, n, got, want)
			}
		}
		x := []float32{1, 4, 9, 16, 25, 36, 49, 64, 81}
		y := upload(m, make([]float32, len(x)))
		m.mustLaunchWith("pointers", grid(1, 32), upload(m, x), y, int32(len(x)))
		for i, got := range download[float32](m, y, len(x)) {
			want := []float32{x[i] + 1, x[i] * x[i], float32(math.Sqrt(float64(x[i])))}[i%3]
			if math.Abs(float64(got-want)) > 1e-5*float64(want) {
				t.Errorf("pointer %d of %v is %v, want %v", i%3, x[i], got, want)
			}
		}
	})
}

func TestCUDAMathFunctions(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		const n = 500
		x := random32(n, 8)
		z := make([]float64, n)
		for i := range z {
			x[i] *= 3
			z[i] = float64(x[i]) * 1.7
		}
		y, w := upload(m, make([]float32, n)), upload(m, make([]float64, n))
		m.mustLaunchWith("mathfun", grid(4, 128), upload(m, x), y, upload(m, z), w, int32(n))
		gotY, gotW := download[float32](m, y, n), download[float64](m, w, n)
		tolerance := 1e-5
		if m.build == "fastmath" {
			tolerance = 1e-4
		}
		for i := range n {
			v := float64(x[i])
			want := math.Sin(v) + math.Exp(-v*v) + math.Log(math.Abs(v)+1) + math.Pow(math.Abs(v), float64(float32(1.3))) + math.Atan2(v, 2) + math.Erf(v) + math.Cbrt(v) + math.Mod(v, float64(float32(0.7)))
			if math.Abs(float64(gotY[i])-want) > tolerance*(1+math.Abs(want)) {
				t.Errorf("float of %v is %v, want %v", v, gotY[i], want)
			}
			d := z[i]
			want = math.Sin(d) + math.Exp(-d*d) + math.Log(math.Abs(d)+1) + math.Pow(math.Abs(d), 1.3) + math.Atan2(d, 2) + math.Erf(d) + math.Gamma(math.Abs(d)+1) + 1/math.Sqrt(math.Abs(d)+1) + d/3
			if math.Abs(gotW[i]-want) > 1e-13*(1+math.Abs(want)) {
				t.Errorf("double of %v is %v, want %v", d, gotW[i], want)
			}
		}
	})
}

func TestCUDAHashing(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		x := edges32(9)
		y := upload(m, make([]uint64, len(x)))
		m.mustLaunchWith("hash", grid(2, 32), upload(m, x), y, int32(len(x)))
		for i, got := range download[uint64](m, y, len(x)) {
			h := uint64(1469598103934665603)
			for k := range 4 {
				h = (h ^ uint64(x[i]>>(8*k)&255)) * 1099511628211
			}
			h ^= h >> 33
			hi, _ := bits.Mul64(h, h*7)
			h = bits.Reverse64(h) + uint64(bits.OnesCount64(h)) + uint64(bits.LeadingZeros64(h|1)) + h%1000003 + hi
			lo := uint32(h)
			h += uint64(bytePerm(x[i], lo, 0x3715) + (lo<<7 | x[i]>>25))
			check(t, "hash", i, got, h, x[i])
		}
	})
}

func bytePerm(a, b, s uint32) uint32 {
	all := uint64(b)<<32 | uint64(a)
	r := uint32(0)
	for k := range 4 {
		r |= uint32(all>>(8*(s>>(4*k)&7))&0xff) << (8 * k)
	}
	return r
}

func TestCUDASwitchesAndLocalArrays(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		x := append(randomInts(200, 1<<30, 10), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -1, -5, -16, -1<<31)
		y := upload(m, make([]int32, len(x)))
		m.mustLaunchWith("switches", grid(4, 64), upload(m, x), y, int32(len(x)))
		for i, got := range download[int32](m, y, len(x)) {
			v := x[i]
			r := []int32{v * 3, v + 7, v - 9, v ^ 0x55, ^v, v << 3, v >> 2, v % 13, v / 7, -v, 0, 0, 0, 0, 0, 0}[v&15]
			if v&15 > 9 {
				r = v & 0xff
			}
			var buf [8]int32
			for k := range int32(8) {
				buf[(k*3+v)&7] = r + k
			}
			check(t, "switches", i, got, buf[v&7]*10+buf[r&7], v)
		}
	})
}

func TestCUDAPrintf(t *testing.T) {
	eachBuild(t, func(t *testing.T, m *machine) {
		var out bytes.Buffer
		o := grid(1, 32)
		o.Stdout = &out
		m.mustLaunchWith("prints", o, int32(5))
		want := ""
		for i := range 5 {
			want += fmt.Sprintf("thread %d of %s: %5.2f %d\n", i, "block", float64(i)*0.5, uint64(1)<<(i*5))
		}
		if out.String() != want {
			t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
		}
	})
}

func TestFaultsNameTheSourceLine(t *testing.T) {
	text, err := os.ReadFile("testdata/cuda/fastmath.ptx") // this build has line information
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, string(text))
	f := faultOf(t, m.launch("bitonic", 512, uint64(0x1000), int32(512)))
	if f.Kind != vm.FaultIllegal || f.Source != "kernels.cu:77" {
		t.Errorf("fault is %v", f)
	}
}

const vectorAdd = `
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .pred %p1;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<11>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r1, %r3, %r4, %r5;
	setp.ge.s32 %p1, %r1, %r2;
	@%p1 bra $L__BB0_2;
	cvta.to.global.u64 %rd4, %rd1;
	mul.wide.s32 %rd5, %r1, 4;
	add.s64 %rd6, %rd4, %rd5;
	cvta.to.global.u64 %rd7, %rd2;
	add.s64 %rd8, %rd7, %rd5;
	ld.global.f32 %f1, [%rd8];
	ld.global.f32 %f2, [%rd6];
	add.f32 %f3, %f2, %f1;
	cvta.to.global.u64 %rd9, %rd3;
	add.s64 %rd10, %rd9, %rd5;
	st.global.f32 [%rd10], %f3;
$L__BB0_2:
	ret;
}
`

func random32(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func TestVectorAddOverAPartialLastBlock(t *testing.T) {
	m := load(t, vectorAdd)
	const n = 1000
	a, b := random32(n, 1), random32(n, 2)
	pa, pb, pc := upload(m, a), upload(m, b), upload(m, make([]float32, n))
	if err := m.launchWith("vadd", grid(8, 128), pa, pb, pc, uint32(n)); err != nil {
		t.Fatal(err)
	}
	for i, c := range download[float32](m, pc, n) {
		if c != a[i]+b[i] {
			t.Fatalf("c[%d] = %v, want %v", i, c, a[i]+b[i])
		}
	}
}

// rmsNorm normalises one row per block. It uses shuffles within warps and shared memory between
// warps.
const rmsNorm = `
.visible .entry rms(.param .u64 x, .param .u64 y, .param .u32 n, .param .f32 eps)
{
	.reg .pred %p<5>;
	.reg .f32 %f<16>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<10>;
	.shared .align 4 .b8 part[128];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	ld.param.f32 %f1, [eps];
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %ctaid.x;
	mul.lo.u32 %r5, %r4, %r1;
	mul.wide.u32 %rd3, %r5, 4;
	add.u64 %rd1, %rd1, %rd3;
	add.u64 %rd2, %rd2, %rd3;
	mov.f32 %f2, 0f00000000;
	mov.u32 %r6, %r2;
SUM:
	setp.ge.u32 %p1, %r6, %r1;
	@%p1 bra SUMMED;
	mul.wide.u32 %rd4, %r6, 4;
	add.u64 %rd5, %rd1, %rd4;
	ld.global.f32 %f3, [%rd5];
	fma.rn.f32 %f2, %f3, %f3, %f2;
	add.u32 %r6, %r6, %r3;
	bra SUM;
SUMMED:
	mov.u32 %r7, 16;
SHUF:
	mov.b32 %r8, %f2;
	shfl.sync.bfly.b32 %r9, %r8, %r7, 31, -1;
	mov.b32 %f4, %r9;
	add.f32 %f2, %f2, %f4;
	shr.u32 %r7, %r7, 1;
	setp.ne.u32 %p2, %r7, 0;
	@%p2 bra SHUF;
	and.b32 %r10, %r2, 31;
	shr.u32 %r11, %r2, 5;
	mov.u32 %r12, part;
	shl.b32 %r13, %r11, 2;
	add.u32 %r13, %r13, %r12;
	setp.eq.u32 %p3, %r10, 0;
	@%p3 st.shared.f32 [%r13], %f2;
	bar.sync 0;
	mov.f32 %f5, 0f00000000;
	shr.u32 %r14, %r3, 5;
	mov.u32 %r7, 0;
ALL:
	ld.shared.f32 %f6, [%r12];
	add.f32 %f5, %f5, %f6;
	add.u32 %r12, %r12, 4;
	add.u32 %r7, %r7, 1;
	setp.lt.u32 %p4, %r7, %r14;
	@%p4 bra ALL;
	cvt.rn.f32.u32 %f7, %r1;
	div.rn.f32 %f8, %f5, %f7;
	add.f32 %f9, %f8, %f1;
	rsqrt.approx.f32 %f10, %f9;
	mov.u32 %r6, %r2;
OUT:
	setp.ge.u32 %p1, %r6, %r1;
	@%p1 ret;
	mul.wide.u32 %rd4, %r6, 4;
	add.u64 %rd5, %rd1, %rd4;
	add.u64 %rd6, %rd2, %rd4;
	ld.global.nc.f32 %f3, [%rd5];
	mul.f32 %f11, %f3, %f10;
	st.global.f32 [%rd6], %f11;
	add.u32 %r6, %r6, %r3;
	bra OUT;
}
`

func TestNormOfRowsWithShufflesAndSharedMemory(t *testing.T) {
	m := load(t, rmsNorm)
	const rows, n, threads = 5, 300, 128
	x := random32(rows*n, 3)
	px, py := upload(m, x), upload(m, make([]float32, rows*n))
	if err := m.launchWith("rms", grid(rows, threads), px, py, uint32(n), float32(1e-6)); err != nil {
		t.Fatal(err)
	}
	y := download[float32](m, py, rows*n)
	for r := range rows {
		sum := 0.0
		for _, v := range x[r*n : (r+1)*n] {
			sum += float64(v) * float64(v)
		}
		scale := 1 / math.Sqrt(sum/n+1e-6)
		for i := range n {
			want := float64(x[r*n+i]) * scale
			if got := float64(y[r*n+i]); math.Abs(got-want) > 1e-5*math.Abs(want)+1e-7 {
				t.Fatalf("row %d column %d: %v, want %v", r, i, got, want)
			}
		}
	}
}
