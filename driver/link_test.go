package driver_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/imagetest"
)

const linkHead = ".version 8.0\n.target sm_70\n.address_size 64\n"

// The inputs of the tests: a kernel that calls f and reads g, and several definitions of f and g.
const (
	linkUser = linkHead + `.extern .func (.param .b32 r) f(.param .b32 a);
.extern .global .align 4 .u32 g;
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<3>;
	.reg .b64 %d;
	.param .b32 a;
	.param .b32 r;
	ld.param.u64 %d, [p];
	cvta.to.global.u64 %d, %d;
	ld.global.u32 %r1, [g];
	st.param.b32 [a], %r1;
	call (r), f, (a);
	ld.param.b32 %r2, [r];
	st.global.u32 [%d], %r2;
	ret;
}
`
	linkFunc = linkHead + `.visible .func (.param .b32 r) f(.param .b32 a)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [a];
	add.u32 %r2, %r1, 1;
	st.param.b32 [r], %r2;
	ret;
}
`
	linkVar    = linkHead + ".visible .global .align 4 .u32 g = 5;\n"
	linkArray  = linkHead + ".visible .global .align 4 .u32 g[4];\n"
	linkKernel = linkHead + ".visible .entry k2()\n{\n\tret;\n}\n"
	linkBroken = linkHead + ".visible .entry k()\n{\n\tmov.u32 %r1, 5;\n\tret;\n}\n"
	linkUnused = linkHead + ".extern .func (.param .b32 r) f(.param .b32 a);\n.extern .global .align 4 .u32 g;\n.visible .entry k2()\n{\n\tret;\n}\n"
)

var (
	linkWeak   = strings.NewReplacer(".visible", ".weak", ", 1;", ", 70;", "= 5", "= 9").Replace(linkFunc + linkVar[len(linkHead):])
	linkHidden = strings.NewReplacer(".visible ", "").Replace(linkFunc + linkVar[len(linkHead):])
	linkCommon = strings.NewReplacer(".visible", ".common", " = 5", "").Replace(linkVar)
	linkOther  = strings.Replace(linkFunc, ".param .b32 a)", ".param .b32 a, .param .b64 b)", 1)
)

// linked links the inputs, given as alternating names and PTX sources, and loads the result.
func linked(c *driver.Context, inputs []string, opts ...driver.JITOption) (*driver.Module, error) {
	l, err := c.NewLinker(opts...)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(inputs) && err == nil; i += 2 {
		err = l.Add(inputs[i], []byte(inputs[i+1]))
	}
	var m *driver.Module
	if err == nil {
		m, err = l.Load()
	}
	if e := l.Close(); err == nil {
		err = e
	}
	return m, err
}

func TestLinkedImagesRun(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for name, test := range map[string]struct {
			inputs []string
			want   uint32
		}{
			"in order":             {[]string{"u", linkUser, "f", linkFunc, "v", linkVar}, 6},
			"in another order":     {[]string{"v", linkVar, "f", linkFunc, "u", linkUser}, 6},
			"without names":        {[]string{"", linkVar, "", linkFunc, "", linkUser}, 6},
			"weak ones alone":      {[]string{"u", linkUser, "w", linkWeak}, 79},
			"weak ones twice":      {[]string{"u", linkUser, "w", linkWeak, "w2", linkWeak}, 79},
			"weak ones first":      {[]string{"u", linkUser, "w", linkWeak, "f", linkFunc, "v", linkVar}, 6},
			"weak ones last":       {[]string{"u", linkUser, "f", linkFunc, "v", linkVar, "w", linkWeak}, 6},
			"common ones":          {[]string{"u", linkUser, "f", linkFunc, "c", linkCommon, "d", linkCommon}, 1},
			"a common and another": {[]string{"u", linkUser, "f", linkFunc, "c", linkCommon, "v", linkVar}, 6},
			"hidden ones beside":   {[]string{"u", linkUser, "h", linkHidden, "f", linkFunc, "v", linkVar}, 6},
		} {
			t.Run(name, func(t *testing.T) {
				m, err := linked(c, test.inputs)
				noError(t, err)
				k := must(m.Kernel("k"))(t)
				if got := launchMark(t, c, k); got != test.want {
					t.Errorf("the kernel stores %d, want %d", got, test.want)
				}
				if p, ok := k.Params(); !ok || len(p) != 1 || p[0].Name != "p" {
					t.Errorf("the parameters are %v, %v", p, ok)
				}
				if v := must(m.Global("g"))(t); v.Len() != 4 {
					t.Errorf("the variable has %d bytes", v.Len())
				}
				noError(t, m.Close())
			})
		}
	})
}

