//go:build linux && (amd64 || arm64) && !static

package cu_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

func systemDriver(t *testing.T, path string) *cu.Driver {
	t.Helper()
	lib, err := cu.SystemLibrary(path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := cu.New(lib)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheSystemLibraryAsksByNameAndVersion(t *testing.T) {
	for form, flags := range map[string][]string{"second form": nil, "first form": {"-DFIRST_FORM"}} {
		t.Run(form, func(t *testing.T) {
			d := systemDriver(t, compile(t, "testdata/getproc.c", flags...))
			if got := rawCode(d.CuMemAlloc(nil, 0)); got != 10 {
				t.Errorf("cuMemAlloc returned %d, not the result of the function from cuGetProcAddress", got)
			}
			if got := rawCode(d.CuMemFree(0)); got != 21 {
				t.Errorf("cuMemFree returned %d: success with a null pointer did not count as missing", got)
			}
			if got := rawCode(d.CuEventQuery(0)); got != 22 {
				t.Errorf("cuEventQuery returned %d: an error did not count as missing", got)
			}
			if got := rawCode(d.CuGraphExecUpdate_v10020(0, 0, nil, nil)); got != 11 {
				t.Errorf("cuGraphExecUpdate_v10020 returned %d", got)
			}
			if got := rawCode(d.CuCtxSynchronize()); got == 0 || got > d.Version() {
				t.Errorf("a driver of version %d was queried for functions of version %d", d.Version(), got)
			}
			if d.Has(cu.FnCuGraphAddNode) || !errors.Is(d.CuGraphAddNode(nil, 0, nil, nil, 0, nil), cu.ErrNotSupported) {
				t.Error("cuGraphAddNode of CUDA 12.3 is in a driver of 12.2")
			}
		})
	}
}

// Like real drivers, getproc.c returns its oldest cuGraphExecUpdate for every CUDA version. A CUDA
// 11.4 driver must therefore not be queried for the function of CUDA 12.0.
func TestTheSystemLibraryIsNotAskedForMoreThanItsVersion(t *testing.T) {
	d := systemDriver(t, compile(t, "testdata/getproc.c", "-DVERSION=11040", "-DFIRST_FORM"))
	if d.Has(cu.FnCuGraphExecUpdate) || !d.Has(cu.FnCuGraphExecUpdate_v10020) {
		t.Error("the wrong form of cuGraphExecUpdate was taken")
	}
	_, err := d.Library().Lookup("cuGraphExecUpdate_v2")
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "12.0") || !strings.Contains(err.Error(), "11.4") {
		t.Errorf("lookup: %v", err)
	}
	if p, err := d.Library().Lookup("cuGraphExecUpdate"); err != nil || p.IsZero() {
		t.Errorf("lookup of the older form: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnusableSystemLibrariesAreRefused(t *testing.T) {
	for flag, want := range map[string]string{"-DVERSION=11030": "11.3", "-DNO_FORM": "cuGetProcAddress"} {
		_, err := cu.SystemLibrary(compile(t, "testdata/getproc.c", flag))
		if !errors.Is(err, cu.ErrDriverTooOld) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	_, err := cu.SystemLibrary("/nowhere/libcuda.so.1")
	var open *loader.OpenError
	if !errors.As(err, &open) || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1") {
		t.Errorf("no library: %v", err)
	}
}

// The toolkit's stub library is in a folder named stubs. The error must explain what to do.
func TestTheToolkitsStubIsRefused(t *testing.T) {
	stubs := filepath.Join(t.TempDir(), "stubs")
	if err := os.Mkdir(stubs, 0o755); err != nil {
		t.Fatal(err)
	}
	stub := filepath.Join(stubs, "libcuda.so")
	if err := os.Rename(compile(t, "testdata/getproc.c"), stub); err != nil {
		t.Fatal(err)
	}
	_, err := cu.SystemLibrary(stub)
	if !errors.Is(err, loader.ErrStubLibrary) || !strings.Contains(err.Error(), stub) || !strings.Contains(err.Error(), "LD_LIBRARY_PATH") {
		t.Errorf("error %v", err)
	}
}
