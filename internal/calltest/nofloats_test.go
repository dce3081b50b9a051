//go:build calltest && purecuda_syscall

package calltest

import (
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
)

// purego.SyscallN passes words only.
func TestFloatsAreRefused(t *testing.T) {
	err := open(t).CuTexRefSetMipmapLevelClamp(1, 0.25, 0.5)
	if !errors.Is(err, driver.ErrNotSupported) {
		t.Errorf("error %v, want ErrNotSupported", err)
	}
}
