package driver_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
	"github.com/purecuda/cuda/ptx"
)

// manyMistakes returns PTX with n errors, the first of them in line 6.
func manyMistakes(n int) []byte {
	return []byte(linkHead + ".visible .entry k()\n{\n" + strings.Repeat("\tmov.u32 %nowhere, 5;\n", n) + "\tret;\n}\n")
}

func TestLongLogsAreWhole(t *testing.T) {
	const mistakes = 2000
	last := fmt.Sprintf("line %d;", 5+mistakes)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := c.LoadModule(manyMistakes(mistakes))
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line 6")
		if log := fmt.Sprintf("%+v", err); !strings.Contains(log, last) || !strings.Contains(log, fmt.Sprintf("%7d | \tmov.u32", 5+mistakes)) {
			t.Errorf("the log of %d bytes ends with %q", len(log), log[max(0, len(log)-200):])
		}
		err = libraryKernel(c, string(manyMistakes(mistakes)))
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line 6")
	})
}

// A library is compiled when one of its kernels is looked up, long after the driver received the
// log buffers.
func TestLongLogsOfLibrariesAreWhole(t *testing.T) {
	const mistakes = 500
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l, err := c.LoadLibrary(manyMistakes(mistakes))
		if err == nil {
			_, err = l.Kernel("k")
			noError(t, l.Close())
		}
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line 6")
		if log := fmt.Sprintf("%+v", err); !strings.Contains(log, fmt.Sprintf("line %d;", 5+mistakes)) {
			t.Errorf("the log has %d bytes and ends with %q", len(log), log[max(0, len(log)-200):])
		}
	})
}

func TestMistakenJITOptionsAreRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for word, opts := range map[string][]driver.JITOption{
			"MAX_REGISTERS is 0":          {driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 0)},
			"MAX_REGISTERS is 256":        {driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 256)},
			"OPTIMIZATION_LEVEL is -1":    {driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, -1)},
			"OPTIMIZATION_LEVEL is 5":     {driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 5)},
			"THREADS_PER_BLOCK is 1025":   {driver.WithJIT(cu.CU_JIT_THREADS_PER_BLOCK, 1025)},
			"MIN_CTA_PER_SM is 0":         {driver.WithJIT(cu.CU_JIT_MIN_CTA_PER_SM, 0)},
			"MAX_THREADS_PER_BLOCK is -5": {driver.WithJIT(cu.CU_JIT_MAX_THREADS_PER_BLOCK, -5)},
			"SPLIT_COMPILE is -1":         {driver.WithJIT(cu.CU_JIT_SPLIT_COMPILE, -1)},
			"cannot be combined":          {driver.WithTarget(image.Arch{Major: 9}), driver.WithJIT(cu.CU_JIT_THREADS_PER_BLOCK, 64)},
		} {
			_, err := c.LoadModule([]byte(linkKernel), opts...)
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, word)
			_, err = c.LoadLibrary([]byte(linkKernel), opts...)
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, word)
		}
	})
}

func TestJITOptionsAreTaken(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		took := time.Duration(-1)
		m := must(c.LoadModule([]byte(linkKernel), nil, driver.WithTarget(image.Arch{Major: 8}), driver.WithTarget(image.Arch{}),
			driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 64), driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 1), driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1), driver.WithJIT(cu.CU_JIT_CACHE_MODE, int(cu.CU_JIT_CACHE_OPTION_CA)),
			driver.WithJITTime(&took), driver.WithJIT(cu.CU_JIT_LOG_VERBOSE, 1)))(t)
		must(m.Kernel("k2"))(t)
		if took < 0 || took > time.Minute {
			t.Errorf("compiling took %v", took)
		}
		noError(t, m.Close())
		if v := c.Device().Driver().Version(); v >= 13000 {
			m = must(c.LoadModule([]byte(linkKernel), driver.WithJIT(cu.CU_JIT_SPLIT_COMPILE, 2)))(t)
			noError(t, m.Close())
		}
	})
}

