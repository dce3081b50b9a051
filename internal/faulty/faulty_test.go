package faulty_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/internal/faulty"
	"github.com/purecuda/cuda/loader"
)

type counters map[string]int

func (c counters) Name() string { return "counters" }
func (c counters) Close() error { return nil }

func (c counters) Lookup(symbol string) (loader.Proc, error) {
	if symbol != "cuMake" && symbol != "cuThingDestroy" {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	return loader.FuncProc(func(loader.Args) uintptr {
		c[symbol]++
		return 0
	}), nil
}

func lookup(t *testing.T, lib loader.Library, symbol string) *loader.Proc {
	t.Helper()
	p, err := lib.Lookup(symbol)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestOnlyTheNthCallFails(t *testing.T) {
	inner := counters{}
	lib := faulty.Wrap(inner)
	mk := lookup(t, lib, "cuMake")
	lib.FailNth(2, 719)
	var got [3]uintptr
	for i := range got {
		got[i] = mk.Call()
	}
	if got != [3]uintptr{0, 719, 0} || inner["cuMake"] != 2 {
		t.Errorf("results %v, %d calls reached the library; want the second failed and not made", got, inner["cuMake"])
	}
	log := lib.Stop()
	if len(log) != 3 || !log[1].Failed || log[1].Result != 719 {
		t.Errorf("log %+v", log)
	}
	for i, c := range log {
		if strings.Contains(c.Stack, "faulty_test.TestOnlyTheNthCallFails(") != (i == 1) {
			t.Errorf("the stack of call %d is %q", i+1, c.Stack)
		}
	}
}

func TestAFailureUnderWayIsInTheLog(t *testing.T) {
	lib := faulty.Wrap(counters{})
	mk := lookup(t, lib, "cuMake")
	lib.FailNth(1, 719)
	var log []faulty.Call
	lib.Before(func(string) { log = lib.Stop() })
	if r := mk.Call(); r != 719 {
		t.Errorf("the call returned %d", r)
	}
	if len(log) != 1 || !log[0].Failed {
		t.Errorf("whoever ended the count during the call got %+v", log)
	}
}

func TestFailCallCountsOneFunctionOnly(t *testing.T) {
	lib := faulty.Wrap(counters{})
	mk, destroy := lookup(t, lib, "cuMake"), lookup(t, lib, "cuThingDestroy")
	lib.FailCall("cuThingDestroy", 1, 1)
	if r := mk.Call(); r != 0 {
		t.Errorf("cuMake failed with %d", r)
	}
	if r := destroy.Call(); r != 1 {
		t.Errorf("cuThingDestroy gave %d, want 1", r)
	}
}

func TestAFailedReleaseIsMadeAllTheSame(t *testing.T) {
	inner := counters{}
	lib := faulty.Wrap(inner)
	destroy := lookup(t, lib, "cuThingDestroy")
	lib.FailNth(1, 4)
	if r := destroy.Call(); r != 4 || inner["cuThingDestroy"] != 1 {
		t.Errorf("result %d after %d calls, want 4 after 1", r, inner["cuThingDestroy"])
	}
}

func TestIgnoredFunctionsAreNotCounted(t *testing.T) {
	lib := faulty.Wrap(counters{})
	lib.Ignore("cuMake")
	mk, destroy := lookup(t, lib, "cuMake"), lookup(t, lib, "cuThingDestroy")
	lib.FailNth(1, 9)
	if r := mk.Call(); r != 0 {
		t.Errorf("an ignored call failed with %d", r)
	}
	if r := destroy.Call(); r != 9 {
		t.Errorf("the first counted call gave %d, want 9", r)
	}
}

func TestAMissingFunctionStaysMissing(t *testing.T) {
	_, err := faulty.Wrap(counters{}).Lookup("cuNothing")
	if !errors.Is(err, loader.ErrSymbolNotFound) {
		t.Errorf("got %v", err)
	}
}
