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

// The kernels of testdata/cuda/kernels.cu as compiled by NVRTC 11.8: optimised.ptx for sm_80,
// debug.ptx with -G and without debug sections, fastmath.ptx for sm_90 with -lineinfo
// --use_fast_math.
var cudaBuilds = []string{"optimised", "debug", "fastmath"}

// eachBuild runs a test on each build of the kernels.
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
		for range 3 { // the ticket returns to 0 each time
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
		const words = 8 // float4, float3 and the padding to 16 bytes
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

// bytePerm implements __byte_perm.
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
	text, err := os.ReadFile("testdata/cuda/fastmath.ptx") // compiled with -lineinfo
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, string(text))
	f := faultOf(t, m.launch("bitonic", 512, uint64(0x1000), int32(512)))
	if f.Kind != vm.FaultIllegal || f.Source != "kernels.cu:77" {
		t.Errorf("fault is %v", f)
	}
}
