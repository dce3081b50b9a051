package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

const (
	longHead    = ".version 8.0\n.target sm_80\n.address_size 64\n"
	emptyKernel = ".visible .entry k()\n{\nret;\n}\n"
)

// peakOf runs f and fails the test if f allocated more than limit bytes of Go's memory in total.
// Memory that was allocated but never accessed counts as well.
func peakOf(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit && !underRace {
		t.Errorf("it allocated %d MiB, %d were expected at most", n>>20, limit>>20)
	}
}

// localKernel returns a kernel that declares n bytes of local memory and stores to one address in
// it.
func localKernel(n uint64) string {
	return fmt.Sprintf(`%s.visible .entry k(.param .u64 p)
{
	.reg .b64 %%d<3>;
	.local .align 8 .b8 l[%d];
	ld.param.u64 %%d1, [p];
	mov.u64 %%d2, l;
	add.u64 %%d2, %%d2, %%d1;
	st.local.u32 [%%d2], 5;
	ret;
}
`, longHead, n)
}

const gib = 1 << 30

// A module that needs more memory than the device has must be rejected with the code that driver
// 580 returns on an H100. The emulator must not allocate that memory.
func TestModulesTakeNoMoreMemoryThanTheDeviceHas(t *testing.T) {
	kernel := func(body string) string {
		return longHead + ".visible .entry k()\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<3>;\n" + body + "\nret;\n}\n"
	}
	for name, test := range map[string]struct {
		text string
		want cu.CUresult
		word string
	}{
		"a global of 1 TiB":               {longHead + ".global .b8 x[1099511627776];\n" + emptyKernel, cu.CUDA_ERROR_OUT_OF_MEMORY, "x"},
		"many globals":                    {longHead + ".global .b8 x<1000>[3000000];\n" + emptyKernel, cu.CUDA_ERROR_OUT_OF_MEMORY, "x"},
		"a static variable of a function": {kernel(".global .b8 x[1099511627776];"), cu.CUDA_ERROR_OUT_OF_MEMORY, "x"},
		"names without end":               {longHead + ".global .b8 x<2000000000>;\n" + emptyKernel, cu.CUDA_ERROR_OUT_OF_MEMORY, "2000000000"},
		"local names without end":         {kernel(".local .b8 x<2000000000>;"), cu.CUDA_ERROR_OUT_OF_MEMORY, "2000000000"},
		"constants of 64 KiB and a byte":  {longHead + ".const .b8 x[65537];\n" + emptyKernel, cu.CUDA_ERROR_INVALID_PTX, "0x10001 bytes, 0x10000 max"},
		"constants of 4 GiB":              {longHead + ".const .b8 x[4294967296];\n" + emptyKernel, cu.CUDA_ERROR_INVALID_PTX, "0x10000 max"},
		"constants of both":               {longHead + ".const .b8 x[60000];\n.const .align 8 .b8 y[5537];\n" + emptyKernel, cu.CUDA_ERROR_INVALID_PTX, "0x10001 bytes"},
		"locals of 16 GiB":                {localKernel(16 * gib), cu.CUDA_ERROR_INVALID_PTX, "l"},
		"locals that add up to 4 GiB":     {kernel(".local .b8 x[2147483000];\n.local .b8 y[2147483000];"), cu.CUDA_ERROR_INVALID_PTX, "y"},
		"shared memory of 4 GiB":          {kernel(".shared .b8 s[4294967297];\nst.shared.u32 [s], 5;"), cu.CUDA_ERROR_INVALID_PTX, "s"},
		"a parameter of 4 GiB":            {longHead + ".visible .entry k(.param .b8 p[4294967296])\n{\nret;\n}\n", cu.CUDA_ERROR_INVALID_PTX, "4294967296 bytes of parameters"},
		"a parameter of 4353 bytes":       {longHead + ".visible .entry k(.param .b8 p[4353])\n{\nret;\n}\n", cu.CUDA_ERROR_INVALID_PTX, "4353 bytes of parameters"},
		"a parameter of 32765 bytes":      {strings.Replace(longHead, "8.0", "8.1", 1) + ".visible .entry k(.param .b8 p[32765])\n{\nret;\n}\n", cu.CUDA_ERROR_INVALID_PTX, "32765 bytes of parameters"},
		"an argument of 4 GiB":            {longHead + ".func f(.param .b8 p[4294967296])\n{\nret;\n}\n.visible .entry k()\n{\n{\n.param .b8 a[4294967296];\ncall f, (a);\n}\nret;\n}\n", cu.CUDA_ERROR_INVALID_PTX, "local memory"},
	} {
		t.Run(name, func(t *testing.T) {
			c := gputest.Context(t, gputest.Emulator(t, emulator.Config{MemorySize: 2 * gib}))
			peakOf(t, 64<<20, func() {
				_, err := c.LoadModule([]byte(test.text))
				if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprintf("%+v", err), test.word) {
					t.Errorf("the error is %+v, want %v and %q", err, test.want, test.word)
				}
			})
		})
	}
	for name, text := range map[string]string{
		"64 KiB of constants":       longHead + ".const .b8 x[65536];\n" + emptyKernel,
		"a parameter of 4352 bytes": longHead + ".visible .entry k(.param .b8 p[4352])\n{\nret;\n}\n",
		"a parameter of 32764":      strings.Replace(longHead, "8.0", "8.1", 1) + ".visible .entry k(.param .b8 p[32764])\n{\nret;\n}\n",
		"many registers":            kernel(".reg .b32 %q<2000000000>;\nmov.u32 %q1999999999, 5;"),
	} {
		c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
		peakOf(t, 64<<20, func() {
			m, err := c.LoadModule([]byte(text))
			if err != nil {
				t.Fatalf("%s: %+v", name, err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestVariablesAreCountedAsMemory(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{LimitMemory: 16 << 20}))
	text := []byte(longHead + ".global .b8 x[6291456];\n" + emptyKernel)
	free := func() uint64 {
		n, _, err := c.MemInfo()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := free()
	a, err := c.LoadModule(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := before - free(); got < 6<<20 || got > 7<<20 {
		t.Errorf("the variables take %d bytes", got)
	}
	b, err := c.LoadLibrary(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadModule(text); !errors.Is(err, cu.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Errorf("the third is loaded: %v", err)
	}
	if _, err := driver.Alloc[byte](c, 6<<20); !errors.Is(err, cu.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Errorf("memory that variables take is allocated: %v", err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if free() != before {
		t.Errorf("%d bytes are left of %d", free(), before)
	}
}

// A kernel with too much local memory per thread loads but fails to launch, as on driver 580. If
// its blocks need more memory than the device has, the launch fails with an out-of-memory error.
func TestLocalMemoryIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		local, memory uint64
		threads       int
		want          error
	}{
		"all that a thread has":   {512 << 10, 2 * gib, 32, cu.CUDA_ERROR_INVALID_VALUE},
		"1 GiB":                   {gib, 2 * gib, 32, cu.CUDA_ERROR_INVALID_VALUE},
		"500 KB, a warp":          {500 << 10, 2 * gib, 32, nil},
		"500 KB, too many warps":  {500 << 10, 256 << 20, 1024, cu.CUDA_ERROR_OUT_OF_MEMORY},
		"64 KB, as many as fit":   {64 << 10, 128 << 20, 1024, nil},
		"64 KB, one warp too few": {64 << 10, 63 << 20, 1024, cu.CUDA_ERROR_OUT_OF_MEMORY},
	} {
		t.Run(name, func(t *testing.T) {
			c := gputest.Context(t, gputest.Emulator(t, emulator.Config{LimitMemory: test.memory}))
			m, err := c.LoadModule([]byte(localKernel(test.local)))
			if err != nil {
				t.Fatal(err)
			}
			k, err := m.Kernel("k")
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			peakOf(t, 256<<20, func() {
				err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(40), Block: driver.D1(test.threads)}, uint64(16))
				if err == nil {
					err = s.Wait(context.Background())
				}
				if !errors.Is(err, test.want) {
					t.Errorf("the launch returns %v, want %v", err, test.want)
				}
			})
			if err := errors.Join(s.Close(), m.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// While blocks wait in a loop, further blocks start only if there is memory for them. All 200
// blocks of this kernel would need 800 MiB.
func TestWaitingBlocksStayWithinMemory(t *testing.T) {
	const text = longHead + `.visible .entry k(.param .u64 p)
{
	.reg .pred %p;
	.reg .b32 %r<3>;
	.reg .b64 %d;
	.local .align 8 .b8 l[131072];
	ld.param.u64 %d, [p];
	mov.u32 %r2, 100000;
LOOP:
	ld.volatile.global.u32 %r1, [%d];
	sub.u32 %r2, %r2, 1;
	setp.eq.u32 %p, %r2, 0;
	@%p bra DONE;
	nanosleep.u32 1;
	bra LOOP;
DONE:
	st.local.u32 [l], %r1;
	ret;
}
`
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{LimitMemory: 24 << 20, Workers: 2}))
	m, err := c.LoadModule([]byte(strings.Replace(text, "100000", "3000", 1)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.NewStream()
	b, err := driver.Alloc[uint32](c, 1)
	if err != nil {
		t.Fatal(err)
	}
	peakOf(t, 200<<20, func() {
		err := k.Launch(s, driver.LaunchConfig{Grid: driver.D1(200), Block: driver.D1(32)}, b)
		if err = errors.Join(err, s.Wait(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(b.Close(), s.Close(), m.Close()); err != nil {
		t.Error(err)
	}
}

func TestPageLockedMemoryIsLimited(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{Limits: emulator.Limits{HostMemory: 1 << 20}}))
	if _, err := driver.AllocHost[byte](c, 1<<40); !errors.Is(err, cu.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Error(err)
	}
	a, err := driver.AllocHost[byte](c, 600<<10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := driver.AllocHost[byte](c, 600<<10); !errors.Is(err, cu.CUDA_ERROR_OUT_OF_MEMORY) {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := driver.AllocHost[byte](c, 600<<10)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

type counting struct {
	n     int
	first []byte
	last  []byte
}

func (c *counting) Write(b []byte) (int, error) {
	c.n += len(b)
	c.first = append(c.first, b[:min(len(b), 64-len(c.first))]...)
	c.last = append(c.last[:0], b[max(0, len(b)-8):]...)
	return len(b), nil
}

// printing returns a kernel that passes words and doubles to vprintf and stores the return value.
func printing(format string, stores ...string) string {
	var f strings.Builder
	for _, c := range []byte(format) {
		fmt.Fprintf(&f, "%d, ", c)
	}
	return longHead + ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 f[] = {" + f.String() + `0};
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r;
	.reg .b64 %d<4>;
	.local .align 8 .b8 l[64];
	` + strings.Join(stores, "\n") + `
	ld.param.u64 %d1, [p];
	mov.u64 %d2, l;
	cvta.local.u64 %d2, %d2;
	mov.u64 %d3, f;
	cvta.global.u64 %d3, %d3;
	{
		.param .b64 f;
		.param .b64 a;
		.param .b32 r;
		st.param.b64 [f], %d3;
		st.param.b64 [a], %d2;
		call (r), vprintf, (f, a);
		ld.param.b32 %r, [r];
	}
	st.global.u32 [%d1], %r;
	ret;
}
`
}

func word(at, v int) string { return fmt.Sprintf("st.local.u32 [l+%d], %d;", at, v) }

func double(at int, bits string) string { return fmt.Sprintf("st.local.f64 [l+%d], 0d%s;", at, bits) }

func printed(t *testing.T, cfg emulator.Config, text string) int32 {
	t.Helper()
	c := gputest.Context(t, gputest.Emulator(t, cfg))
	m, err := c.LoadModule([]byte(text))
	if err != nil {
		t.Fatalf("%+v", err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	b, err := driver.Alloc[int32](c, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.NewStream()
	err = k.Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}, b)
	got := make([]int32, 1)
	if err := errors.Join(err, s.Wait(context.Background()), b.CopyTo(got), b.Close(), s.Close(), m.Close()); err != nil {
		t.Fatal(err)
	}
	return got[0]
}

const e = "4005bf0a8b145769" // 2.718281828459045

func TestPrintfHasTheWidthsOfC(t *testing.T) {
	for _, test := range []struct {
		format string
		stores []string
		want   string
		n      int32
	}{
		{"[%*d]", []string{word(0, 6), word(4, 5)}, "[     5]", 2},
		{"[%*d]", []string{word(0, -6), word(4, 5)}, "[5     ]", 2},
		{"[%0*d]", []string{word(0, -6), word(4, 5)}, "[5     ]", 2},
		{"[%0*d]", []string{word(0, 6), word(4, -5)}, "[-00005]", 2},
		{"[%.*d]", []string{word(0, 4), word(4, 5)}, "[0005]", 2},
		{"[%.*d]", []string{word(0, -4), word(4, 5)}, "[5]", 2},
		{"[%0*.*d]", []string{word(0, 6), word(4, -4), word(8, 5)}, "[000005]", 3},
		{"[%.*d]", []string{word(0, 0), word(4, 0)}, "[]", 2},
		{"[%.*f]", []string{word(0, -1), double(8, e)}, "[2.718282]", 2},
		{"[%*.*f]", []string{word(0, 9), word(4, 2), double(8, e)}, "[     2.72]", 3},
		{"[%.60f]", []string{double(0, e)}, "[2.718281828459045090795598298427648842334747314453125000000000]", 1},
		{"[%.3e]", []string{double(0, e)}, "[2.718e+00]", 1},
		{"[%#.3x]", []string{word(0, 10)}, "[0x00a]", 1},
		{"[%5%] [%-5s]", nil, "[%] [     ]", 1}, // address 0 contains no string
		{"100%", nil, "100%", 0},
		{"[%99999999999d]", []string{word(0, 5)}, "[]", 1},
		{"[%.99999999999d]", []string{word(0, 5)}, "[]", 1},
	} {
		var out bytes.Buffer
		if n := printed(t, emulator.Config{Stdout: &out}, printing(test.format, append(test.stores, "st.local.u64 [l+56], 0;")...)); n != test.n {
			t.Errorf("%q returns %d, want %d", test.format, n, test.n)
		}
		if out.String() != test.want {
			t.Errorf("%q prints %q, want %q", test.format, out.String(), test.want)
		}
	}
}

// A field of any width must be printed, as real drivers do, without allocating memory for its
// padding.
func TestWideFieldsTakeNoMemory(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		n     int
		first string
		last  string
	}{
		"a width":             {printing("[%*d]", word(0, 100_000_000), word(4, 5)), 100_000_002, "[     ", "     5]"},
		"a negative width":    {printing("[%*d]", word(0, -100_000_000), word(4, 5)), 100_000_002, "[5    ", "      ]"},
		"a precision":         {printing("[%.*d]", word(0, 100_000_000), word(4, 5)), 100_000_002, "[00000", "00005]"},
		"zeros":               {printing("[%0*d]", word(0, 100_000_000), word(4, -5)), 100_000_002, "[-0000", "00005]"},
		"digits of a double":  {printing("[%.*f]", word(0, 100_000_000), double(8, e)), 100_000_004, "[2.718", "00000]"},
		"digits before an e":  {printing("[%.*e]", word(0, 100_000_000), double(8, e)), 100_000_008, "[2.718", "00e+00]"},
		"hexadecimal digits":  {printing("[%.*a]", word(0, 100_000_000), double(8, e)), 100_000_009, "[0x1.5bf0", "000p+1]"},
		"digits that %g cuts": {printing("[%.*g]", word(0, 100_000_000), double(8, e)), 55, "[2.718", "3125]"},
	} {
		out := &counting{}
		peakOf(t, 32<<20, func() { printed(t, emulator.Config{Stdout: out}, test.text) })
		if out.n != test.n || !strings.HasPrefix(string(out.first), test.first) || !strings.HasSuffix(string(out.last), test.last) {
			t.Errorf("%s: %d bytes, %q … %q; want %d, %q … %q", name, out.n, out.first, out.last, test.n, test.first, test.last)
		}
	}
}

func TestPrintingIsLimited(t *testing.T) {
	var out bytes.Buffer
	printed(t, emulator.Config{Stdout: &out, Limits: emulator.Limits{Print: 10}}, printing("%*d", word(0, 2_000_000_000), word(4, 5)))
	if out.String() != strings.Repeat(" ", 10) {
		t.Errorf("%d bytes are printed: %.20q", out.Len(), out.String())
	}
	if n := printed(t, emulator.Config{Stdout: io.Discard, Limits: emulator.Limits{Print: 2}}, printing("%d %d", word(0, 1), word(4, 2))); n != 2 {
		t.Errorf("vprintf returns %d", n)
	}
}
