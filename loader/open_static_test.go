//go:build static && linux

package loader_test

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/loader"
)

func TestStaticBuildSaysWhyNothingOpens(t *testing.T) {
	_, err := loader.OpenCUDA("")
	if !errors.Is(err, loader.ErrStatic) {
		t.Errorf("error %v, want ErrStatic", err)
	}
}