// The linker's log must name the conflicting or missing symbol. The wording is that of driver 580.
// The emulator uses the same wording.
func TestLinkingErrorsNameSymbolsAndInputs(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		source := driver.CUDA_ERROR_INVALID_SOURCE
		for name, test := range map[string]struct {
			inputs []string
			code   driver.CUresult
			log    []string
		}{
			"nothing is defined":   {[]string{"u", linkUser}, source, []string{"Undefined reference to 'f' in 'u'", "Undefined reference to 'g' in 'u'"}},
			"no variable":          {[]string{"u", linkUser, "f", linkFunc}, source, []string{"Undefined reference to 'g' in 'u'"}},
			"no function":          {[]string{"u", linkUser, "v", linkVar}, source, []string{"Undefined reference to 'f' in 'u'"}},
			"an unused variable":   {[]string{"u", linkUnused}, source, []string{"Undefined reference to 'g' in 'u'"}},
			"hidden ones":          {[]string{"u", linkUser, "h", linkHidden}, source, []string{"'f' in 'u'", "'g' in 'u'"}},
			"two functions":        {[]string{"u", linkUser, "f", linkFunc, "f2", linkFunc}, source, []string{"Multiple definition of 'f' in 'f2', first defined in 'f'"}},
			"two variables":        {[]string{"u", linkUser, "v", linkVar, "v2", linkVar}, source, []string{"Multiple definition of 'g' in 'v2', first defined in 'u'"}},
			"two kernels":          {[]string{"a", linkKernel, "b", linkKernel}, source, []string{"Multiple definition of 'k2' in 'b', first defined in 'a'"}},
			"another size":         {[]string{"u", linkUser, "v", linkArray}, source, []string{"Size doesn't match for 'g' in 'v', first specified in 'u'"}},
			"another size as well": {[]string{"v", linkVar, "w", linkArray}, source, []string{"Size doesn't match for 'g' in 'w'", "Multiple definition of 'g' in 'w'"}},
			"other parameters":     {[]string{"u", linkUser, "f", linkOther}, source, []string{"Prototype doesn't match for 'f' in 'f', first defined in 'f'"}},
			"broken PTX":           {[]string{"f", linkFunc, "b", linkBroken}, driver.CUDA_ERROR_INVALID_PTX, []string{"line 6", "      6 | \tmov.u32 %r1, 5;"}},
			"PTX of the future":    {[]string{"n", strings.Replace(linkKernel, "8.0", "99.0", 1)}, driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, []string{"99.0"}},
		} {
			t.Run(name, func(t *testing.T) {
				m, err := linked(c, test.inputs)
				if err == nil {
					t.Fatal("linked", m.Close())
				}
				wantError(t, err, test.code)
				var e *driver.Error
				if !errors.As(err, &e) {
					t.Fatalf("%T", err)
				}
				for _, want := range test.log {
					if !strings.Contains(e.Log, want) {
						t.Errorf("the log %q does not have %q", e.Log, want)
					}
				}
				if strings.Contains(e.Error(), "\n") || strings.Contains(e.Error(), "error   :") {
					t.Errorf("the error is %q", e)
				}
				t.Log(e)
			})
		}
	})
}

func TestLinkerForgetsAnError(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for range 3 {
			l := must(c.NewLinker())(t)
			noError(t, l.Add("broken", []byte(linkBroken)))
			noError(t, l.Add("fine", []byte(linkKernel)))
			for range 2 {
				_, err := l.Complete()
				wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "broken: PTX line 6")
			}
			noError(t, l.Close())
			_, err := linked(c, []string{"u", linkUser})
			wantError(t, err, driver.CUDA_ERROR_INVALID_SOURCE, "'f' in 'u'")
			m, err := linked(c, []string{"u", linkUser, "f", linkFunc, "v", linkVar})
			noError(t, err)
			noError(t, m.Close())
		}
	})
}

// After driver 580 has rejected PTX on a thread, its linker returns wrong errors on that thread.
// Linker must still return the correct errors.
func TestLinkingAfterRefusedModules(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for _, bad := range []string{strings.Replace(linkKernel, "8.0", "99.0", 1), linkBroken, linkUser} {
			if _, err := c.LoadModule([]byte(bad)); err == nil {
				t.Error("loaded", bad)
			}
			_, err := linked(c, []string{"u", linkUser})
			wantError(t, err, driver.CUDA_ERROR_INVALID_SOURCE, "'f' in 'u'")
			_, err = linked(c, []string{"a", linkKernel, "b", linkKernel})
			wantError(t, err, driver.CUDA_ERROR_INVALID_SOURCE, "Multiple definition")
		}
	})
}

