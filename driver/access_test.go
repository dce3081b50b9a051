package driver_test

import (
	"math/rand/v2"
	"testing"

	"github.com/purecuda/cuda/driver"
)

// Boxes are compared exactly: what is said about two is what their bytes say.
func TestAccessesOverlapByTheByte(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	yes := 0
	for range 20000 {
		a, b := randomAccess(rnd), randomAccess(rnd)
		first, want := firstCommon(bytesOf(a), bytesOf(b))
		from, to, got := a.Common(b)
		if got != want || a.Overlaps(b) != want {
			t.Fatalf("%+v and %+v: got %v, want %v", a, b, got, want)
		}
		if !got {
			continue
		}
		yes++
		if from < first || from >= to || !bytesOf(a)[from] || !bytesOf(b)[to-1] {
			t.Fatalf("%+v (%+v) and %+v (%+v): common bytes %d to %d", a, a.Rows, b, b.Rows, from, to)
		}
	}
	if yes < 1000 || yes > 19000 {
		t.Errorf("%d of the pairs overlap: not much of a test", yes)
	}
}

func randomAccess(rnd *rand.Rand) driver.Access {
	a := driver.Access{Addr: 1000 + uint64(rnd.IntN(60)), Bytes: uint64(rnd.IntN(30)), Mode: driver.Writes}
	if rnd.IntN(2) == 0 {
		return a
	}
	r := driver.Rows{Width: 1 + uint64(rnd.IntN(5)), Count: 1 + uint64(rnd.IntN(4)), Layers: 1 + uint64(rnd.IntN(3))}
	r.Pitch = r.Width + uint64(rnd.IntN(5))
	r.Layer = r.Pitch*r.Count + uint64(rnd.IntN(9))
	a.Bytes = r.Layer*(r.Layers-1) + r.Pitch*(r.Count-1) + r.Width
	a.Rows = &r
	return a
}

func bytesOf(a driver.Access) map[uint64]bool {
	all := make(map[uint64]bool)
	r := a.Rows
	if r == nil {
		r = &driver.Rows{Width: a.Bytes, Count: 1, Layers: 1}
	}
	for z := range r.Layers {
		for y := range r.Count {
			for x := range r.Width {
				all[a.Addr+z*r.Layer+y*r.Pitch+x] = true
			}
		}
	}
	return all
}

func firstCommon(a, b map[uint64]bool) (uint64, bool) {
	first, found := uint64(0), false
	for i := range a {
		if b[i] && (!found || i < first) {
			first, found = i, true
		}
	}
	return first, found
}

// A box is as narrow as the operation that works on it, and none where rows
// leave no gaps.
func TestCopiesAndFillsSayWhichBytesTheyUse(t *testing.T) {
	a := newAxpy(t)
	b := must(driver.Alloc[byte](a.c, 256))(t)
	c := must(driver.Alloc[byte](a.c, 256))(t)
	base := uint64(b.Ptr())
	box := func(width, height, depth uintptr) driver.Access {
		op := must(driver.Copy3D(driver.Region{Memory: b, Pitch: 16, Rows: 4, X: 3, Y: 1, Layer: 1}, driver.Region{Memory: c, Pitch: 16, Rows: 4}, width, height, depth))(t)
		return op.Accesses()[0]
	}
	start := base + 4*16 + 16 + 3
	for _, c := range []struct {
		what string
		got  driver.Access
		at   uint64
		n    uint64
		rows *driver.Rows
	}{
		{"a box", box(5, 2, 2), start, 64 + 16 + 5, &driver.Rows{Width: 5, Pitch: 16, Count: 2, Layer: 64, Layers: 2}},
		{"a row", box(5, 1, 1), start, 5, nil},
		{"a row of two layers", box(5, 1, 2), start, 64 + 5, &driver.Rows{Width: 5, Pitch: 64, Count: 2, Layers: 1}},
		{"nothing", box(5, 0, 1), start, 0, nil},
		{"a fill with gaps", must(driver.Fill2D[byte](b, 1, 8, 3, 4))(t).Accesses()[0], base, 27, &driver.Rows{Width: 3, Pitch: 8, Count: 4, Layers: 1}},
		{"a fill without", must(driver.Fill2D[byte](b, 1, 8, 8, 4))(t).Accesses()[0], base, 32, nil},
	} {
		same := (c.rows == nil) == (c.got.Rows == nil) && (c.rows == nil || *c.rows == *c.got.Rows)
		if c.got.Addr != c.at || c.got.Bytes != c.n || !same {
			t.Errorf("%s: %+v with rows %+v, want %d bytes at %#x with rows %+v", c.what, c.got, c.got.Rows, c.n, c.at, c.rows)
		}
	}
}

func TestArgumentsSayWhatTheKernelDoesToThem(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	v := uint64(l.Block().Accesses)
	modes := func(x, y driver.AccessMode) {
		t.Helper()
		if u := l.Accesses(); u[0].Mode != x || u[1].Mode != y {
			t.Errorf("the modes are %v and %v, want %v and %v", u[0].Mode, u[1].Mode, x, y)
		}
		if uint64(l.Block().Accesses) == v {
			t.Error("the version is the same")
		}
		v = uint64(l.Block().Accesses)
	}
	noError(t, driver.SetArg(l, 0, driver.In(a.x)))
	modes(driver.Reads, driver.ReadsWrites)
	noError(t, driver.SetArg(l, 1, driver.Out(a.y)))
	modes(driver.Reads, driver.Writes)
	noError(t, driver.SetArg(l, 1, a.y.View(0, 8))) // what was declared is about the parameter
	modes(driver.Reads, driver.Writes)
	noError(t, driver.SetArg(l, 0, driver.InOut(a.x)))
	modes(driver.ReadsWrites, driver.Writes)
	noError(t, driver.SetArg(l, 0, driver.InOut(a.x)))
	noError(t, driver.SetArg(l, 2, float32(1)))
	if uint64(l.Block().Accesses) != v {
		t.Error("a number changed the version")
	}
	if err := driver.SetArg(l, 0, driver.In(nil)); err == nil {
		t.Error("declared nothing")
	}
	other := a.prepare(t)
	if uint64(other.Block().Accesses) == v {
		t.Error("two launches have one version")
	}
	if n := testing.AllocsPerRun(100, func() {
		noError(t, driver.SetArg(l, 0, driver.In(a.x)))
		noError(t, driver.SetArg(l, 0, driver.Out(a.x)))
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
