//go:build linux && (amd64 || arm64) && !static

package cu_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// rawCompiled returns a driver whose functions are C code compiled from testdata/byvalue.c.
func rawCompiled(t *testing.T) *cu.Driver {
	t.Helper()
	lib, err := loader.Open(compile(t, "testdata/byvalue.c"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := cu.New(lib)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func rawCode(err error) int {
	var e *cu.Error
	if !errors.As(err, &e) {
		return 0
	}
	return int(e.Result)
}

func TestLargeStructsArriveInC(t *testing.T) {
	d := rawCompiled(t)
	var memory cu.CUipcMemHandle
	var event cu.CUipcEventHandle
	want := uint64(0)
	for i := range memory.Reserved {
		memory.Reserved[i] = byte(3*i + 200)
		event.Reserved[i] = byte(3*i + 200)
		want = want*31 + uint64(memory.Reserved[i])
	}
	var p cu.CUdeviceptr
	if got := rawCode(d.CuIpcOpenMemHandle(&p, memory, 55)); got != 55 || uint64(p) != want {
		t.Errorf("memory handle: flags %d, digest %x, want 55, %x", got, uint64(p), want)
	}
	var e cu.CUevent
	if got := rawCode(d.CuIpcOpenEventHandle(&e, event)); got != 77 || uint64(e) != want {
		t.Errorf("event handle: returned %d, digest %x, want 77, %x", got, uint64(e), want)
	}
}

func TestSmallStructsArriveInC(t *testing.T) {
	d := rawCompiled(t)
	where := cu.CUmemLocation{Type: 4, Id: 5}
	if got := rawCode(d.CuMemAdvise(1, 2, 3, where)); got != 54321 {
		t.Errorf("cuMemAdvise got %d", got)
	}
	if got := rawCode(d.CuMemPrefetchAsync(1, 2, where, 6, 7)); got != 765421 {
		t.Errorf("cuMemPrefetchAsync got %d", got)
	}
}

func TestFloatsArriveInC(t *testing.T) {
	d := rawCompiled(t)
	if got := rawCode(d.CuTexRefSetMipmapLevelBias(1, 2.5)); got != 251 {
		t.Errorf("cuTexRefSetMipmapLevelBias got %d", got)
	}
	if got := rawCode(d.CuTexRefSetMipmapLevelClamp(1, 0.25, 0.5)); got != 5026 {
		t.Errorf("cuTexRefSetMipmapLevelClamp got %d", got)
	}
	if got := rawCode(d.CuParamSetf(1, 2, 0.75)); got != 96 {
		t.Errorf("cuParamSetf got %d", got)
	}
}
