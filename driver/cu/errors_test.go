package cu_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

func rawCodes() (codes []cu.CUresult) {
	for n := range cu.CUresult(1100) {
		if !strings.HasPrefix(n.String(), "CUresult(") {
			codes = append(codes, n)
		}
	}
	return codes
}

func TestEveryCodeHasANameAndAnExplanationWithoutADriver(t *testing.T) {
	codes := rawCodes()
	if len(codes) != 101 {
		t.Errorf("%d codes, CUDA 13.0 has 101", len(codes))
	}
	for _, r := range codes {
		name, text, _ := strings.Cut(r.Error(), ": ")
		if name != r.String() || len(text) < 8 {
			t.Errorf("%d: %q", uint32(r), r.Error())
		}
		if strings.HasSuffix(text, ".") || strings.ContainsAny(text, "\n\t") {
			t.Errorf("%v: %q is not a phrase", r, text)
		}
	}
	if s := cu.CUresult(12345).Error(); s != "CUresult(12345)" {
		t.Errorf("an unknown code is %q", s)
	}
}

func TestEveryCodeComesBackAsAnErrorThatMatchesIt(t *testing.T) {
	for _, r := range append(rawCodes(), 12345) {
		err := rawFailing(t, r).CuStreamSynchronize(0)
		if r == cu.CUDA_SUCCESS {
			if err != nil {
				t.Errorf("success is %v", err)
			}
			continue
		}
		var e *cu.Error
		if !errors.As(err, &e) || e.Result != r || e.Func != cu.FnCuStreamSynchronize || e.Missing {
			t.Fatalf("%v: %#v", r, err)
		}
		if !errors.Is(err, r) || errors.Is(err, r+1) {
			t.Errorf("%v does not match its code alone", err)
		}
		if got, want := errors.Is(err, cu.ErrNotSupported), r == cu.CUDA_ERROR_NOT_SUPPORTED; got != want {
			t.Errorf("%v matches ErrNotSupported: %v", err, got)
		}
		if !strings.HasPrefix(err.Error(), fmt.Sprintf("cuStreamSynchronize: %s (%d)", r.String(), uint32(r))) {
			t.Errorf("%q", err.Error())
		}
	}
}

// C functions return an int and leave the upper half of the register undefined. That half must not
// affect the result.
func TestTheUpperHalfOfTheResultIsIgnored(t *testing.T) {
	rubbish := uint64(0xdead_beef_0000_0000)
	d := rawDriver(t, &rawLibrary{handler: func(cu.Function, loader.Args) uintptr { return uintptr(rubbish) }})
	if err := d.CuCtxSynchronize(); err != nil {
		t.Error(err)
	}
}

func TestAnErrorIsOneLineAndWithPlusHasTheLog(t *testing.T) {
	err := rawFailing(t, cu.CUDA_ERROR_INVALID_PTX).CuModuleLoadData(new(cu.CUmodule), nil)
	var e *cu.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	e.Log = "ptxas line 7; error: unexpected\nptxas fatal: aborted\n"
	line := "cuModuleLoadData: CUDA_ERROR_INVALID_PTX (218): the PTX does not compile; the log names the line"
	for format, want := range map[string]string{
		"%v":  line,
		"%s":  line,
		"%q":  fmt.Sprintf("%q", line),
		"%+v": line + "\nptxas line 7; error: unexpected\nptxas fatal: aborted",
	} {
		if got := fmt.Sprintf(format, err); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}

func TestAMissingFunctionNamesItselfAndItsVersion(t *testing.T) {
	called := false
	handler := func(cu.Function, loader.Args) uintptr { called = true; return 0 }
	old := rawDriver(t, &rawLibrary{version: 12020, handler: handler})
	broken := rawDriver(t, &rawLibrary{handler: handler, without: map[string]bool{"cuGraphAddNode_v2": true}})
	for name, c := range map[string]struct {
		d    *cu.Driver
		want string
	}{
		"older driver":   {old, "cuGraphAddNode: not in the installed driver, which supports CUDA 12.2: it came with CUDA 12.3; it has the form of CUDA 12.2: the method CuGraphAddNode_v12020"},
		"broken library": {broken, "cuGraphAddNode: not in this driver (test library, CUDA 13.0), although CUDA has it since 12.3; it has the form of CUDA 12.2: the method CuGraphAddNode_v12020"},
	} {
		if c.d.Has(cu.FnCuGraphAddNode) {
			t.Errorf("%s has the function", name)
		}
		err := c.d.CuGraphAddNode(nil, 0, nil, nil, 0, nil)
		var e *cu.Error
		if !errors.As(err, &e) || !e.Missing || e.Func != cu.FnCuGraphAddNode {
			t.Fatalf("%s: %#v", name, err)
		}
		if !errors.Is(err, cu.ErrNotSupported) || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if called {
		t.Error("something was called")
	}
	if !old.Has(cu.FnCuGraphAddNode_v12020) || old.Has(cu.Function(60000)) {
		t.Error("Has is wrong")
	}
	if err := old.CuGraphAddNode_v12020(nil, 0, nil, 0, nil); err != nil || !called {
		t.Errorf("the older form: %v, called: %v", err, called)
	}
}

func TestInitSaysWhatToDo(t *testing.T) {
	for r, word := range map[cu.CUresult]string{
		cu.CUDA_ERROR_STUB_LIBRARY:                   "stubs folder",
		cu.CUDA_ERROR_NO_DEVICE:                      "CUDA_VISIBLE_DEVICES",
		cu.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:         "reboot",
		cu.CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: "forward-compatibility",
		cu.CUDA_ERROR_UNKNOWN:                        "kernel module",
	} {
		err := rawFailing(t, r).Init()
		if !errors.Is(err, r) || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "test library") {
			t.Errorf("%v: %v", r, err)
		}
	}
	if err := rawDriver(t, &rawLibrary{}).Init(); err != nil {
		t.Error(err)
	}
}

func TestErrorsAfterCloseSaySo(t *testing.T) {
	l := &rawLibrary{handler: func(cu.Function, loader.Args) uintptr { return uintptr(cu.CUDA_ERROR_DEINITIALIZED) }}
	d := rawDriver(t, l)
	view := d.Guarded()
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := (*cu.Driver)(nil).Close(); err != nil {
		t.Error(err)
	}
	if l.closed != 1 || !view.Closed() {
		t.Errorf("closed %d times, the view is closed: %v", l.closed, view.Closed())
	}
	err := d.CuCtxSynchronize()
	if !errors.Is(err, cu.ErrClosed) || !errors.Is(err, cu.CUDA_ERROR_DEINITIALIZED) || errors.Is(err, cu.ErrNotSupported) {
		t.Errorf("%v", err)
	}
}
