package nvrtc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestProgramReachesTheCompilerWhole(t *testing.T) {
	f := &fake{}
	var got *fakeProgram
	f.compile = func(p *fakeProgram) (Code, string) { got = p; return 0, "a remark" }
	c := newFake(t, f)
	r, err := c.Compile(t.Context(), Program{
		Name: "k.cu", Source: "text", Headers: map[string]string{"a.h": "A", "b.h": "B"},
		IncludePaths: []string{"/inc"}, Options: []string{"-DN=3"}, Arch: Real(9, 0), NameExpressions: []string{"add<float>", "g"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.name != "k.cu" || got.source != "text" || got.headers["a.h"] != "A" || got.headers["b.h"] != "B" {
		t.Errorf("the compiler was given %+v", got)
	}
	if want := []string{"--gpu-architecture=sm_90", "--include-path=/inc", "-DN=3"}; !slices.Equal(got.options, want) {
		t.Errorf("options %q, want %q", got.options, want)
	}
	if !strings.HasSuffix(string(r.PTX), "\ntext") || string(r.Cubin) != "\x7fELF\x00\x00" || r.Log != "a remark" || r.Cached {
		t.Errorf("result %+v", r)
	}
	if string(r.Image()) != string(r.Cubin) {
		t.Error("the image is not the cubin")
	}
	if name, err := r.LoweredName("add<float>"); err != nil || name != "_Zadd<float" {
		t.Errorf("lowered name %q, %v", name, err)
	}
	if _, err := r.LoweredName("sub"); err == nil || !strings.Contains(err.Error(), `"add<float>" "g"`) {
		t.Errorf("a name that was not asked for gives %v", err)
	}
}

func TestProgramOfDefaultsGivesPTX(t *testing.T) {
	r, err := newFake(t, &fake{}).Compile(t.Context(), Program{Source: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "// program.cu [] 0 headers\ns"; string(r.Image()) != want || r.Cubin != nil {
		t.Errorf("image %q, cubin %q; want %q", r.Image(), r.Cubin, want)
	}
}

const failureLog = `k.cu(2): warning #177-D: variable "u" was declared but never referenced
inc.h(1): error: identifier "y" is undefined
k.cu(3): error: expected a ";"
k.cu(9): catastrophic error: too much

3 errors detected in the compilation of "k.cu".
`

func TestFailureHasTheFirstErrorInOneLineAndTheWholeLogInMore(t *testing.T) {
	c := newFake(t, &fake{compile: func(*fakeProgram) (Code, string) { return NVRTC_ERROR_COMPILATION, failureLog }})
	_, err := c.Compile(t.Context(), Program{Name: "k.cu", Source: "1\n2 text\r\n3 text\n", Headers: map[string]string{"inc.h": "  int x = y;"}})
	if !errors.Is(err, NVRTC_ERROR_COMPILATION) {
		t.Fatalf("error %v, want NVRTC_ERROR_COMPILATION", err)
	}
	const want = `nvrtc: cannot compile k.cu: nvrtcCompileProgram: NVRTC_ERROR_COMPILATION: inc.h:1: identifier "y" is undefined (int x = y;); and 2 more errors`
	if got := fmt.Sprintf("%v", err); got != want {
		t.Errorf("error\n%s\nwant\n%s", got, want)
	}
	long := fmt.Sprintf("%+v", err)
	for _, part := range []string{want + "\n", "      2 | 2 text\n", "      1 |   int x = y;\n", "      3 | 3 text\n", "3 errors detected"} {
		if !strings.Contains(long, part) {
			t.Errorf("%%+v lacks %q:\n%s", part, long)
		}
	}
	if quoted := fmt.Sprintf("%q", err); !strings.HasPrefix(quoted, `"nvrtc: `) {
		t.Errorf("%%q is %s", quoted)
	}
}

func TestLinesThatTheCompilerShowsAreNotShownTwice(t *testing.T) {
	log := annotate("k.cu(1): error: what\n    int x = y;\n            ^\n", &Program{Name: "k.cu", Source: "  int x = y;"})
	if n := strings.Count(log, "int x = y;"); n != 1 {
		t.Errorf("the line is there %d times:\n%s", n, log)
	}
}

func TestFailuresSayWhatToDo(t *testing.T) {
	for log, want := range map[string]string{
		"nvrtc: error: invalid value for --gpu-architecture (-arch)\n":       "invalid value for --gpu-architecture (-arch); NVRTC 12.4 compiles for compute_75, compute_80, compute_90",
		`k.cu(1): catastrophic error: cannot open source file "cuda_fp16.h"`: `k.cu:1: cannot open source file "cuda_fp16.h" (s); for CUDA's own headers, set IncludePaths to Compiler.CUDAIncludes`,
	} {
		c := newFake(t, &fake{compile: func(*fakeProgram) (Code, string) { return NVRTC_ERROR_COMPILATION, log }})
		_, err := c.Compile(t.Context(), Program{Name: "k.cu", Source: "s"})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want it to end in %q", err, want)
		}
	}
}

func TestEveryCallThatFailsIsNamed(t *testing.T) {
	for _, fn := range []string{
		"nvrtcCreateProgram", "nvrtcAddNameExpression", "nvrtcCompileProgram", "nvrtcGetPTX", "nvrtcGetCUBIN", "nvrtcGetLoweredName", "nvrtcGetProgramLog",
	} {
		f := &fake{fail: map[string]Code{fn: NVRTC_ERROR_INTERNAL_ERROR}}
		_, err := newFake(t, f).Compile(t.Context(), Program{Source: "s", Arch: "sm_90", NameExpressions: []string{"n"}})
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Func, fn) || !errors.Is(err, NVRTC_ERROR_INTERNAL_ERROR) {
			t.Errorf("%s: error %v", fn, err)
		}
	}
}

func TestWhatCannotBeCompiledIsRefusedAtOnce(t *testing.T) {
	f := &fake{}
	c := newFake(t, f)
	for want, p := range map[string]Program{
		"Source contains a NUL":          {Source: "a\x00b"},
		"Headers contains a NUL":         {Headers: map[string]string{"a": "\x00"}},
		"NameExpressions contains a NUL": {NameExpressions: []string{"\x00"}},
		"set one of them":                {Arch: "sm_80", Options: []string{"-arch=sm_90"}},
	} {
		if _, err := c.Compile(t.Context(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if n := f.compiled.Load(); n != 0 {
		t.Errorf("%d programs were compiled", n)
	}
}

func TestCodeWithoutResultIsAnError(t *testing.T) {
	f := &fake{fail: map[string]Code{"nvrtcGetPTXSize": 0, "nvrtcGetCUBINSize": 0}}
	_, err := newFake(t, f).Compile(t.Context(), Program{Source: "s", Options: []string{"-dlto"}})
	if err == nil || !strings.Contains(err.Error(), "neither PTX nor a cubin") {
		t.Errorf("error %v", err)
	}
}

func TestDoneContextDoesNotWaitForTheCompiler(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	f := &fake{compile: func(*fakeProgram) (Code, string) { close(begun); <-finish; return 0, "" }}
	cache := testCache(t)
	c := newFake(t, f, WithCache(cache))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := c.Compile(ctx, Program{Source: "s"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
	if _, err := c.Compile(ctx, Program{Source: "s"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a context that is done, want Canceled", err)
	}
	close(finish)
	if err := c.Close(); err != nil { // Close waits for the compilation
		t.Fatal(err)
	}
	if s := cache.Stats(); s.Stored != 1 {
		t.Errorf("the compilation that nobody waited for left %+v", s)
	}
}

func TestClosedCompilerRefuses(t *testing.T) {
	f := &fake{}
	c := newFake(t, f)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Compile(t.Context(), Program{}); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if n := f.closed.Load(); n != 1 {
		t.Errorf("the library was closed %d times", n)
	}
	if err := (*Compiler)(nil).Close(); err != nil {
		t.Error(err)
	}
}
