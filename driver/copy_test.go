package driver_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/internal/uses"
)

func TestCopiesUseTheCallOfTheirKind(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 8))(t)
	x, y := a.x.View(0, 8), a.y.View(4, 12)
	hp := uintptr(h.HostPtr())
	for _, test := range []struct {
		op   func() (*driver.CopyOp, error)
		want fakeCopy
	}{
		{func() (*driver.CopyOp, error) { return driver.Upload(x, h) },
			fakeCopy{cu.FnCuMemcpyHtoDAsync, [4]uintptr{uintptr(x.Ptr()), hp, 32, uintptr(a.s.Raw())}}},
		{func() (*driver.CopyOp, error) { return driver.Download(h, y) },
			fakeCopy{cu.FnCuMemcpyDtoHAsync, [4]uintptr{hp, uintptr(y.Ptr()), 32, uintptr(a.s.Raw())}}},
		{func() (*driver.CopyOp, error) { return driver.CopyDevice(x, y) },
			fakeCopy{cu.FnCuMemcpyDtoDAsync, [4]uintptr{uintptr(x.Ptr()), uintptr(y.Ptr()), 32, uintptr(a.s.Raw())}}},
	} {
		op := must(test.op())(t)
		noError(t, a.s.Do(op))
		if got := a.copies[0]; got != test.want {
			t.Errorf("%v made the call %v%#x, not %v%#x", op, got.fn, got.words, test.want.fn, test.want.words)
		}
		if op.Bytes() != 32 || len(op.Uses().Refs) != 2 || len(op.Uses().Accesses) != 2 || op.Context() != a.c {
			t.Errorf("%v: %d bytes, %d refs, accesses %v", op, op.Bytes(), len(op.Uses().Refs), op.Uses().Accesses)
		}
	}
}

func TestLinearCopiesAreRegionsOfOneRow(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 64))(t)
	p := must(driver.Upload(a.x, h))(t).Uses().Node.(*cu.CUDA_MEMCPY3D)
	if p.WidthInBytes != 256 || p.Height != 1 || p.Depth != 1 ||
		p.SrcMemoryType != cu.CU_MEMORYTYPE_HOST || p.SrcHost != h.HostPtr() ||
		p.DstMemoryType != cu.CU_MEMORYTYPE_DEVICE || p.DstDevice != a.x.Ptr() {
		t.Errorf("an upload is %+v", *p)
	}
	p = must(driver.Download(h, a.x))(t).Uses().Node.(*cu.CUDA_MEMCPY3D)
	if p.DstMemoryType != cu.CU_MEMORYTYPE_HOST || p.DstHost != h.HostPtr() || p.SrcDevice != a.x.Ptr() {
		t.Errorf("a download is %+v", *p)
	}
}

func TestCopyOfNothingDoesNothing(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 0))(t)
	op := must(driver.Upload(a.x.View(3, 3), h))(t)
	noError(t, a.s.Do(op))
	if len(a.copies) != 0 || op.Bytes() != 0 {
		t.Errorf("it copied %v", a.copies)
	}
}

func TestCopiesOfClosedMemoryAreRefused(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 64))(t)
	up, fill := must(driver.Upload(a.x, h))(t), must(driver.Fill(a.x, 0))(t)
	noError(t, h.Close())
	wantError(t, a.s.Do(up), driver.ErrClosed, "upload of 256 bytes", "source", "host buffer of float32")
	wantError(t, up.Run(), driver.ErrClosed, "source")
	noError(t, a.x.Close())
	wantError(t, a.s.Do(fill), driver.ErrClosed, "fill of 256 bytes", "buffer of float32")
	var none *driver.CopyOp
	wantError(t, none.Enqueue(a.s), driver.CUDA_ERROR_INVALID_VALUE, "nil copy")
	wantError(t, none.Run(), driver.CUDA_ERROR_INVALID_VALUE, "nil copy")
	var noFill *driver.FillOp
	wantError(t, noFill.Enqueue(a.s), driver.CUDA_ERROR_INVALID_VALUE, "nil fill")
}

