package elem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/elem"
)

func TestBytes(t *testing.T) {
	type point struct{ X, Y float32 }
	for n, want := range map[int]uintptr{0: 0, 1: 8, 1000: 8000} {
		if got, err := elem.Bytes[point](n); got != want || err != nil {
			t.Errorf("%d points: %d bytes, %v, want %d", n, got, err, want)
		}
	}
	refused := func(what, says string, err error) {
		t.Helper()
		if !errors.Is(err, cu.CUDA_ERROR_INVALID_VALUE) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", what, err, says)
		}
	}
	_, err := elem.Bytes[point](-1)
	refused("a negative length", "negative length -1", err)
	_, err = elem.Bytes[point](int(elem.MaxBytes/8) + 1)
	refused("more than the address space", "does not fit", err)
	_, err = elem.Bytes[struct{}](1)
	refused("an element of no size", "has no size", err)
	_, err = elem.Bytes[struct{ Names [2]string }](1)
	refused("an element with a Go pointer", ".Names[0] is a Go string", err)
	for range 2 { // the second iteration reads the result from the table
		refused("a slice", "it is a Go slice", elem.Check[[]byte]())
	}
	if err := elem.Check[[4]complex64](); err != nil {
		t.Errorf("an array of numbers: %v", err)
	}
}
