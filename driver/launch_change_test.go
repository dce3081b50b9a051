package driver_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/launch"
)

// sent launches l and returns the bytes of its arguments as the driver got them.
func (a *axpyFake) sent(t testing.TB, l *driver.Launch) [][]byte {
	t.Helper()
	noError(t, a.s.Do(l))
	var args [][]byte
	for _, b := range a.launch.args {
		args = append(args, slices.Clone(b))
	}
	return args
}

func TestCloneOfALaunchChangesByItself(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	before := a.sent(t, l)
	c := l.Clone()
	if got := a.sent(t, c); !slices.EqualFunc(got, before, slices.Equal) {
		t.Errorf("clone sends %v, not %v", got, before)
	}
	noError(t, driver.SetArg(c, 3, uint32(9)))
	noError(t, driver.SetArg(c, 0, a.y))
	noError(t, driver.SetArg(c, 4, shape{7, 8, 9}))
	noError(t, c.SetConfig(driver.LaunchConfig{Grid: driver.D1(5), Block: driver.D1(32)}))
	if got := a.sent(t, l); !slices.EqualFunc(got, before, slices.Equal) || a.launch.grid != driver.D1(2) {
		t.Errorf("the original sends %v, not %v", got, before)
	}
	got := a.sent(t, c)
	if n := binary.LittleEndian.Uint32(got[3]); n != 9 || binary.LittleEndian.Uint64(got[0]) != uint64(a.y.Ptr()) || got[4][0] != 7 || a.launch.grid != driver.D1(5) {
		t.Errorf("the clone sends %v", got)
	}
	if l.Block().SameRefs(c.Block()) || !l.Block().SameRefs(l.Clone().Block()) {
		t.Error("memory of one is taken for that of the other")
	}
	var none *driver.Launch
	if none.Clone() != nil {
		t.Error("clone of no launch")
	}
}

func TestChangeArgTellsWhatChanged(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	change := func(what string, want bool, changed bool, err error) {
		t.Helper()
		noError(t, err)
		if changed != want {
			t.Errorf("%s: changed %v", what, changed)
		}
	}
	set := func(v uint32) (bool, error) { return changeArg(l, 3, v) }
	buffer := func(b *driver.Buffer[float32]) (bool, error) { return changeArg(l, 0, b) }
	c, err := set(64)
	change("the same number", false, c, err)
	c, err = set(65)
	change("another number", true, c, err)
	c, err = buffer(a.x)
	change("the same memory", false, c, err)
	c, err = buffer(a.y)
	change("other memory", true, c, err)
	c, err = changeArg(l, 6, uint16(8))
	change("a half word", true, c, err)
	c, err = changeArg(l, 6, uint16(8))
	change("the same half word", false, c, err)
	_, err = changeArg(l, 9, 1)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 9")
	_, err = changeArg(l, 3, float32(1))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "argument 3")
}

func TestArgumentsAreFoundByNameAndCheckedByType(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	i, err := l.ArgIndex("alpha")
	noError(t, err)
	if i != 2 {
		t.Errorf("alpha is argument %d", i)
	}
	_, err = l.ArgIndex("gamma")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "gamma", "alpha")
	_, err = l.ArgIndex("")
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
	must(driver.ArgOf[float32](l, 2))(t)
	must(driver.ArgOf[*driver.Buffer[float32]](l, 0))(t)
	must(driver.ArgOf[shape](l, 4))(t)
	_, err = driver.ArgOf[float64](l, 2)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "alpha")
	_, err = driver.ArgOf[any](l, 2)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "alpha")
	_, err = driver.ArgOf[int32](nil, 0)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE)
	if p := launch.Plain[float32](l.Block(), 2); p == nil || *p != launch.WordOf(float32(2.5)) {
		t.Error("alpha is not where it is said to be")
	}
	if launch.Plain[uint16](l.Block(), 6) != nil || launch.Plain[shape](l.Block(), 4) != nil || launch.Plain[*driver.Buffer[float32]](l.Block(), 0) != nil || launch.Plain[uint32](l.Block(), 2) != nil {
		t.Error("what is more than a number of its type has no short way")
	}
}

// A Launches has copies of the arguments: what is changed afterwards is another
// launch. The places of launches are used again for others.
func TestLaunchesHaveTheArgumentsOfTheMoment(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	b := launch.NewBatch()
	b.Reset(&a.c.Driver().Driver, a.s.Raw())
	want := a.sent(t, l)
	b.Add(l.Block())
	noError(t, driver.SetArg(l, 3, uint32(9)))
	noError(t, driver.SetArg(l, 4, shape{7, 8, 9}))
	done, err := b.Run()
	noError(t, err)
	if done != 1 || !slices.EqualFunc(a.launch.args, want, slices.Equal) {
		t.Errorf("%d launches, arguments %v, want %v", done, a.launch.args, want)
	}
	k := must(a.m.Kernel("nothing"))(t)
	none := must(k.Prepare(a.config()))(t)
	for _, list := range [][]*driver.Launch{{l}, {none, l}, {l.Clone()}, {l, l}} {
		b.Empty()
		for _, l := range list {
			b.Add(l.Block())
		}
		done, err = b.Run()
		noError(t, err)
		if n := binary.LittleEndian.Uint32(a.launch.args[3]); done != len(list) || n != 9 {
			t.Errorf("%d launches, n is %d", done, n)
		}
	}
}

// A configuration is that of the moment too, and that of one launch.
func TestLaunchesHaveTheConfigurationOfTheMoment(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	other := l.Clone()
	b := launch.NewBatch()
	b.Reset(&a.c.Driver().Driver, a.s.Raw())
	for i, l := range []*driver.Launch{l, l, other, l} {
		cfg := l.Config()
		cfg.Grid.X = uint32(i/2 + 1) // each twice
		noError(t, l.SetConfig(cfg))
		want := a.sent(t, l)
		grid := a.launch.grid
		b.Empty()
		b.Add(l.Block())
		_, err := b.Run()
		noError(t, err)
		if a.launch.grid != grid || !slices.EqualFunc(a.launch.args, want, slices.Equal) {
			t.Errorf("launch %d: grid %v, want %v", i, a.launch.grid, grid)
		}
	}
}

// changeArg sets an argument and reports whether it changed.
func changeArg[T any](l *driver.Launch, i int, v T) (bool, error) {
	was := l.Block().Mark(i)
	err := driver.SetArg(l, i, v)
	return l.Block().Changed(was), err
}
