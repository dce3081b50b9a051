package driver_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/purecuda/cuda/driver"
)

func TestArgIsSetLikeSetArg(t *testing.T) {
	a := newAxpy(t)
	l := a.prepare(t)
	n := must(driver.ArgOf[uint32](l, 3))(t)
	by := must(driver.ArgOf[shape](l, 4))(t)
	is := func(want uint32, first byte) {
		t.Helper()
		got := a.sent(t, l)
		if v := binary.LittleEndian.Uint32(got[3]); v != want || got[4][0] != first {
			t.Errorf("n is %d, want %d; the struct begins with %d, want %d", v, want, got[4][0], first)
		}
	}
	noError(t, n.Set(9))
	noError(t, by.Set(shape{7, 8, 9}))
	is(9, 7)
	cfg := l.Config()
	cfg.Grid.X++
	noError(t, l.SetConfig(cfg)) // the short way ends; the argument is the same
	noError(t, n.Set(10))
	is(10, 7)
	noError(t, driver.SetArg(l, 3, int32(11)))
	noError(t, n.Set(12))
	is(12, 7)
}

func TestArgIsCheckedWhenItIsMade(t *testing.T) {
	l := newAxpy(t).prepare(t)
	_, wide := driver.ArgOf[uint64](l, 3)
	_, beyond := driver.ArgOf[uint32](l, 99)
	var none driver.Arg[uint32]
	for _, err := range []error{wide, beyond, none.Set(1)} {
		if err == nil {
			t.Error("accepted")
		}
	}
	if !errors.Is(wide, driver.CUDA_ERROR_INVALID_VALUE) {
		t.Error(wide)
	}
}
