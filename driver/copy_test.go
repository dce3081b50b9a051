package driver_test

import (
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
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
		if op.Bytes() != 32 || len(op.Refs()) != 2 || len(op.Accesses()) != 2 || op.Context() != a.c {
			t.Errorf("%v: %d bytes, %d refs, accesses %v", op, op.Bytes(), len(op.Refs()), op.Accesses())
		}
	}
}

func TestLinearCopiesAreRegionsOfOneRow(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHost[float32](a.c, 64))(t)
	p := must(driver.Upload(a.x, h))(t).Memcpy3D()
	if p.WidthInBytes != 256 || p.Height != 1 || p.Depth != 1 ||
		p.SrcMemoryType != cu.CU_MEMORYTYPE_HOST || p.SrcHost != h.HostPtr() ||
		p.DstMemoryType != cu.CU_MEMORYTYPE_DEVICE || p.DstDevice != a.x.Ptr() {
		t.Errorf("an upload is %+v", *p)
	}
	p = must(driver.Download(h, a.x))(t).Memcpy3D()
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
		t.Errorf("the driver was asked for %+v, not %+v", a.region, want)
	}
	if op.Bytes() != 32 {
		t.Errorf("%d bytes", op.Bytes())
	}
}

func TestRegionsOutsideTheirMemoryAreRefused(t *testing.T) {
	a := newAxpy(t) // x has 256 bytes
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

// stranger has the exported methods of memory only.
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
		p := test.op.MemsetParams()
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
	p := op.NodeParams()
	if p.Count != 2 || p.Ctx != a.c.Raw() || len(op.Refs()) != 2 {
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
