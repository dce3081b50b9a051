package nvrtc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/loader"
)

func TestCompilerSaysWhatItIs(t *testing.T) {
	c := newFake(t, &fake{})
	if c.Version() != 12040 || c.String() != "NVRTC 12.4 (an NVRTC in Go)" {
		t.Errorf("version %d, %v", c.Version(), c)
	}
}

func TestLibraryThatLacksAFunctionIsRefusedAndClosed(t *testing.T) {
	f := &fake{missing: "nvrtcGetCUBIN"}
	_, err := New(f)
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "nvrtcGetCUBIN") {
		t.Errorf("error %v", err)
	}
	if f.closed.Load() != 1 {
		t.Error("the library was not closed")
	}
}

func TestLibraryThatFailsIsRefusedAndClosed(t *testing.T) {
	for _, fn := range []string{"nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"} {
		f := &fake{fail: map[string]Code{fn: NVRTC_ERROR_OUT_OF_MEMORY}}
		if _, err := New(f); !errors.Is(err, NVRTC_ERROR_OUT_OF_MEMORY) || !strings.Contains(err.Error(), fn) {
			t.Errorf("%s: error %v", fn, err)
		}
		if f.closed.Load() != 1 {
			t.Errorf("%s: the library was not closed", fn)
		}
	}
}

func TestNewerLibraryIsPassedOver(t *testing.T) {
	if err := acceptable(&fake{}, 12040); err != nil {
		t.Errorf("12.4 up to 12.4: %v", err)
	}
	err := acceptable(&fake{}, 12020)
	if err == nil || !strings.Contains(err.Error(), "NVRTC 12.4 is newer than CUDA 12.2") {
		t.Errorf("12.4 up to 12.2: %v", err)
	}
	err = notOpened(&loader.OpenError{Tried: []loader.Attempt{{Name: "x", Err: err}}}, "")
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "up to CUDA 12.2: there is 12.4") {
		t.Errorf("where all are newer: %v", err)
	}
}

// A named library that cannot be opened must not match ErrNotInstalled. Otherwise a
// program that can work without NVRTC would ignore the wrong name.
func TestNamedLibraryThatDoesNotOpenIsNoAbsence(t *testing.T) {
	cause := &loader.OpenError{Tried: []loader.Attempt{{Name: "/no/libnvrtc.so", Err: errors.New("no such file")}}}
	err := notOpened(cause, "/no/libnvrtc.so")
	if errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "/no/libnvrtc.so: no such file") || !strings.Contains(err.Error(), LibraryVariable) {
		t.Errorf("error %v", err)
	}
}

func TestAbsenceSaysWhatToInstallAndWhatWasTried(t *testing.T) {
	cause := &loader.OpenError{Tried: []loader.Attempt{{Name: "libnvrtc.so.13", Err: errors.New("no such file")}}}
	err := notOpened(cause, "")
	if !errors.Is(err, ErrNotInstalled) || !errors.As(err, new(*loader.OpenError)) {
		t.Errorf("error %v, want ErrNotInstalled", err)
	}
	for _, want := range []string{"not installed", "nvidia-cuda-nvrtc", "CUDA_PATH", LibraryVariable} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q lacks %q or has several lines", err, want)
		}
	}
	if long := fmt.Sprintf("%+v", err); !strings.Contains(long, "libnvrtc.so.13: no such file") {
		t.Errorf("%%+v is %s", long)
	}
}

func TestPlatformWithoutNVRTCSaysSo(t *testing.T) {
	for _, reason := range []error{loader.ErrStatic, loader.ErrUnsupportedPlatform} {
		err := notOpened(&loader.OpenError{Tried: []loader.Attempt{{Name: "x", Err: reason}}}, "x")
		if !errors.Is(err, ErrNotInstalled) || !errors.Is(err, reason) || strings.Contains(err.Error(), "install the") {
			t.Errorf("error %v", err)
		}
	}
}

// NVRTC may or may not be installed on this machine. Open must find it or return
// ErrNotInstalled.
func TestOpenFindsNVRTCOrSaysThatThereIsNone(t *testing.T) {
	t.Setenv(LibraryVariable, "")
	c, err := Open(WithoutCache())
	if err != nil {
		if !errors.Is(err, ErrNotInstalled) {
			t.Errorf("error %v, want ErrNotInstalled", err)
		}
		return
	}
	t.Log(c)
	if c.Version() < 11020 || len(c.Archs()) == 0 {
		t.Errorf("%v knows %q", c, c.Archs())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestCodesHaveTheirNames(t *testing.T) {
	if len(codeNames) != int(NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED)+1 {
		t.Errorf("%d names of codes", len(codeNames))
	}
	for c, want := range map[Code]string{
		0: "NVRTC_SUCCESS", 6: "NVRTC_ERROR_COMPILATION", 11: "NVRTC_ERROR_INTERNAL_ERROR", 16: "NVRTC_ERROR_CANCELLED", 99: "NVRTC code 99", -1: "NVRTC code -1",
	} {
		if c.Error() != want {
			t.Errorf("%d is %s, want %s", int32(c), c.Error(), want)
		}
	}
}