func TestRegionsReachTheDriver(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 64))(t)
	op := must(driver.Copy3D(
		driver.Region{Memory: a.x, Pitch: 16, Rows: 4, X: 4, Y: 1, Layer: 2},
		driver.Region{Memory: h, Pitch: 32, Rows: 2}, 8, 2, 2))(t)
	noError(t, a.s.Do(op))
	want := cu.CUDA_MEMCPY3D{
		SrcMemoryType: cu.CU_MEMORYTYPE_HOST, SrcHost: h.HostPtr(), SrcPitch: 32, SrcHeight: 2,
		DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: a.x.Ptr(), DstPitch: 16, DstHeight: 4,
		DstXInBytes: 4, DstY: 1, DstZ: 2, WidthInBytes: 8, Height: 2, Depth: 2,
	}
	if a.region != want {
		t.Errorf("the driver received %+v, want %+v", a.region, want)
	}
	if op.Bytes() != 32 {
		t.Errorf("%d bytes", op.Bytes())
	}
}

func TestRegionsOutsideTheirMemoryAreRefused(t *testing.T) {
	a := newAxpy(t) // its buffer x has 256 bytes
	h := must(driver.AllocHost[byte](a.c, 1<<12))(t)
	src := driver.Region{Memory: h, Pitch: 64, Rows: 8}
	for _, test := range []struct {
		name                 string
		dst                  driver.Region
		width, height, depth uintptr
		words                []string
	}{
		{"row", driver.Region{Memory: a.x, Pitch: 16, X: 8}, 9, 1, 1, []string{"destination", "9 bytes at byte 8", "pitch of 16"}},
		{"no pitch", driver.Region{Memory: a.x}, 9, 1, 1, []string{"pitch of 0"}},
		{"rows", driver.Region{Memory: a.x, Pitch: 16}, 16, 17, 1, []string{"ends at byte 272", "256 bytes"}},
		{"y", driver.Region{Memory: a.x, Pitch: 16, Y: 15}, 16, 2, 1, []string{"ends at byte 272"}},
		{"layer", driver.Region{Memory: a.x, Pitch: 16, Rows: 2, Y: 1}, 16, 2, 2, []string{"2 rows at row 1", "layer of 2"}},
		{"depth", driver.Region{Memory: a.x, Pitch: 16, Rows: 8}, 16, 8, 3, []string{"ends at byte 384"}},
		{"overflow", driver.Region{Memory: a.x, Pitch: 1 << 62}, 1, 1 << 30, 1, []string{"address space"}},
		{"not memory", driver.Region{Memory: stranger{h}, Pitch: 16}, 1, 1, 1, []string{"not device memory"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := driver.Copy3D(test.dst, src, test.width, test.height, test.depth)
			wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, append(test.words, "3D copy")...)
		})
	}
	_, err := driver.Copy2D(driver.Region{}, src, 1, 1)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "destination", "nil memory")
}

// stranger is a Memory that is implemented outside package driver.
type stranger struct{ driver.Memory }