func TestClosedLinkersRefuse(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l := must(c.NewLinker())(t)
		noError(t, l.Close())
		noError(t, l.Close())
		wantError(t, l.Add("late", []byte(linkKernel)), driver.ErrClosed)
		_, err := l.Complete()
		wantError(t, err, driver.ErrClosed)
		var none *driver.Linker
		wantError(t, none.Add("x", []byte(linkKernel)), driver.CUDA_ERROR_INVALID_VALUE)
		_, err = none.Load()
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
		noError(t, none.Close())
	})
}

func TestLinkerIsCompleteUntilItIsAddedTo(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		l := must(c.NewLinker(driver.WithJIT(cu.CU_JIT_LOG_VERBOSE, 1)))(t)
		noError(t, l.Add("k", []byte(linkKernel)))
		first := must(l.Complete())(t)
		if again := must(l.Complete())(t); &again[0] != &first[0] {
			t.Error("completing again links again")
		}
		t.Log(l.Log())
		noError(t, l.Add("f", []byte(linkFunc)))
		if more := must(l.Complete())(t); bytes.Equal(more, first) {
			t.Error("what was added is not there")
		}
		noError(t, l.Close())
		i := parsed(t, "linked", first) // the image outlives the linker
		if p := i.Parts(); len(p) != 1 || p[0].Arch.Major != must(c.Device().Arch())(t).Major || p[0].Relocatable {
			t.Errorf("the image has %v", p)
		}
		m := must(must(driver.NewImageSet(i))(t).LoadModule(c))(t)
		must(m.Kernel("k2"))(t)
		noError(t, m.Close())
		again := must(c.NewLinker())(t)
		wantError(t, again.Add(i.Name(), i.Bytes()), driver.CUDA_ERROR_INVALID_VALUE, `"linked"`, "-rdc=true")
	})
}

func TestLinkersWorkAtTheSameTime(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				inputs := []string{"u", linkUser, "f", linkFunc, "v", linkVar}
				if i%2 == 1 {
					inputs = inputs[:4]
				}
				m, err := linked(c, inputs)
				if (err == nil) != (i%2 == 0) || err != nil && !errors.Is(err, driver.CUDA_ERROR_INVALID_SOURCE) {
					t.Errorf("linker %d: %v", i, err)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func TestLongLogsOfLinkersAreWhole(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := linked(c, []string{"f", linkFunc, "long", string(manyMistakes(2000))})
		wantError(t, err, driver.CUDA_ERROR_INVALID_PTX, "long: PTX line 6")
		if log := fmt.Sprintf("%+v", err); !strings.Contains(log, "line 2005;") {
			t.Errorf("the log has %d bytes and ends with %q", len(log), log[max(0, len(log)-200):])
		}
	})
}

func TestLinkerWithoutInputsGivesAnEmptyImage(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, err := linked(c, nil)
		noError(t, err)
		if names := must(m.Kernels())(t); len(names) != 0 {
			t.Errorf("it has %v", names)
		}
		noError(t, m.Close())
	})
}

func TestLinkerOptionsAreChecked(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := c.NewLinker(driver.WithJIT(cu.CU_JIT_FALLBACK_STRATEGY, int(cu.CU_PREFER_PTX)))
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "CU_JIT_FALLBACK_STRATEGY")
		_, err = c.NewLinker(driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 0))
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "MAX_REGISTERS", "1 to 255")
		l := must(c.NewLinker(driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 1), driver.WithJIT(cu.CU_JIT_GENERATE_LINE_INFO, 1)))(t)
		noError(t, l.Add("f", []byte(linkFunc), driver.WithJIT(cu.CU_JIT_MAX_REGISTERS, 32)))
		wantError(t, l.Add("v", []byte(linkVar), driver.WithJIT(cu.CU_JIT_OPTIMIZATION_LEVEL, 5)), driver.CUDA_ERROR_INVALID_VALUE, `"v"`, "0 to 4")
		noError(t, l.Close())
		l = must(c.NewLinker())(t)
		wantError(t, l.Add("none", nil), driver.CUDA_ERROR_INVALID_VALUE, `"none"`, "empty")
		wantError(t, l.Add("a\x00b", []byte(linkVar)), driver.CUDA_ERROR_INVALID_VALUE, "NUL")
		noError(t, l.Close())
	})
}

func TestLinkerRefusesWhatIsNoInput(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		archive := imageFile(t, "libscale.a")
		object := imagetest.Cubin(64)
		object[18] = 62
		object[0x28], object[0x3a], object[0x3c] = 200, 64, 1
		for _, data := range [][]byte{nil, []byte("hello"), archive[:len(archive)-1], archive[:9], object, imageFile(t, "main.cubin")[:99]} {
			l := must(c.NewLinker())(t)
			wantError(t, l.Add("x", data), driver.CUDA_ERROR_INVALID_VALUE, `"x"`)
			noError(t, l.Close())
		}
	})
}

