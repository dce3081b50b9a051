package driver_test

import (
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
)

func TestElementTypesWithGoPointersAreRefused(t *testing.T) {
	type inner struct {
		N int32
		S string
	}
	type outer struct {
		A [2]inner
	}
	for _, test := range []struct {
		name  string
		err   error
		words []string
	}{
		{"string", elemErr[string](), []string{"string"}},
		{"slice", elemErr[[]int32](), []string{"[]int32", "slice"}},
		{"pointer", elemErr[*int32](), []string{"*int32", "it is a Go pointer"}},
		{"unsafe pointer", elemErr[unsafe.Pointer](), []string{"unsafe.Pointer", "it is a Go pointer"}},
		{"map", elemErr[map[int]int](), []string{"map"}},
		{"interface", elemErr[any](), []string{"interface"}},
		{"func", elemErr[func()](), []string{"it is a Go function"}},
		{"nested", elemErr[outer](), []string{"outer", ".A[0].S", "string"}},
		{"buffer", elemErr[driver.Buffer[int32]](), []string{"Buffer"}},
		{"empty", elemErr[struct{}](), []string{"no size"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, test.err, driver.CUDA_ERROR_INVALID_VALUE, test.words...)
		})
	}
}

func elemErr[T any]() error {
	_, err := driver.Alloc[T](nil, 1)
	return err
}

func TestElementTypesWithoutGoPointersAreAccepted(t *testing.T) {
	c := newFakeDevice().open(t)
	type vertex struct {
		Position [3]float32
		_        [4]byte
		Next     driver.CUdeviceptr
		Flag     bool
		Z        complex128
		None     [0]*int
	}
	if n := must(driver.Alloc[vertex](c, 3))(t).Bytes(); n != 3*unsafe.Sizeof(vertex{}) {
		t.Errorf("3 vertices take %d bytes", n)
	}
	must(driver.Alloc[int](c, 3))(t)
}
