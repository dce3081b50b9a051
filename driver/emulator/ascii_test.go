package emulator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
)

// Both drivers reject it and report the line.
func TestPTXThatIsNotASCIIIsRefused(t *testing.T) {
	const head = ".version 7.0\n.target sm_52\n.address_size 64\n"
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		_, err := c.LoadModule([]byte(head + "// a (m×n)\n.visible .entry k() { ret; }\n"))
		if !errors.Is(err, cu.CUDA_ERROR_INVALID_PTX) || !strings.Contains(err.Error(), "non-ASCII") || !strings.Contains(err.Error(), "line 4") {
			t.Errorf("error %v, want CUDA_ERROR_INVALID_PTX of line 4", err)
		}
		m, err := c.LoadModule([]byte(head + "// a (m x n)\n.visible .entry k() { ret; }\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
}
