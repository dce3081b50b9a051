package kernelstest

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/ptx/kernels"
	"github.com/purecuda/cuda/ptx/num"
)

func TestFillSetsWhatItIsGivenAndNothingElse(t *testing.T) {
	each(t, func(k *kit) {
		fills(k, uint8(0xa5))
		fills(k, int16(-3))
		fills(k, num.ToF16(1.5))
		fills(k, float32(2.5))
		fills(k, int64(-0x123456789))
		fills(k, 0.1)
	})
}

func fills[T kernels.Element](k *kit, v T) {
	k.Helper()
	before := element[T](number(v) - 1)
	for _, n := range k.lengths() {
		for _, skip := range []int{0, 1, 5} {
			b := alloc[T](k, n+skip+3)
			k.ok(b.Fill(before))
			k.run(kernels.Fill(b.View(skip, skip+n), v))
			want := slices.Repeat([]T{before}, n+skip+3)
			for i := range n {
				want[skip+i] = v
			}
			if got := host(k, b); !slices.Equal(got, want) {
				k.Errorf("%T, %d elements from %d on: differs", v, n, skip)
			}
			k.ok(b.Close())
		}
	}
}

func TestFillTakesANewValueInAGraph(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100)
		op := k.made(kernels.Fill(b, float32(1)))
		g, err := graph.New(k.c)
		k.ok(err)
		k.closeLater(g)
		n, err := g.Add(op)
		k.ok(err)
		x, err := g.Instantiate()
		k.ok(err)
		k.closeLater(x)
		value, err := driver.ArgOf[float32](op, 2)
		k.ok(err)
		for _, v := range []float32{2, 3} {
			k.ok(value.Set(v))
			k.ok(x.Set(n, op))
			k.ok(x.Run(t.Context(), k.s))
			if got := host(k, b); got[0] != v || got[99] != v {
				t.Errorf("filled with %v and %v, want %v", got[0], got[99], v)
			}
		}
	})
}

func TestOperationsDeclareWhatTheyDo(t *testing.T) {
	each(t, func(k *kit) {
		b := alloc[float32](k, 100)
		uses := k.made(kernels.Fill(b, float32(1))).Uses().Accesses
		if len(uses) != 1 || uses[0].Mode != driver.Writes || uses[0].What != "dst" || uses[0].Bytes != 400 {
			t.Errorf("uses %+v", uses)
		}
	})
}

func TestOperandsThatCannotBeAreRefused(t *testing.T) {
	each(t, func(k *kit) {
		_, err := kernels.Fill[float32](nil, 1)
		k.refused(err, "fill", "dst is nil")
		b := alloc[uint8](k, 9)
		odd, err := driver.ViewAs[float32](b.View(1, 9))
		k.ok(err)
		_, err = kernels.Fill(odd, 1)
		k.refused(err, "dst", "4 bytes")
		k.ok(b.Close())
		if _, err = kernels.Fill(b, 1); err == nil {
			t.Error("memory that is closed was taken")
		}
	})
}

func TestChangingAnOperationAllocatesNothing(t *testing.T) {
	each(t, func(k *kit) {
		x := alloc[float32](k, 100)
		op := k.made(kernels.Fill(x, float32(1)))
		value, err := driver.ArgOf[float32](op, 2)
		k.ok(err)
		if n := gputest.Allocs(0, 100, func() {
			k.ok(value.Set(2))
			k.ok(driver.SetArg(op, 0, x.View(1, 100)))
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
