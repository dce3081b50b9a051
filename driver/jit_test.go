package driver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/gputest"
)

// manyMistakes is PTX whose log is longer than the first buffer for it.
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

// A library is compiled when a kernel of it is asked for, long after the driver
// was given the buffers.
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
		t.Error("the context's target is not asked for")
	}
}
