package emulator_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/ptxtest"
)

// loads loads a module and unloads it again. It returns the JIT's error log.
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

// notEmulated lists the sections of the list that the emulator rejects, and the prefixes of
// rejected instructions in other sections. docs/emulator-instructions.md has the forms.
var notEmulated = []string{"multimem", "textures and surfaces", "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor", "tensormap.", "wgmma.",
	"vadd.", "vsub.", "vabsdiff.", "vmin.", "vmax.", "vshl.", "vmad.", "vset."}

func isEmulated(section, form string) bool {
	for _, no := range notEmulated {
		if section == no || strings.HasPrefix(form, no) {
			return false
		}
	}
	// Of vshr, the forms for which devices follow the ISA.
	return !strings.HasPrefix(form, "vshr.") || !strings.Contains(form, ".min ") && !strings.Contains(form, ".max ") && !strings.Contains(form, ".h") && !strings.Contains(form, ".b")
}

// A driver accepts all forms of the list. The emulator rejects what it lacks when the module is
// loaded, and reports the line.
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
