package kernelfault

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// newState returns a State with n slots in Go memory. Its faults have no site, so it makes no
// driver calls.
func newState(n int) (s *State, summary *atomic.Uint32) {
	s = &State{error: func(r *Record) error { return fmt.Errorf("fault %d", r.Values[0]) }}
	summary = new(atomic.Uint32)
	s.summary.Store(summary)
	for range n {
		x := &Slot{state: s, mem: new(slotMemory)}
		x.mem.number.Store(1)
		s.slots = append(s.slots, x)
	}
	return s, summary
}

func (x *Slot) fault(value int64) {
	x.mem.values[0] = value
	x.mem.flag.Store(x.mem.number.Load())
	x.state.summary.Load().Store(1)
}

// A wait that finds the summary set but no fault must look again later, but not forever.
func TestSummaryBeforeTheFlag(t *testing.T) {
	s, summary := newState(1)
	var seen uint32
	summary.Store(1)
	if err := s.After(0, &seen); err != nil || summary.Load() != 1 {
		t.Fatalf("without a fault: %v, and the summary is %d", err, summary.Load())
	}
	s.slots[0].mem.flag.Store(1) // without setting the summary again
	if err := s.After(0, &seen); err == nil || seen != 1 || summary.Load() != 0 {
		t.Fatalf("with a fault: %v, seen %d, and the summary is %d", err, seen, summary.Load())
	}
	summary.Store(1)
	for range maxEmpty + 1 {
		if err := s.After(1, &seen); err != nil {
			t.Fatal(err)
		}
	}
	if s.Raised(1) {
		t.Error("each later wait looks at all slots")
	}
}

// Each reader must get each fault once, in the order of the slots. A reader that is far behind gets
// only the latest faults.
func TestFaultsAreReturnedOnce(t *testing.T) {
	s, _ := newState(3)
	var fast, slow uint32
	want := func(n uint32, seen *uint32, texts ...string) {
		t.Helper()
		got := ""
		if err := s.After(n, seen); err != nil {
			got = err.Error()
		}
		if got != strings.Join(texts, "\n") {
			t.Errorf("got %q, not %q", got, texts)
		}
	}
	s.slots[2].fault(7)
	s.slots[0].fault(5)
	want(0, &fast, "fault 5", "fault 7")
	want(fast, &fast)
	s.slots[1].fault(6)
	if now := s.Now(); now != 3 {
		t.Errorf("%d faults", now)
	}
	want(fast, &fast, "fault 6")
	want(slow, &slow, "fault 5", "fault 7", "fault 6")
	want(slow, &slow)
	for i := range int64(100) {
		s.slots[1].fault(i)
		want(fast, &fast, fmt.Sprint("fault ", i))
	}
	err := s.After(slow, nil)
	if n := strings.Count(err.Error(), "\n") + 1; n != maxRecent || !strings.HasSuffix(err.Error(), "\nfault 99") {
		t.Errorf("%d faults: %v", n, err)
	}
	if slow != 3 {
		t.Errorf("After raised a reader that it was not given to %d", slow)
	}
}

// If a site cannot be read, that error must be returned in addition to the fault.
func TestSiteThatCannotBeRead(t *testing.T) {
	s, _ := newState(1)
	failed := errors.New("no")
	s.recent = append(s.recent, Record{Err: failed})
	s.taken.Store(2)
	if err := s.After(0, nil); !errors.Is(err, failed) || !strings.Contains(err.Error(), "fault 0") {
		t.Errorf("the error is %v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Site{
		"index\x00f\x00a/b.go\x0017\x009\x00":                      {Kind: "index", Function: "f", File: "a/b.go", Line: 17, Column: 9},
		"assert\x00f\x00b.go\x001\x002\x00no water":                {Kind: "assert", Function: "f", File: "b.go", Line: 1, Column: 2, Message: "no water"},
		"assert\x00f\x00b.go\x001\x002\x00no\x00,16,0\x00more\x00": {Kind: "assert", Function: "f", File: "b.go", Line: 1, Column: 2, Message: "no", constants: ",16,0"},
		"nil\x00f": {Kind: "nil", Function: "f"},
		"":         {},
	} {
		if got := parse([]byte(text)); got != want {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// Constants of a site replace the values that a kernel has not stored, and only those.
func TestConstantsOfASite(t *testing.T) {
	for text, want := range map[string][3]int64{
		"": {1, 2, 3}, ",,": {1, 2, 3}, ",16,0": {1, 16, 0}, "-7,,9": {-7, 2, 9}, "4": {4, 2, 3}, "x,5,1,2": {1, 5, 3},
	} {
		values := [3]int64{1, 2, 3}
		s := parse([]byte("align\x00f\x00b.go\x001\x002\x00no\x00" + text))
		if s.complete(&values); values != want {
			t.Errorf("%q: the values are %d, want %d", text, values, want)
		}
	}
}

// Kernels do not store the values and indices that are 0, so a record must not contain those of an earlier fault.
func TestARecordHasNothingOfAnEarlierOne(t *testing.T) {
	s, _ := newState(1)
	var last Record
	s.error = func(r *Record) error { last = *r; return errors.New("fault") }
	x := s.slots[0]
	x.mem.values, x.mem.block, x.mem.thread = [3]int64{1, 2, 3}, [3]uint32{4, 5, 6}, [3]uint32{7, 8, 9}
	x.fault(1)
	if s.After(0, nil); last.Values != [3]int64{1, 2, 3} || last.Block != [3]uint32{4, 5, 6} || last.Thread != [3]uint32{7, 8, 9} {
		t.Errorf("the first record is %+v", last)
	}
	x.fault(0)
	if s.After(1, nil); last.Values != [3]int64{} || last.Block != [3]uint32{} || last.Thread != [3]uint32{} {
		t.Errorf("the second record is %+v", last)
	}
}