func TestFillsUseTheLargestUnit(t *testing.T) {
	a := newAxpy(t)
	type pair struct{ A, B float32 }
	bytes := must(driver.Alloc[byte](a.c, 10))(t)
	shorts := must(driver.Alloc[uint16](a.c, 10))(t)
	pairs := must(driver.Alloc[pair](a.c, 10))(t)
	for _, test := range []struct {
		op   *driver.FillOp
		want fakeSet
	}{
		{must(driver.Fill(a.x, 1))(t), fakeSet{dst: uint64(a.x.Ptr()), value: 0x3f800000, width: 64, height: 1, size: 4}},
		{must(driver.Fill(bytes, 7))(t), fakeSet{dst: uint64(bytes.Ptr()), value: 7, width: 10, height: 1, size: 1}},
		{must(driver.Fill(shorts.View(1, 4), 513))(t), fakeSet{dst: uint64(shorts.Ptr()) + 2, value: 513, width: 3, height: 1, size: 2}},
		{must(driver.Fill(pairs, pair{}))(t), fakeSet{dst: uint64(pairs.Ptr()), width: 20, height: 1, size: 4}},
		{must(driver.Fill2D(a.x, 2, 8, 3, 4))(t), fakeSet{dst: uint64(a.x.Ptr()), value: 0x40000000, pitch: 32, width: 3, height: 4, size: 4}},
	} {
		a.sets = nil
		noError(t, a.s.Do(test.op))
		if len(a.sets) != 1 || a.sets[0] != test.want {
			t.Errorf("%v set %+v, not %+v", test.op, a.sets, test.want)
		}
		p := test.op.Uses().Node.(*cu.CUDA_MEMSET_NODE_PARAMS)
		if p.Dst != driver.CUdeviceptr(test.want.dst) || p.Value != uint32(test.want.value) || p.Width != test.want.width ||
			p.Height != test.want.height || p.ElementSize != uint32(test.want.size) {
			t.Errorf("node parameters are %+v", p)
		}
	}
	_, err := driver.Fill(pairs, pair{1, 2})
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "8 bytes", "do not repeat", "Buffer.Fill")
	_, err = driver.Fill2D(a.x, 0, 4, 8, 1)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "pitch of 4")
	_, err = driver.Fill2D(a.x, 0, 32, 32, 3)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "do not fit")
}

func TestMemoryOperationsReachTheDriver(t *testing.T) {
	a := newAxpy(t)
	flags := must(driver.Alloc[uint32](a.c, 4))(t)
	wide := must(driver.Alloc[int64](a.c, 1))(t)
	op := must(driver.NewMemOp(a.c,
		driver.WriteWord(flags, 1, 7, cu.CU_STREAM_WRITE_VALUE_DEFAULT),
		driver.WaitWord(wide, 0, -1, cu.CU_STREAM_WAIT_VALUE_EQ)))(t)
	p := op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS)
	if p.Count != 2 || p.Ctx != a.c.Raw() || len(op.Uses().Refs) != 2 {
		t.Errorf("node parameters are %+v", p)
	}
	w := p.ParamArray.WriteValue()
	if w.Operation != cu.CU_STREAM_MEM_OP_WRITE_VALUE_32 || w.Address != flags.Ptr()+4 || *w.Value() != 7 {
		t.Errorf("the write is %+v", *w)
	}
	_, err := driver.NewMemOp(a.c, driver.WriteWord(flags, 4, 7, 0))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "step 0", "element 4 of 4")
	_, err = driver.NewMemOp(a.c)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "without a step")
}

// Overlaps and Common are exact to the byte. The test compares them with a byte-by-byte
// enumeration.
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
	r := uses.Rows{Width: 1 + uint64(rnd.IntN(5)), Count: 1 + uint64(rnd.IntN(4)), Layers: 1 + uint64(rnd.IntN(3))}
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
		r = &uses.Rows{Width: a.Bytes, Count: 1, Layers: 1}
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

