package hostile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

// FuzzModule loads untrusted PTX. Either the load fails with a code that means invalid code, or the
// module's kernels can be queried.
func FuzzModule(f *testing.F) {
	for _, pattern := range []string{"../../../../testdata/*/*.ptx", "../../vm/testdata/*/*.ptx", "../../../../../examples/*/*.ptx"} {
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
	c := fuzzContext(f)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") || len(text) > 1<<16 {
			return // the text would end at the NUL
		}
		loadAndLook(t, c, text)
	})
}

// FuzzBinary loads untrusted binaries. The loader must not read outside the binary. A binary that
// is accepted must contain PTX that can be queried.
func FuzzBinary(f *testing.F) {
	files, err := filepath.Glob("../../../../testdata/images/*.*")
	if err != nil || len(files) == 0 {
		f.Fatal("there are no images:", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, image := range hostileImages(f) {
		f.Add(image)
	}
	f.Add(linkedImage(f))
	c := fuzzContext(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		loadAndLook(t, c, string(data))
	})
}

// fuzzContext creates a context on an emulator with a memory limit, so that a fuzzed module cannot
// exhaust the memory of the process.
func fuzzContext(f *testing.F) *driver.Context {
	return gputest.Context(f, gputest.Emulator(f, emulator.Config{LimitMemory: 256 << 20}))
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
		// An .extern kernel is declared but need not exist.
		if _, err := m.Kernel(name); err != nil && !strings.Contains(text, ".extern") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// noGood reports whether err means that the code is invalid. The error may come from the emulator
// or from the image checks that run before a load.
func noGood(err error) bool {
	switch code(err) {
	case cu.CUDA_ERROR_INVALID_PTX, cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cu.CUDA_ERROR_NO_BINARY_FOR_GPU,
		cu.CUDA_ERROR_INVALID_IMAGE,                              // a binary need not contain PTX
		cu.CUDA_ERROR_NOT_SUPPORTED, cu.CUDA_ERROR_OUT_OF_MEMORY: // a module's variables may be too large
		return true
	}
	var asked *cu.Error
	return !errors.As(err, &asked) && errors.Is(err, cu.CUDA_ERROR_INVALID_VALUE)
}

func TestCodeIsNotRefusedForAnyReason(t *testing.T) {
	for _, r := range []cu.CUresult{cu.CUDA_ERROR_INVALID_VALUE, cu.CUDA_ERROR_UNKNOWN, cu.CUDA_ERROR_ILLEGAL_ADDRESS} {
		if noGood(&cu.Error{Result: r}) {
			t.Errorf("%v is said to be about code", r)
		}
	}
}
func code(err error) cu.CUresult {
	if err == nil {
		return 0
	}
	var e *cu.Error
	if errors.As(err, &e) && !e.Missing {
		return e.Result
	}
	return 0xffff
}