func TestTargetsAreNumbersOfTheDriver(t *testing.T) {
	for name, want := range map[string]cu.CUjit_target{
		"sm_90": cu.CU_TARGET_COMPUTE_90, "sm_90a": cu.CU_TARGET_COMPUTE_90A,
		"sm_103f": cu.CU_TARGET_COMPUTE_103F, "sm_120a": cu.CU_TARGET_COMPUTE_120A,
	} {
		var got uintptr
		f := newFakeDevice()
		c := f.open(t)
		noError(t, must(c.LoadModule([]byte(axpyPTX), driver.WithTarget(must(image.ParseArch(name))(t))))(t).Close())
		if got = f.options[cu.CU_JIT_TARGET]; cu.CUjit_target(got) != want {
			t.Errorf("%s is %#x", name, got)
		}
	}
	f := newFakeDevice()
	c := f.open(t)
	noError(t, must(c.LoadModule([]byte(axpyPTX), driver.WithTarget(image.Arch{Major: 9}), driver.WithTarget(image.Arch{})))(t).Close())
	if got, set := f.options[cu.CU_JIT_TARGET]; set {
		t.Errorf("the context's target is %#x", got)
	}
	if _, set := f.options[cu.CU_JIT_TARGET_FROM_CUCONTEXT]; !set {
		t.Error("the context's target was not requested")
	}
}

func header(version, target string) []byte {
	return fmt.Appendf(nil, ".version %s\n.target %s\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n", version, target)
}

// notTaken loads the PTX in every possible way. Each load and CanLoad must return an error with the
// given code and words.
func notTaken(t *testing.T, c *driver.Context, text []byte, code driver.CUresult, words ...string) {
	t.Helper()
	err := c.CanLoad(text)
	wantError(t, err, code, words...)
	var unmet *ptx.UnmetError
	if !errors.As(err, &unmet) {
		t.Errorf("%v is not an UnmetError", err)
	}
	_, err = c.LoadModule(text)
	wantError(t, err, code, words...)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
	_, err = c.Embedded(fmt.Sprintf("kernels of %s", t.Name()), text)
	wantError(t, err, code, words...)
	l, err := c.LoadLibrary(text)
	if err == nil { // some drivers compile only on first use
		_, err = l.Kernel("k")
		noError(t, l.Close())
	}
	wantError(t, err, code, words...)
}

func TestNewerPTXIsRefusedWithTheDriverThatItNeeds(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("99.0", "sm_70"), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			"PTX 99.0 is newer than the driver", "install a newer one", "lower .version to ")
	})
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 12040}, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("8.8", "sm_70"), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			"PTX 8.8 is newer than the driver, which supports CUDA 12.4 and accepts PTX up to 8.4", "install one of CUDA 12.9 or newer")
		loads(t, c, header("8.4", "sm_70"))
	})
}

func TestTargetsAboveTheDeviceAreRefusedWithWhatToCompileFor(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		major, minor := capability(t, c)
		own := fmt.Sprintf("compute_%d%d", major, minor)
		for _, target := range []string{"sm_121", "sm_121a", "sm_121f"} {
			if arch, _ := ptx.ParseTarget(target); arch.RunsOn(major, minor) {
				loads(t, c, header("8.8", target))
				continue
			}
			notTaken(t, c, header("8.8", target), driver.CUDA_ERROR_INVALID_PTX, "code for "+target, "compile it for "+own)
		}
	})
}

func TestTargetsOfOneArchitectureRunOnThatOnly(t *testing.T) {
	for capability, loading := range map[[2]int][]string{
		{8, 9}:  {"sm_80", "sm_89"},
		{9, 0}:  {"sm_80", "sm_89", "sm_90", "sm_90a"},
		{10, 0}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_100a", "sm_100f"},
		{10, 3}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_100f", "sm_103", "sm_103a", "sm_103f"},
		{12, 0}: {"sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_120a", "sm_120f"},
	} {
		gputest.OnEmulator(t, emulator.Config{ComputeCapability: capability}, func(t *testing.T, c *driver.Context) {
			for _, target := range []string{"sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_120", "sm_120a", "sm_120f"} {
				text := header("9.0", target)
				if strings.Contains(" "+strings.Join(loading, " ")+" ", " "+target+" ") {
					loads(t, c, text)
				} else {
					notTaken(t, c, text, driver.CUDA_ERROR_INVALID_PTX, target)
				}
			}
		})
	}
}

func loads(t *testing.T, c *driver.Context, text []byte) {
	t.Helper()
	noError(t, c.CanLoad(text))
	noError(t, must(c.LoadModule(text))(t).Close())
}

func capability(t *testing.T, c *driver.Context) (major, minor int) {
	t.Helper()
	major, minor, err := c.Device().ComputeCapability()
	noError(t, err)
	return major, minor
}

func TestTargetOfALaterVersionIsRefusedWithThatVersion(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		notTaken(t, c, header("7.0", "sm_86"), driver.CUDA_ERROR_INVALID_PTX, "PTX 7.0 has no target sm_86", "raise .version to 7.1")
	})
}