func TestLinkingDoesNotDisturbACapture(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s := must(c.NewStream())(t)
		noError(t, captured(c.Driver(), s.Raw(), func() error {
			m, err := linked(c, []string{"u", linkUser, "f", linkFunc, "v", linkVar})
			if err != nil {
				return err
			}
			return m.Close()
		}))
		noError(t, s.Close())
	})
}

// The linker accepts machine code that compilers generated for the device's architecture.
func TestCompiledInputsAreLinked(t *testing.T) {
	gputest.OnGPU(t, func(t *testing.T, c *driver.Context) {
		if must(c.Device().Arch())(t) != (image.Arch{Major: 9}) {
			t.Skip("the machine code in testdata is for sm_90")
		}
		for _, files := range [][]string{
			{"main.cubin", "scale.cubin"}, {"main.fatbin", "scale.ptx"}, {"main.ptx", "libscale.a"}, {"main.cubin", "libscale.a"},
		} {
			t.Run(strings.Join(files, " and "), func(t *testing.T) {
				l := must(c.NewLinker())(t)
				for _, f := range files {
					noError(t, l.Add(f, imageFile(t, f)))
				}
				m := must(l.Load())(t)
				if got := launchMark(t, c, must(m.Kernel("scaled"))(t), uint32(1)); got != 3 {
					t.Errorf("the kernel stores %d", got)
				}
				closeAll(t, m, l)
			})
		}
		l := must(c.NewLinker())(t)
		noError(t, l.Add("main.cubin", imageFile(t, "main.cubin")))
		_, err := l.Complete()
		if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "Undefined reference to 'scale'") {
			t.Errorf("%+v", err)
		}
		noError(t, l.Close())
	})
}

// Unlike machine code, the PTX of these sources can be linked on every device, even from a fat
// binary.
func TestCompiledPTXIsLinked(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		for _, file := range []string{"main.ptx", "main.fatbin"} {
			l := must(c.NewLinker())(t)
			noError(t, l.Add(file, imageFile(t, file)))
			noError(t, l.Add("scale.ptx", imageFile(t, "scale.ptx")))
			m := must(l.Load())(t)
			if got := launchMark(t, c, must(m.Kernel("scaled"))(t), uint32(1)); got != 3 {
				t.Errorf("%s: the kernel stores %d", file, got)
			}
			closeAll(t, m, l)
		}
	})
}

// The linker resolves a symbol that one image declares extern and another defines.
func ExampleLinker() {
	c := exampleContext()
	l, err := c.NewLinker()
	check(err)
	main, err := os.ReadFile("testdata/images/main.ptx")
	check(err)
	check(l.Add("main.ptx", main))
	_, err = l.Complete()
	fmt.Println(err)
	check(l.Close())

	l, err = c.NewLinker()
	check(err)
	scale, err := os.ReadFile("testdata/images/scale.ptx")
	check(err)
	check(l.Add("main.ptx", main), l.Add("scale.ptx", scale))
	m, err := l.Load()
	check(err)
	fmt.Println(m.Kernels())
	check(m.Close(), l.Close(), c.Close())
	// Output:
	// cuLinkComplete: CUDA_ERROR_INVALID_SOURCE (300): Undefined reference to 'scale' in 'main.ptx'
	// [scaled] <nil>
}

// Embedded must link all parts, so that the kernels' parameters are known. If a symbol is missing,
// the error must name the part that refers to it.
func TestEmbeddedCodeIsLinked(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		parts := [][]byte{[]byte(linkUser), []byte(linkFunc), []byte(linkVar)}
		m, err := c.Embedded("linked code", parts[0], parts[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		k := must(m.Kernel("k"))(t)
		if p, known := k.Params(); !known || len(p) != 1 || p[0].Name != "p" {
			t.Errorf("the parameters are %v, %v", p, known)
		}
		again, err := c.Embedded("linked code", parts[0], parts[1:]...)
		if err != nil || again != m {
			t.Errorf("the second time it is %v, %v", again, err)
		}
		_, err = c.Embedded("half", []byte(linkUser), parts[1])
		if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "Undefined reference to 'g' in 'part 1 of half'") {
			t.Errorf("without a variable, the error is %+v", err)
		}
		if _, err := c.Embedded("broken", []byte(linkUser), []byte("nothing")); !errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), "part 2 of broken") {
			t.Errorf("text that is not PTX: %v", err)
		}
	})
}
