package processor_test

import (
	"testing"
	"time"

	"github.com/purecuda/cuda/bench/internal/processor"
)

func TestComputingTakesTime(t *testing.T) {
	before := processor.Time()
	for range 1 << 26 {
		if processor.Time() >= before+50*time.Millisecond {
			return
		}
	}
	t.Errorf("computing took %v", processor.Time()-before)
}