// The recorded access is as narrow as the operation. Rows without gaps are recorded as a contiguous
// range.
func TestCopiesAndFillsSayWhichBytesTheyUse(t *testing.T) {
	a := newAxpy(t)
	b := must(driver.Alloc[byte](a.c, 256))(t)
	c := must(driver.Alloc[byte](a.c, 256))(t)
	base := uint64(b.Ptr())
	box := func(width, height, depth uintptr) driver.Access {
		op := must(driver.Copy3D(driver.Region{Memory: b, Pitch: 16, Rows: 4, X: 3, Y: 1, Layer: 1}, driver.Region{Memory: c, Pitch: 16, Rows: 4}, width, height, depth))(t)
		return op.Uses().Accesses[0]
	}
	start := base + 4*16 + 16 + 3
	for _, c := range []struct {
		what string
		got  driver.Access
		at   uint64
		n    uint64
		rows *uses.Rows
	}{
		{"a box", box(5, 2, 2), start, 64 + 16 + 5, &uses.Rows{Width: 5, Pitch: 16, Count: 2, Layer: 64, Layers: 2}},
		{"a row", box(5, 1, 1), start, 5, nil},
		{"a row of two layers", box(5, 1, 2), start, 64 + 5, &uses.Rows{Width: 5, Pitch: 64, Count: 2, Layers: 1}},
		{"nothing", box(5, 0, 1), start, 0, nil},
		{"a fill with gaps", must(driver.Fill2D[byte](b, 1, 8, 3, 4))(t).Uses().Accesses[0], base, 27, &uses.Rows{Width: 3, Pitch: 8, Count: 4, Layers: 1}},
		{"a fill without", must(driver.Fill2D[byte](b, 1, 8, 8, 4))(t).Uses().Accesses[0], base, 32, nil},
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
		if u := l.Uses().Accesses; u[0].Mode != x || u[1].Mode != y {
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
	noError(t, driver.SetArg(l, 1, a.y.View(0, 8)))
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
	if n := gputest.Allocs(0, 100, func() {
		noError(t, driver.SetArg(l, 0, driver.In(a.x)))
		noError(t, driver.SetArg(l, 0, driver.Out(a.x)))
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMemOpHasABarrierBetweenItsSteps(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	b := must(driver.Alloc[uint32](c, 2))(t)
	defer b.Close()
	op := must(driver.NewMemOp(c, driver.WriteWord[uint32](b, 0, 1, 0),
		driver.MemBarrier(cu.CU_STREAM_MEMORY_BARRIER_TYPE_GPU), driver.WriteWord[uint32](b, 1, 2, 0)))(t)
	p := op.Uses().Node.(*cu.CUDA_BATCH_MEM_OP_NODE_PARAMS)
	if p.Count != 3 {
		t.Fatalf("%d steps", p.Count)
	}
	step := unsafe.Slice(p.ParamArray, p.Count)[1]
	if m := step.MemoryBarrier(); m.Operation != cu.CU_STREAM_MEM_OP_BARRIER || m.Flags != uint32(cu.CU_STREAM_MEMORY_BARRIER_TYPE_GPU) {
		t.Errorf("step 1 is %v with flags %d", m.Operation, m.Flags)
	}
	s := must(c.NewStream())(t)
	defer s.Close()
	noError(t, s.Do(op))
}

func TestMemoryOperationsWriteAndWaitForTheWholeWord(t *testing.T) {
	c := gputest.Context(t, gputest.Emulator(t, emulator.Config{}))
	s := must(c.NewStream())(t)
	words, long := must(driver.AllocFrom(c, []uint32{0, 0, 0}))(t), must(driver.AllocFrom(c, []uint64{0, 0, 0}))(t)
	const v = 0x1234_5678_9abc_def0
	op := must(driver.NewMemOp(c, driver.WriteWord(long, 1, uint64(v), 0), driver.WriteWord(words, 2, uint32(0xfedc_ba98), 0)))(t)
	noError(t, s.Do(op))
	noError(t, c.Synchronize(t.Context()))
	got, half := make([]uint64, 3), make([]uint32, 3)
	noError(t, errors.Join(long.CopyTo(got), words.CopyTo(half)))
	if got[0] != 0 || got[1] != v || got[2] != 0 || half[0] != 0 || half[1] != 0 || half[2] != 0xfedc_ba98 {
		t.Errorf("memory holds %#x and %#x", got, half)
	}
	for what, step := range map[string]driver.MemStep{
		"nil memory": driver.WriteWord((*driver.Buffer[uint32])(nil), 0, 1, 0), "a word too far": driver.WriteWord(words, 3, 1, 0),
		"a word before": driver.WriteWord(words, -1, 1, 0),
	} {
		if op, err := driver.NewMemOp(c, step); err == nil || op != nil {
			t.Errorf("%s: %v, %v", what, op, err)
		}
	}
	noError(t, errors.Join(words.Close(), long.Close(), s.Close()))
	if op, err := driver.NewMemOp(c, driver.WriteWord(words, 0, 1, 0)); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("closed memory: %v, %v", op, err)
	}
}
