package emulator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

// FuzzModule loads PTX of strangers. It is refused with one of the codes for
// code that is no good, or its kernels can be looked at.
func FuzzModule(f *testing.F) {
	for _, pattern := range []string{"../testdata/*/*.ptx", "internal/vm/testdata/*/*.ptx", "../../examples/*/*.ptx"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		if len(files) == 0 {
			f.Errorf("no file is like %s", pattern)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	d, err := driver.New(emulator.New(emulator.Config{}))
	if err != nil {
		f.Fatal(err)
	}
	if err := d.Init(); err != nil {
		f.Fatal(err)
	}
	dev, err := d.Device(0)
	if err != nil {
		f.Fatal(err)
	}
	c, err := dev.PrimaryContext()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") || len(text) > 1<<16 {
			return // ends there
		}
		loadAndLook(t, c, text)
	})
}

func loadAndLook(t *testing.T, c *driver.Context, text string) {
	m, err := c.LoadModule([]byte(text))
	if err != nil {
		if !noGood(err) {
			t.Errorf("refused with %v", err)
		}
		return
	}
	names, err := m.Kernels()
	if err != nil {
		t.Error(err)
	}
	for _, name := range names {
		// A kernel that is .extern is declared, but need not be there.
		if _, err := m.Kernel(name); err != nil && !strings.Contains(text, ".extern") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// noGood reports whether an error is about code: of the emulator, or of what
// looks at an image before any driver does.
func noGood(err error) bool {
	switch code(err) {
	case driver.CUDA_ERROR_INVALID_PTX, driver.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, driver.CUDA_ERROR_NO_BINARY_FOR_GPU,
		driver.CUDA_ERROR_NOT_SUPPORTED, driver.CUDA_ERROR_OUT_OF_MEMORY: // its variables may be too large
		return true
	}
	var asked *driver.Error
	return !errors.As(err, &asked) && errors.Is(err, driver.CUDA_ERROR_INVALID_VALUE)
}

func TestCodeIsNotRefusedForAnyReason(t *testing.T) {
	for _, r := range []driver.CUresult{driver.CUDA_ERROR_INVALID_VALUE, driver.CUDA_ERROR_UNKNOWN, driver.CUDA_ERROR_ILLEGAL_ADDRESS} {
		if noGood(&driver.Error{Result: r}) {
			t.Errorf("%v is said to be about code", r)
		}
	}
}
