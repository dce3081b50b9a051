package example

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestStructsArePassedByValueAndAreElements(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		p := buffer(r, []Particle{{Place: [4]float32{1, 2, 3, 4}, Kind: 7, Weight: 0.5}, {Place: [4]float32{9, 9, 9, 1}}})
		box := Box{High: [3]float32{10, 10, 10}, Periodic: true, Steps: [4]uint64{3: 2}}
		move := r.ks.MoveParticles
		noError(t, move.Do(r.s, move.Grid(2), p.All(), r.floats(2, -3, 0).All(), box, 2))
		wants(r, p,
			Particle{Place: [4]float32{3, 9, 3, 4}, Kind: 7, Weight: 2.5},
			Particle{Place: [4]float32{1, 6, 9, 1}, Weight: 2})
	})
}

func TestInstancesOfATemplateHaveTheirOwnTypes(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		sum, tile := buffer(r, make([]int32, 6)), r.ks.GridTileInt32
		a, b := buffer(r, []int32{1, 2, 3, 4, 5, 6}), buffer(r, []int32{10, 20, 30, 40, 50, 60})
		noError(t, tile.Do(r.s, tile.Grid(3, 2), a.All(), b.All(), sum.All(), 2, 3))
		wants(r, sum, 11, 22, 33, 44, 55, 66)
	})
}

func TestWhatAKernelReadsAndWritesIsDeclared(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		a, b, sum := r.floats(1, 2), r.floats(3, 4), r.floats(0, 0)
		tile := r.ks.GridTileFloat32
		op := must(tile.Op(tile.Grid(2, 1), a, b, sum, 1, 2))(t)
		want := []driver.AccessMode{driver.Reads, driver.Reads, driver.Writes}
		for i, access := range op.Uses().Accesses {
			if access.Mode != want[i] {
				t.Errorf("access %d is %v, want %v", i, access.Mode, want[i])
			}
		}
		noError(t, r.s.Do(op))
		wants(r, sum, 4, 6)
	})
}

func TestAwkwardNamesAndNoArgumentsWork(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		r := newRig(t, c)
		sum := buffer(r, []uint32{0})
		noError(t, r.ks.Nothing.Do(r.s, r.ks.Nothing.Grid(1)))
		noError(t, r.ks.Range.Do(r.s, r.ks.Range.Grid(1), sum.All(), 1, 2, 0, 0, 3, 0, 4, 5))
		wants(r, sum, 15)
	})
}
