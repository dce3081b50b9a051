package processor_test

import (
	"testing"
	"time"

	"github.com/purecuda/cuda/bench/internal/processor"
)

func TestComputingTakesTime(t *testing.T) {
	before := processor.Time()
	for end := time.Now().Add(10 * time.Second); processor.Time() < before+50*time.Millisecond; {
		if time.Now().After(end) {
			t.Fatalf("10 s of computing took %v of a processor", processor.Time()-before)
		}
	}
}
