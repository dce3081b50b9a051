//go:build calltest

package calltest

import "testing"

func TestFloatsArriveInC(t *testing.T) {
	if got := code(open(t).CuTexRefSetMipmapLevelClamp(1, 0.25, 0.5)); got != 5026 {
		t.Errorf("cuTexRefSetMipmapLevelClamp got %d, want 5026", got)
	}
}
