package emulator_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

func TestNoFunctionOfTheDriverIsMissing(t *testing.T) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	for f := range cu.Functions() {
		if _, err := emu.Lookup(f.Symbol()); err != nil {
			t.Error(err)
		}
	}
}

func TestARefusalSaysWhatIsNotEmulated(t *testing.T) {
	if onGPU {
		t.Skip("a driver refuses other things")
	}
	var log bytes.Buffer
	r := newRigWith(t, emulator.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	var at cu.CUlogIterator
	r.ok(r.CuLogsCurrent(&at, 0))
	var tex cu.CUtexObject
	r.want("texture", r.CuTexObjectCreate(&tex, nil, nil, nil), cu.CUDA_ERROR_NOT_SUPPORTED)
	text := make([]byte, 1<<15)
	size := uintptr(len(text))
	r.ok(r.CuLogsDumpToMemory(&at, &text[0], &size, 0))
	for _, said := range []string{log.String(), string(text[:size])} {
		if !strings.Contains(said, "cuTexObjectCreate") || !strings.Contains(said, "textures and surfaces") {
			t.Errorf("it said %q", said)
		}
	}
	if what, refused := emulator.Refused("cuTexObjectCreate"); !refused || what != "textures and surfaces" {
		t.Errorf("%q, %v", what, refused)
	}
	for _, symbol := range []string{"cuDeviceGetLuid", "cuDeviceGetNvSciSyncAttributes"} { // which check their arguments first
		if _, refused := emulator.Refused(symbol); !refused {
			t.Errorf("%s is not refused", symbol)
		}
	}
	var luid [8]byte
	var mask uint32
	r.want("no device", r.CuDeviceGetLuid(&luid[0], &mask, 99), cu.CUDA_ERROR_INVALID_DEVICE)
	if what, refused := emulator.Refused("cuMemAlloc_v2"); refused {
		t.Errorf("what is implemented: %q", what)
	}
}

// dump returns the driver's journal after an iterator.
func (r *rig) dump(at *cu.CUlogIterator) string {
	r.t.Helper()
	text := make([]byte, 1<<15)
	size := uintptr(len(text))
	r.ok(r.CuLogsDumpToMemory(at, &text[0], &size, 0))
	return string(text[:size])
}

func TestTheJournalKeepsTheLastFailures(t *testing.T) {
	if onGPU {
		t.Skip("what a driver writes is its own")
	}
	r := newRig(t)
	var at, middle cu.CUlogIterator
	r.ok(r.CuLogsCurrent(&at, 0))
	for range 60 {
		r.want("nowhere", r.CuMemAlloc(nil, 4), cu.CUDA_ERROR_INVALID_VALUE)
	}
	r.ok(r.CuLogsCurrent(&middle, 0))
	for range 70 {
		r.want("nowhere", r.CuMemFree(64), cu.CUDA_ERROR_INVALID_VALUE)
	}
	if n := strings.Count(r.dump(&middle), "cuMemFree_v2: CUDA_ERROR_INVALID_VALUE (1)\n"); n != 70 {
		t.Errorf("%d lines after the middle", n)
	}
	if text := r.dump(&middle); text != "" {
		t.Errorf("after a dump: %q", text)
	}
	if text := r.dump(&at); strings.Count(text, "\n") != 100 || strings.Count(text, "cuMemAlloc_v2") != 30 {
		t.Errorf("of all: %q", text)
	}
}
