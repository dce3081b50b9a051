package emulator_test

import (
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// A kernel that is declared must be defined unless it is .extern, as ptxas requires.
func TestDeclaredKernels(t *testing.T) {
	const head = ".version 7.0\n.target sm_52\n.address_size 64\n"
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	for text, want := range map[string]cu.CUresult{
		".visible .entry k;": cu.CUDA_ERROR_INVALID_PTX,
		".entry k;":          cu.CUDA_ERROR_INVALID_PTX,
		".extern .entry k;":  cu.CUDA_SUCCESS,
		".visible .entry k;\n.visible .entry k(){ ret; }": cu.CUDA_SUCCESS,
	} {
		m, err := c.LoadModule([]byte(head + text))
		if code(err) != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
