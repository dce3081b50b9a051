package faulttest_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// The first misaligned vector that a thread loads is reported, whichever checks the compiler has removed.
func TestMisalignedVectorsUnderConditions(t *testing.T) {
	out := compiled(t, "tiles", go2ptx.Config{})
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m, s := load(t, c, out), stream(t, c)
		x, y := buffer(t, c, 64), buffer(t, c, 64)
		for _, test := range []struct {
			kernel string
			length int64
			mark   string // of the line that faults, or empty
		}{
			{"up", 3, ""}, {"up", 4, "up near"}, {"up", 35, "up near"}, {"up", 36, "up near"},
			{"down", 3, ""}, {"down", 4, "down near"}, {"down", 35, "down near"}, {"down", 36, "down far"},
			{"other", 3, ""}, {"other", 35, ""}, {"other", 36, "other far"},
		} {
			for _, misaligned := range []bool{false, true} {
				p := sliceOf(x)
				if misaligned {
					p.ptr += 4
				}
				p.len = test.length
				cfg := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(32)}
				ok(t, kernel(t, m, test.kernel).Launch(s, cfg, p, sliceOf(y)))
				faults := faultsOf(wait(t, s))
				if !misaligned || test.mark == "" {
					if len(faults) != 0 {
						t.Errorf("%v, misaligned: %t: the faults are %v", test, misaligned, faults)
					}
					continue
				}
				if len(faults) != 1 || faults[0].Kind != "align" || faults[0].Line != marked(t, "tiles", test.mark) {
					t.Errorf("%v: the faults are %v", test, faults)
				}
			}
		}
	})
}
