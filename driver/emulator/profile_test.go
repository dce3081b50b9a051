package emulator_test

import (
	"slices"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
)

func TestProfileCountsByKernel(t *testing.T) {
	e := emulator.New(emulator.Config{Profile: true})
	c := gputest.Context(t, gputest.Driver(t, e))
	m := closingOf(t, must(c.LoadModule([]byte(testPTX)))(t))
	x := closingOf(t, must(driver.Alloc[uint32](c, 64))(t))
	s := closingOf(t, must(c.NewStream())(t))
	for _, name := range []string{"store", "store", "add"} {
		k := must(m.Kernel(name))(t)
		l := must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(2), Block: driver.D1(64)}, x, uint32(3), uint32(1)))(t)
		if err := s.Do(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, all := e.Profile("store"), e.Profile("")
	if store.Launches != 2 || all.Launches != 3 {
		t.Errorf("%d launches of store, %d of all", store.Launches, all.Launches)
	}
	// Two launches of four warps; all lanes write the same word.
	if got, want := store.Opcodes["st.global.u32"], (emulator.OpcodeCount{Warps: 8, Lanes: 256}); got != want {
		t.Errorf("stores: %+v, want %+v", got, want)
	}
	if got, want := store.Global.Stores, (emulator.Traffic{Requests: 8, Bytes: 1024, Transactions: 8, Ideal: 8, Coalesced: 8}); got != want {
		t.Errorf("traffic of stores: %+v, want %+v", got, want)
	}
	if got := all.Global.Loads.Requests; got != 4 || store.Global.Loads.Requests != 0 {
		t.Errorf("%d loads in all, %d in store", got, store.Global.Loads.Requests)
	}
	if got := e.ProfiledKernels(); !slices.Equal(got, []string{"add", "store"}) {
		t.Errorf("kernels %v", got)
	}
	if all.LaneInstructions == 0 || all.WarpInstructions*32 != all.LaneInstructions {
		t.Errorf("%d instructions of warps, %d of lanes", all.WarpInstructions, all.LaneInstructions)
	}
}

func TestStatsTellCopiesByDirection(t *testing.T) {
	e := emulator.New(emulator.Config{})
	c := gputest.Context(t, gputest.Driver(t, e))
	x := closingOf(t, must(driver.Alloc[uint32](c, 64))(t))
	pinned := closingOf(t, must(driver.AllocHost[uint32](c, 16))(t))
	s := closingOf(t, must(c.NewStream())(t))
	host := make([]uint32, 64)
	for _, err := range []error{
		x.CopyFrom(host),
		s.Do(must(driver.Upload[uint32](x.View(0, 16), pinned))(t)),
		s.Do(must(driver.Download[uint32](pinned, x.View(16, 32)))(t)),
		s.Do(must(driver.CopyDevice[uint32](x.View(0, 8), x.View(8, 16)))(t)),
		s.Wait(t.Context()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := e.Stats()
	want := emulator.Stats{HostToDevice: emulator.CopyCount{Copies: 2, Bytes: 320}, DeviceToHost: emulator.CopyCount{Copies: 1, Bytes: 64},
		DeviceToDevice: emulator.CopyCount{Copies: 1, Bytes: 32}, Copies: 4, BytesCopied: 416}
	want.Calls, want.HostCalls = got.Calls, got.HostCalls
	if got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
