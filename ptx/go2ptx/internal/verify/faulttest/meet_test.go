package faulttest_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

const (
	meeting = 128 // number of threads
	rounds  = 50
)

// leaving maps test names to functions that return the round in which thread i leaves. The first
// thread of each warp stays, except in the last two functions.
var leaving = map[string]func(i int) int{
	"nobody":         func(i int) int { return rounds },
	"every fourth":   func(i int) int { return leavesIf(i%4 == 3, 0) },
	"one by one":     func(i int) int { return leavesIf(i%32 != 0, i%(rounds+7)) },
	"last lane":      func(i int) int { return leavesIf(i == meeting-1, rounds-1) },
	"a whole warp":   func(i int) int { return leavesIf(i/32 == 1, 3) },
	"all but thread": func(i int) int { return leavesIf(i != 0, i/32) },
}

func leavesIf(leaves bool, round int) int {
	if leaves {
		return round
	}
	return rounds
}

// Block and warp barriers, votes and shuffles in compiled kernels must wait only for threads that
// have not failed, and count only those.
func TestThreadsMeetWithoutThoseThatFailed(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		m := load(t, c, compiled(t, "meet", go2ptx.Config{}))
		s, when, out := stream(t, c), buffer(t, c, meeting), buffer(t, c, meeting)
		for name, leaves := range leaving {
			for _, k := range []string{"block", "warp"} {
				t.Run(k+", "+name, func(t *testing.T) {
					rows, faults := make([]int32, meeting), 0
					for i := range rows {
						rows[i] = int32(leaves(i))
						if leaves(i) < rounds {
							faults++
						}
					}
					ok(t, when.CopyFrom(rows))
					ok(t, out.Fill(-1))
					ok(t, kernel(t, m, k).Launch(s, driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(meeting)}, sliceOf(when), sliceOf(out)))
					found := faultsOf(wait(t, s))
					if (len(found) == 1) != (faults > 0) {
						t.Fatalf("%d threads left, and the faults are %v", faults, found)
					}
					for _, f := range found {
						if f.Message != "the thread leaves" || leaves(int(f.Thread[0])) >= rounds {
							t.Errorf("the fault is %v", f)
						}
					}
					ok(t, out.CopyTo(rows))
					for i, v := range rows {
						if want := total(k, i, leaves); v != want {
							t.Fatalf("thread %d has %d, not %d", i, v, want)
						}
					}
				})
			}
		}
	})
}

// total returns the value that thread i stores, or -1 if the thread leaves.
func total(kernel string, i int, leaves func(i int) int) int32 {
	if leaves(i) < rounds {
		return -1
	}
	first, last, sum := 0, meeting, 0
	if kernel == "warp" {
		first, last = i/32*32, i/32*32+32
	}
	for r := range rounds {
		sum += r + 1
		for j := first; j < last; j++ {
			if leaves(j) > r {
				sum++
			}
		}
	}
	return int32(sum)
}
