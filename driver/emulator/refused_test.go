package emulator_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/ptxforms"
	"github.com/purecuda/cuda/internal/ptxtest"
	"github.com/purecuda/cuda/ptx/isa"
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
	for _, symbol := range []string{"cuDeviceGetLuid", "cuDeviceGetNvSciSyncAttributes"} { // these functions check their arguments first
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

func TestAContextEndsWithItsLastUser(t *testing.T) {
	if onGPU {
		t.Skip("drivers were asked about primary contexts alone")
	}
	r := newRig(t)
	var ctx, again cu.CUcontext
	r.ok(r.CuCtxCreate(&ctx, nil, 0, r.dev))
	r.ok(r.CuCtxAttach(&again, 0))
	r.ok(r.CuCtxDetach(ctx))
	r.ok(r.CuCtxSynchronize())
	r.ok(r.CuCtxDetach(ctx))
	r.want("once more", r.CuCtxDetach(ctx), cu.CUDA_ERROR_INVALID_CONTEXT)
	r.ok(r.CuCtxSetCurrent(r.ctx))
}

// loads loads and unloads a module. It returns the error log of the JIT compiler.
func (r *rig) loads(text string) (says string, err error) {
	image, log := append([]byte(text), 0), make([]byte, 4096)
	options := []cu.CUjit_option{cu.CU_JIT_ERROR_LOG_BUFFER, cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}
	values := []unsafe.Pointer{unsafe.Pointer(&log[0]), nil}
	*(*uintptr)(unsafe.Pointer(&values[1])) = uintptr(len(log))
	var m cu.CUmodule
	if err = r.CuModuleLoadDataEx(&m, unsafe.Pointer(&image[0]), uint32(len(options)), &options[0], &values[0]); err == nil {
		r.ok(r.CuModuleUnload(m))
	}
	log, _, _ = bytes.Cut(log, []byte{0})
	return string(log), err
}

// notEmulated lists the sections in the instruction list that the emulator rejects completely, and
// the prefixes of rejected instructions in other sections. docs/emulator-instructions.md lists the
// forms.
var notEmulated = []string{"multimem", "textures and surfaces", "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor", "tensormap.", "wgmma.",
	"vadd.", "vsub.", "vabsdiff.", "vmin.", "vmax.", "vshl.", "vmad.", "vset."}

func isEmulated(section, form string) bool {
	for _, no := range notEmulated {
		if section == no || strings.HasPrefix(form, no) {
			return false
		}
	}
	// Devices follow the ISA only for some forms of vshr.
	return !strings.HasPrefix(form, "vshr.") || !strings.Contains(form, ".min ") && !strings.Contains(form, ".max ") && !strings.Contains(form, ".h") && !strings.Contains(form, ".b")
}

// A driver accepts all forms in the instruction list. If the emulator lacks a form, it must reject
// the module at load and report the line.
func TestInstructionFormsOfTheISA(t *testing.T) {
	r := newRig(t)
	for _, p := range ptxtest.Instructions() {
		forms := p.Forms()
		if _, err := r.loads(p.Module(forms...)); err == nil && (onGPU || isEmulated(p.Section, p.Text)) {
			continue
		}
		for _, form := range forms {
			says, err := r.loads(p.Module(form))
			switch {
			case onGPU || isEmulated(p.Section, form):
				if err != nil {
					t.Errorf("instructions.txt:%d: %s: %v: %s", p.Line, form, err, says)
				}
			case code(err) != cu.CUDA_ERROR_NOT_SUPPORTED:
				t.Errorf("instructions.txt:%d: %s: got %v", p.Line, form, err)
			default:
				name := strings.FieldsFunc(form, func(c rune) bool { return c == ' ' || c == ';' })[0]
				at := strings.Count(strings.Split(p.Module(form), form)[0], "\n") + 1
				if want := fmt.Sprintf("line %d; error   : %s: instruction is not supported", at, name); !strings.Contains(says, want) {
					t.Errorf("instructions.txt:%d: said %q, want %q", p.Line, says, want)
				}
			}
		}
	}
}

// unasked lists two kinds of forms that are not tested here: forms whose operands are function
// names or labels, which other tests cover, and forms for newer GPUs.
var unasked = map[string]bool{
	"call": true, "brx.idx": true, "multimem.cp.async.bulk": true, "multimem.cp.reduce.async.bulk": true,
}

// Each form that the rules in package isa allow must either run, or be listed as missing and fail
// with CUDA_ERROR_NOT_SUPPORTED. PURECUDA_UPDATE=1 writes the list, which docs/ptx-instructions.md
// prints.
func TestTheListOfMissingForms(t *testing.T) {
	if onGPU {
		t.Skip("a GPU executes every form")
	}
	r := newRig(t)
	var found []string
	loaded := 0
	load := func(text string) (string, bool) {
		loaded++
		says, err := r.loads(text)
		switch {
		case err == nil:
			return "", false
		case code(err) != cu.CUDA_ERROR_NOT_SUPPORTED:
			t.Errorf("the rules allow it, the emulator says %v: %s\n%s", err, says, text)
		}
		_, why, _ := strings.Cut(says, "which has no ")
		why, _, _ = strings.Cut(why, "\n")
		return why, true
	}
	nth := 0
	for _, name := range isa.Names() {
		for _, f := range isa.Forms(name) {
			if nth++; testing.Short() && nth%7 != 0 {
				continue
			}
			before := loaded
			m, there := ptxforms.Find(f, load)
			if loaded == before && !strings.HasSuffix(f.Since(), "sm_100") && !unasked[f.Name()] {
				t.Errorf("there is no instruction of the form %v", f)
			}
			if !there {
				found = append(found, m.String())
			}
		}
	}
	var want []string
	for _, m := range ptxforms.List() {
		want = append(want, m.String())
	}
	if os.Getenv("PURECUDA_UPDATE") != "" && !testing.Short() {
		if err := os.WriteFile("../../internal/ptxforms/missing.txt", []byte(strings.Join(found, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, m := range found {
		if !slices.Contains(want, m) {
			t.Errorf("the emulator lacks it, and internal/ptxforms/missing.txt does not say so: %q", m)
		}
	}
	for _, m := range want {
		if !slices.Contains(found, m) && !testing.Short() {
			t.Errorf("internal/ptxforms/missing.txt says that the emulator lacks it, which is not so: %q", m)
		}
	}
	if least := 8000; !testing.Short() && loaded < least {
		t.Errorf("%d instructions are loaded, fewer than %d", loaded, least)
	}
}