func TestWhatTheDeviceTakesIsNotRefused(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		major, minor := capability(t, c)
		own := fmt.Sprintf("sm_%d%d", major, minor)
		newest, _ := ptx.NewestFor(c.Driver().Version())
		for _, text := range [][]byte{
			header("6.0", "sm_52"), header("7.4", "sm_70"), header("8.0", "sm_80"), header(newest.String(), own), header(newest.String(), own+"a"),
		} {
			loads(t, c, text)
		}
	})
}

// A driver newer than this package's version table may accept PTX that the table does not list, so
// CanLoad does not reject any.
func TestNewerDriversAreNotRefused(t *testing.T) {
	gputest.OnEmulator(t, emulator.Config{DriverVersion: 99000}, func(t *testing.T, c *driver.Context) {
		loads(t, c, header("42.1", "sm_70"))
	})
}

// A load does not consult the version table: the driver decides.
func TestTheDriverDecides(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	text := []byte(strings.Replace(axpyPTX, ".version 7.0", ".version 77.0", 1))
	if strings.Contains(axpyPTX, ".version 77.0") || !strings.Contains(string(text), ".version 77.0") {
		t.Fatal("the text has another version than the test expects")
	}
	wantError(t, c.CanLoad(text), driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "77.0")
	noError(t, must(c.LoadModule(text))(t).Close())
}

// The error must contain the compiler's explanation, not one derived from the header.
func TestSyntaxErrorsKeepTheirExplanation(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		text := append(header("7.0", "sm_70"), ".visible .entry bad()\n{\n\tfrobnicate.u32 1;\n}\n"...)
		noError(t, c.CanLoad(text))
		_, err := c.LoadModule(text)
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "PTX line 10")
	})
}

func TestCanLoadRefusesWhatIsNoImage(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		wantError(t, c.CanLoad([]byte("hello")), driver.CUDA_ERROR_INVALID_VALUE, "neither PTX")
		var none *driver.Context
		wantError(t, none.CanLoad(header("7.0", "sm_70")), driver.CUDA_ERROR_INVALID_VALUE)
	})
}

// The file contains the results from driver 580 on an H200. The emulator and such a driver must
// return the same results.
func TestHeadersAreTakenAsByDriver580(t *testing.T) {
	data, err := os.ReadFile("../ptx/testdata/headers-580.txt")
	noError(t, err)
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		if major, minor := capability(t, c); c.Driver().Version() != 13000 || major != 9 || minor != 0 {
			t.Skipf("CUDA %d and capability %d.%d are others than those of the list", c.Driver().Version(), major, minor)
		}
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if f[0] == "#" {
				continue
			}
			text := ".version " + f[0] + "\n"
			if f[1] != "-" {
				text += ".target " + f[1] + "\n"
			}
			if f[2] != "-" {
				text += ".address_size " + f[2] + "\n"
			}
			got := 0
			m, err := c.LoadModule([]byte(text + ".visible .entry k()\n{\n\tret;\n}\n"))
			var e *driver.Error
			if errors.As(err, &e) {
				got = int(e.Result)
			} else {
				noError(t, err)
			}
			noError(t, m.Close())
			if strconv.Itoa(got) != f[3] {
				t.Errorf("%q: %d, want %s: %v", text, got, f[3], err)
			}
		}
	})
}

// A second goroutine reads a long text. The error must state the same requirement as for a short
// text.
func TestRefusedLongTextSaysWhatItNeeds(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		const short = ".version 99.0\n.target sm_50\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
		hint := func(text string) string {
			_, err := c.LoadModule([]byte(text))
			var e *driver.Error
			if !errors.As(err, &e) || e.Result != driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
				t.Fatalf("error %v", err)
			}
			return e.Hint
		}
		if got, want := hint(strings.Repeat("// a comment of a line\n", 1000)+short), hint(short); got != want {
			t.Errorf("%q, a short text is refused because %q", got, want)
		}
	})
}

func TestJITOptionsHaveTheirWholeRange(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for name, o := range map[string]struct {
		option    cu.CUjit_option
		low, high int
	}{
		"JITMaxRegisters":               {cu.CU_JIT_MAX_REGISTERS, 1, 255},
		"JITOptLevel":                   {cu.CU_JIT_OPTIMIZATION_LEVEL, 0, 4},
		"JITThreadsPerBlock":            {cu.CU_JIT_THREADS_PER_BLOCK, 1, 1024},
		"JITMaxThreadsPerBlock":         {cu.CU_JIT_MAX_THREADS_PER_BLOCK, 1, 1024},
		"JITMinBlocksPerMultiprocessor": {cu.CU_JIT_MIN_CTA_PER_SM, 1, math.MaxInt32},
	} {
		for n, ok := range map[int]bool{o.low - 1: false, o.low: true, o.high: true, o.high + 1: false} {
			m, err := c.LoadModule([]byte(linkKernel), driver.WithJIT(o.option, n))
			if refused := errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE); refused == ok {
				t.Errorf("%s(%d): %v", name, n, err)
			}
			noError(t, m.Close())
		}
	}
}

