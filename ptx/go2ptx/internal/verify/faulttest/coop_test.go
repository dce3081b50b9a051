package faulttest_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

// The blocks of a cooperative launch wait for each other many times. After each barrier, they must
// see what the other blocks wrote.
func TestBarrierOfTheGrid(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) { gridRounds(t, c) })
}

// The grid barrier orders the accesses of the blocks, so the sanitizer must not report a race.
func TestBarrierOfTheGridIsNoRace(t *testing.T) {
	emu := emulator.New(emulator.Config{Check: emulator.CheckAll})
	gridRounds(t, gputest.Context(t, gputest.Driver(t, emu)))
	for _, f := range emu.Findings() {
		t.Errorf("found %v", f)
	}
}

func gridRounds(t *testing.T, c *driver.Context) {
	const blocks, rounds = 20, 50
	m := load(t, c, compiled(t, "coop", go2ptx.Config{Lines: true}))
	s, x, y := stream(t, c), buffer(t, c, blocks), buffer(t, c, blocks)
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(64), Cooperative: true}
	now, next := make([]int32, blocks), make([]int32, blocks)
	for range 3 {
		ok(t, x.CopyFrom(now))
		ok(t, kernel(t, m, "rounds").Launch(s, cfg, sliceOf(x), sliceOf(y), int64(rounds)))
		ok(t, wait(t, s))
		for range rounds {
			sum := int32(0)
			for _, v := range now {
				sum += v
			}
			for i := range next {
				next[i] = sum%1000 + int32(i)
			}
			now, next = next, now
		}
		got := make([]int32, blocks)
		ok(t, x.CopyTo(got)) // after an even number of rounds, the results are in x
		for i := range got {
			if got[i] != now[i] {
				t.Fatalf("block %d computed %d, not %d", i, got[i], now[i])
			}
		}
	}
}
