package gen

import (
	"strings"
	"testing"
)

func TestSourceGivesNamesAndTypes(t *testing.T) {
	files, err := generate(t, Options{}, "a.ptx", head+entry("", "k", `.param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2,
		.param .u32 k_param_3, .param .align 16 .b8 k_param_4[16], .param .u64 k_param_5, .param .align 2 .b8 k_param_6[2], .param .u8 k_param_7`),
		"common.cuh", "typedef unsigned long long int u64;\nusing real = float;\n",
		"a.cu", `
#include <cuda_fp16.h>
#include "common.cuh"
#define GRID(x) ((x) * 2)
/* not this one */
extern "C" __global__ void k(const real *, float *, int, int, float4, u64, half, bool);
// K does it,
// slowly.
// ptx2go: in table
extern "C" __global__ __launch_bounds__(256, 2) void k(
	const real *__restrict__ xs /* the input */, float **rows, void const *table, // all of it
	const int count, float4 at, u64 seed, half scale, bool last)
{ other("a string with { in it"); }
`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, files["a_ptx.go"], "// K does it,\n// slowly.\n", "xs driver.MemoryOf[float32], rows driver.MemoryOf[driver.CUdeviceptr], table driver.Memory, count int32, at [4]float32, seed uint64, scale num.F16, last bool)",
		"driver.In(xs), rows, driver.In(table), count")
}

func TestEightBitFloatsAreTheLibrarysTypes(t *testing.T) {
	files, err := generate(t, Options{}, "a.ptx", head+entry("", "k", `.param .u64 k_param_0, .param .align 1 .b8 k_param_1[1],
		.param .u8 k_param_2, .param .align 1 .b8 k_param_3[2]`), "a.cu", `
struct Pair { __nv_fp8_e5m2 a, b; };
// ptx2go: c num.E4M3
extern "C" __global__ void k(const __nv_fp8_e4m3 *x, __nv_fp8_e5m2 y, unsigned char c, Pair p);
`)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, files["a_ptx.go"], "x driver.MemoryOf[num.E4M3], y num.E5M2, c num.E4M3, p Pair)", "\tA num.E5M2\n\tB num.E5M2\n",
		`"github.com/purecuda/cuda/ptx/num"`)
}

func TestStructsHaveTheLayoutOfC(t *testing.T) {
	c := parseC("a.cu", `
#define N 3
constexpr int M = 2;
struct Inner { char c; short s[M]; };
typedef struct { float *p; Inner in[N]; double d, e; } Outer;
struct alignas(32) Wide { float4 v; unsigned char tail; };
struct Other { union { int i; float f; }; };
struct Methods { int n; __device__ int get() const { return n; } };
struct Later;
`, exported)
	for name, want := range map[string]ctype{"Inner": {"Inner", 6, 2}, "Outer": {"Outer", 48, 8}, "Wide": {"Wide", 32, 32}} {
		if got := c.types[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := strings.Join(strings.Fields(c.structs["Outer"].body), " "); got != "P driver.CUdeviceptr In [3]Inner _ [6]byte D float64 E float64" {
		t.Errorf("the fields of Outer are %s", got)
	}
	for _, name := range []string{"Other", "Methods", "Later"} {
		if _, ok := c.types[name]; ok {
			t.Errorf("%s was understood", name)
		}
	}
}

func TestASourceThatIsNotTheOneOfThePTXIsRefused(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"__global__ void k(double a);", "a.cu:1: parameter a: a double has 8 bytes as declared here, but the PTX has .u32 of 4"},
		{"\n__global__ void k(int *a);", "a.cu:2: parameter a is a pointer here, but .u32 in the PTX"},
	} {
		_, err := generate(t, Options{}, "a.ptx", head+entry("", "k", ".param .u32 k_param_0"), "a.cu", c.source)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v does not say %q", err, c.want)
		}
	}
}

func TestIntegerTypesAreRecognisedInAnyOrder(t *testing.T) {
	c := &csource{types: map[string]ctype{}}
	for name, want := range map[string]string{
		"unsigned": "uint32", "signed": "int32", "long long unsigned int": "uint64", "unsigned long long": "uint64", "short int": "int16",
		"int long": "int64", "long long": "int64", "signed char": "int8", "unsigned char": "uint8", "signed long long int": "int64",
		"unsigned short int": "uint16", "std : : uint8_t": "uint8", "Thing": "", "double2": "[2]float64", "uchar4": "[4]uint8",
	} {
		got, _ := c.lookup(name)
		if got.text != want {
			t.Errorf("%s is %q, want %q", name, got.text, want)
		}
	}
}

func TestMangledNamesAreReadable(t *testing.T) {
	for name, want := range map[string]string{
		"axpy": "axpy", "_Z4axpyPKfPfj": "axpy", "_ZN3ops3addEPf": "ops::add", "_Z4fillIfEvPT_j": "fill_float32",
		"_ZN2ns4scanIjLi128EEEvPT_": "ns::scan_uint32_128", "_ZN12_GLOBAL__N_14hideEv": "hide", "_Z": "_Z", "_Z99x": "_Z99x",
		"_ZN": "_ZN", "_Z3fooIX": "_Z3fooIX", "_ZL5localPi": "local",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func FuzzSources(f *testing.F) {
	f.Add("struct A { int a[4]; float3 b, c; };\n__global__ void k(const A *a, A b);", "_Z1kPK1AS_")
	f.Add("/* c */ template <class T> __global__ void __launch_bounds__(2) k(T t) {}", "_ZN1a1kIfLi3EEEvT_")
	f.Add("#define A 3\\\n\n\"x", "_ZN")
	f.Fuzz(func(t *testing.T, text, name string) {
		c := parseC("a.cu", text, exported)
		c.find(name, 1)
		plainName(name)
	})
}
