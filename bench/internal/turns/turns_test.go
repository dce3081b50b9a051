package turns

import (
	"testing"
	"time"
)

func TestInterval(t *testing.T) {
	if low, high := interval(41); low != 13 || high != 27 {
		t.Errorf("the interval of 41 values is %d to %d, want 13 to 27", low, high)
	}
}

// Each turn must call both implementations, and every other turn must begin with the second.
func TestCompare(t *testing.T) {
	var order []int
	r, err := Compare(41, func(i int) (time.Duration, error) {
		order = append(order, i)
		return time.Duration(len(order)/2*(3-i)+3-i) * time.Millisecond, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if order[0] != 0 || order[1] != 1 || order[2] != 1 || order[3] != 0 || len(order) != 82 {
		t.Errorf("the order is %v", order)
	}
	if r.Low > r.Ratio || r.Ratio > r.High || r.Ratio < 1.4 || r.Ratio > 1.6 || r.First <= r.Second {
		t.Errorf("the result is %+v", r)
	}
}