// Line numbers must be requested from the driver if and only if the embedded PTX has them.
func TestEmbeddedModulesKeepLineNumbers(t *testing.T) {
	var got []cu.CUjit_option
	c := gputest.Watched(t, cu.FnCuModuleLoadDataEx, func(a loader.Args) {
		got = slices.Clone(unsafe.Slice((*cu.CUjit_option)(a.Ptr(3)), int(a.Uint32(2))))
	})
	const head, entry = ".version 7.0\n.target sm_50\n.address_size 64\n", ".visible .entry k()\n{\n%s\tret;\n}\n"
	const local = "\t.local .align 4 .b8 x[4];\n"
	for body, want := range map[string]bool{"": false, local: false, "\t.loc 1 3 4\n": true, "\t.loc\t1 3 4\n": true} {
		must(c.Embedded("lines", []byte(head+".file 1 \"a.go\"\n"+fmt.Sprintf(entry, body))))(t)
		if asked := slices.Contains(got, cu.CU_JIT_GENERATE_LINE_INFO); asked != want {
			t.Errorf("with %q, the options are %v", body, got)
		}
	}
}

func TestNumbersOfJITOptionsReachTheDriver(t *testing.T) {
	got := map[cu.CUjit_option]uintptr{}
	c := gputest.Watched(t, cu.FnCuModuleLoadDataEx, func(a loader.Args) {
		n := int(a.Uint32(2))
		options := unsafe.Slice((*cu.CUjit_option)(a.Ptr(3)), n)
		values := unsafe.Slice((*uintptr)(a.Ptr(4)), n)
		for i, o := range options {
			got[o] = values[i]
		}
	})
	m := must(c.LoadModule([]byte(".version 7.0\n.target sm_50\n.address_size 64\n"),
		driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 32), driver.WithJIT(cu.CU_JIT_THREADS_PER_BLOCK, 64), driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 2), driver.WithJIT(cu.CU_JIT_GENERATE_DEBUG_INFO, 1),
		driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1), driver.WithJIT(cu.CU_JIT_LOG_VERBOSE, 1), driver.WithJIT(cu.CU_JIT_POSITION_INDEPENDENT_CODE, 1),
		driver.WithJIT(cu.CU_JIT_FALLBACK_STRATEGY, int(cu.CU_PREFER_BINARY)), driver.WithJIT(cu.CU_JIT_CACHE_MODE, int(cu.CU_JIT_CACHE_OPTION_CG)),
		driver.WithJIT(cu.CU_JIT_MIN_CTA_PER_SM, 3), driver.WithJIT(cu.CU_JIT_MAX_THREADS_PER_BLOCK, 128), driver.WithJIT(cu.CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 1)))(t)
	noError(t, m.Close())
	for option, want := range map[cu.CUjit_option]uintptr{
		cu.CU_JIT_MAX_REGISTERS:             32,
		cu.CU_JIT_OPTIMIZATION_LEVEL:        2,
		cu.CU_JIT_GENERATE_DEBUG_INFO:       1,
		cu.CU_JIT_GENERATE_LINE_INFO:        1,
		cu.CU_JIT_LOG_VERBOSE:               1,
		cu.CU_JIT_POSITION_INDEPENDENT_CODE: 1,
		cu.CU_JIT_FALLBACK_STRATEGY:         uintptr(cu.CU_PREFER_BINARY),
		cu.CU_JIT_CACHE_MODE:                uintptr(cu.CU_JIT_CACHE_OPTION_CG),
		cu.CU_JIT_MIN_CTA_PER_SM:            3,
		cu.CU_JIT_MAX_THREADS_PER_BLOCK:     128,
		cu.CU_JIT_OVERRIDE_DIRECTIVE_VALUES: 1,
	} {
		if v, there := got[option]; !there || v != want {
			t.Errorf("%v: value %d, passed: %v; want %d", option, v, there, want)
		}
	}
	if _, there := got[cu.CU_JIT_THREADS_PER_BLOCK]; !there {
		t.Error("CU_JIT_THREADS_PER_BLOCK was not passed") // not compared: the driver overwrites its value
	}
}
