package driver_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

func TestBufferOfNothingNeedsNoMemory(t *testing.T) {
	f := newFakeDevice()
	b := must(driver.Alloc[float32](f.open(t), 0))(t)
	if b.Len() != 0 || b.Ptr() != 0 || b.Bytes() != 0 {
		t.Errorf("%v is at %#x", b, b.Ptr())
	}
	noError(t, b.CopyFrom(nil))
	noError(t, b.CopyTo([]float32{}))
	noError(t, b.Fill(1))
	noError(t, b.Close())
	for _, fn := range []cu.Function{cu.FnCuMemAlloc, cu.FnCuMemFree, cu.FnCuMemcpyHtoD} {
		if f.called(fn) {
			t.Errorf("%v was called", fn)
		}
	}
}

func TestImpossibleLengthsAreRefused(t *testing.T) {
	c := newFakeDevice().open(t)
	for _, n := range []int{-1, math.MaxInt} {
		_, err := driver.Alloc[float64](c, n)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "buffer of float64", "length")
		_, err = driver.AllocHost[float64](c, n)
		wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "host buffer of float64", "length")
	}
}

func TestFailedAllocationsSayHowMuch(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	f.fail[cu.FnCuMemAlloc] = driver.CUDA_ERROR_OUT_OF_MEMORY
	_, err := driver.Alloc[float32](c, 1000)
	wantError(t, err, driver.CUDA_ERROR_OUT_OF_MEMORY, "buffer of float32", "4000 bytes")
	f.fail[cu.FnCuMemHostAlloc] = driver.CUDA_ERROR_OUT_OF_MEMORY
	_, err = driver.AllocHost[float32](c, 1000)
	wantError(t, err, driver.CUDA_ERROR_OUT_OF_MEMORY, "host buffer of float32", "4000 bytes")
	noError(t, c.Close())
	if n := f.retained(); n != 0 {
		t.Errorf("the context is still retained %d times", n)
	}
}

func TestAllocFromClosesItsBufferWhenTheCopyFails(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	f.fail[cu.FnCuMemcpyHtoD] = driver.CUDA_ERROR_INVALID_VALUE
	_, err := driver.AllocFrom(c, []int32{1, 2})
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "8 bytes")
	if n := f.count("memory"); n != 0 {
		t.Errorf("%d allocations are left", n)
	}
}

func TestCopiesOfDifferentLengthsNameBoth(t *testing.T) {
	c := newFakeDevice().open(t)
	b := must(driver.Alloc[float32](c, 4))(t)
	h := must(driver.AllocHost[float32](c, 5))(t)
	invalid := driver.CUDA_ERROR_INVALID_VALUE
	wantError(t, b.CopyFrom(make([]float32, 5)), invalid, "5 elements (20 bytes)", "4 (16 bytes)")
	wantError(t, b.CopyTo(make([]float32, 3)), invalid, "3 elements (12 bytes)", "4 (16 bytes)")
	_, err := driver.Upload(b, h)
	wantError(t, err, invalid, "upload", "4 elements (16 bytes)", "5 (20 bytes)")
	_, err = driver.Download(h, b)
	wantError(t, err, invalid, "download", "4 elements (16 bytes)", "5 (20 bytes)")
	_, err = driver.CopyDevice(b, b.View(0, 2))
	wantError(t, err, invalid, "device copy", "4 elements (16 bytes)", "2 (8 bytes)")
	_, err = driver.CopyDevice(b.View(0, 2), b.View(1, 3))
	wantError(t, err, invalid, "overlap")
}

func TestNilAndClosedBuffersAreNamed(t *testing.T) {
	c := newFakeDevice().open(t)
	var none *driver.Buffer[float32]
	var noHost *driver.HostBuffer[float32]
	closed := must(driver.Alloc[float32](c, 4))(t)
	host := must(driver.AllocHost[float32](c, 4))(t)
	noError(t, closed.Close())
	noError(t, closed.Close())
	noError(t, none.Close())
	noError(t, noHost.Close())
	for _, b := range []*driver.Buffer[float32]{none, closed, {}} {
		var want error = driver.CUDA_ERROR_INVALID_VALUE
		if b == closed {
			want = driver.ErrClosed
		}
		for name, err := range map[string]error{
			"copy from": b.CopyFrom(make([]float32, 4)), "copy to": b.CopyTo(make([]float32, 4)), "fill": b.Fill(0),
			"view": b.View(0, 1).Err(), "view copy": b.View(0, 1).CopyTo([]float32{0}),
			"upload": opErr(driver.Upload(b, host)), "download": opErr(driver.Download(host, b)),
			"device copy": opErr(driver.CopyDevice(b, b)), "fill op": opErr(driver.Fill(b, 0)),
			"2D copy": opErr(driver.Copy2D(driver.Region{Memory: b}, driver.Region{Memory: host}, 1, 1)),
		} {
			t.Run(name, func(t *testing.T) { wantError(t, err, want, "buffer") })
		}
	}
	_, err := driver.Upload(must(driver.Alloc[float32](c, 4))(t), noHost)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "nil host buffer")
	if none.Len() != 0 || none.Ptr() != 0 || none.Context() != nil || noHost.Slice() != nil || noHost.Len() != 0 {
		t.Error("a nil buffer has something")
	}
	noError(t, host.Close())
	if host.Slice() != nil {
		t.Error("a closed host buffer still gives its memory")
	}
}

func opErr[T any](_ T, err error) error { return err }

func TestViewsOutsideTheirBufferSaySo(t *testing.T) {
	c := newFakeDevice().open(t)
	b := must(driver.Alloc[float32](c, 4))(t)
	h := must(driver.AllocHost[float32](c, 4))(t)
	for _, r := range [][2]int{{-1, 2}, {3, 2}, {2, 5}, {5, 5}} {
		wantError(t, b.View(r[0], r[1]).Err(), driver.CUDA_ERROR_INVALID_VALUE, "4 elements")
		wantError(t, b.View(r[0], r[1]).View(0, 0).Err(), driver.CUDA_ERROR_INVALID_VALUE, "4 elements")
		wantError(t, h.View(r[0], r[1]).Err(), driver.CUDA_ERROR_INVALID_VALUE, "4 elements")
		if h.View(r[0], r[1]).Slice() != nil {
			t.Errorf("a view %v of 4 elements gives memory", r)
		}
	}
	v := b.View(1, 4).View(1, 2)
	if v.Len() != 1 || v.Ptr() != b.Ptr()+8 || v.Err() != nil {
		t.Errorf("the view is %v of %v", v, b)
	}
	noError(t, b.View(4, 4).Err())
}

func TestViewAsChangesTheElementType(t *testing.T) {
	c := newFakeDevice().open(t)
	b := must(driver.Alloc[uint32](c, 6))(t)
	if v := must(driver.ViewAs[[3]float32](b))(t); v.Len() != 2 || v.Ptr() != b.Ptr() {
		t.Errorf("the view is %v", v)
	}
	_, err := driver.ViewAs[[4]uint32](b.View(0, 5))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "20 bytes", "16 bytes each")
	_, err = driver.ViewAs[string](b)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "string")
	_, err = driver.ViewAs[byte](nil)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "nil buffer")
}

func TestViewsKeepTheirBufferAlive(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	v := must(driver.Alloc[float32](c, 4))(t).View(1, 2)
	for range 3 {
		runtime.GC()
	}
	if f.count("memory") != 1 {
		t.Fatal("the memory of a view was freed")
	}
	noError(t, v.Err())
	v = driver.View[float32]{}
	eventually(t, "the dropped buffer is freed", func() bool { runtime.GC(); return f.count("memory") == 0 })
	if !f.last(t, cu.FnCuMemFree).guarded {
		t.Error("it was freed without a guard")
	}
	runtime.KeepAlive(c)
}

func TestRegisteredMemoryIsGivenBack(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := []float32{1, 2, 3}
	h := must(driver.RegisterHost(c, s))(t)
	if &h.Slice()[0] != &s[0] || h.Len() != 3 || f.count("registered memory") != 1 {
		t.Errorf("registered %v", h)
	}
	noError(t, h.Close())
	if f.count("registered memory") != 0 {
		t.Error("it is still registered")
	}
	f.fail[cu.FnCuMemHostRegister] = driver.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
	_, err := driver.RegisterHost(c, s)
	wantError(t, err, driver.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "host buffer of float32", "12 bytes")
	_, err = driver.RegisterHost(c, make([]*int, 1))
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "host buffer of *int")
}

func TestHostMemoryCanBeAnArgument(t *testing.T) {
	a := newAxpy(t)
	h := must(driver.AllocHostFrom(a.c, []float32{1, 2}))(t)
	if !slices.Equal(h.Slice(), []float32{1, 2}) {
		t.Errorf("it holds %v", h.Slice())
	}
	v := must(h.Device())(t)
	l := a.prepare(t)
	noError(t, driver.SetArg(l, 0, v))
	noError(t, h.Close())
	wantError(t, a.s.Do(l), driver.ErrClosed, "(x)", "host buffer")
}

func TestAsyncAllocationsAreFreedInOrder(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := must(c.NewStream())(t)
	b := must(driver.AllocAsync[float32](s, 10))(t)
	noError(t, s.Close())
	if f.count("stream") != 1 {
		t.Error("the stream was destroyed before the memory that is freed on it")
	}
	noError(t, b.Close())
	if f.count("memory") != 0 || f.count("stream") != 0 || f.called(cu.FnCuMemFree) || !f.last(t, cu.FnCuMemFreeAsync).guarded {
		t.Errorf("calls were %v", f.calls)
	}
	if len(f.deadUses()) != 0 {
		t.Errorf("dead handles were used: %v", f.deadUses())
	}
}

func TestFreeAsyncClosesTheBuffer(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s, other := must(c.NewStream())(t), must(c.NewStream())(t)
	b := must(driver.AllocAsync[float32](s, 10))(t)
	noError(t, b.FreeAsync(other))
	if f.count("memory") != 0 {
		t.Error("the memory was not freed")
	}
	wantError(t, b.FreeAsync(other), driver.ErrClosed, "buffer of float32")
	wantError(t, b.CopyTo(make([]float32, 10)), driver.ErrClosed, "buffer of float32")
	noError(t, b.Close())
	plain := must(driver.Alloc[float32](c, 10))(t)
	if err := plain.FreeAsync(s); err == nil {
		t.Error("memory of cuMemAlloc was freed in the order of a stream")
	}
	noError(t, plain.Close())
	for _, x := range []*driver.Stream{s, other} {
		noError(t, x.Close())
	}
	if f.count("stream") != 0 || f.count("memory") != 0 {
		t.Error("something is left")
	}
}

func TestMemoryThatFreeAsyncCouldNotFreeStays(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := must(c.NewStream())(t)
	b := must(driver.AllocAsync[float32](s, 10))(t)
	f.fail[cu.FnCuMemFreeAsync] = driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	for range 2 {
		wantError(t, b.FreeAsync(s), driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "buffer of float32", "stays open")
		noError(t, b.CopyTo(make([]float32, 10)))
	}
	if f.count("memory") != 1 {
		t.Fatalf("%d pieces of memory are there", f.count("memory"))
	}
	delete(f.fail, cu.FnCuMemFreeAsync)
	noError(t, b.FreeAsync(s))
	wantError(t, b.FreeAsync(s), driver.ErrClosed)
	noError(t, s.Close())
	if f.count("memory") != 0 || f.count("stream") != 0 {
		t.Error("something is left")
	}
	if len(f.deadUses()) != 0 {
		t.Errorf("dead handles were used: %v", f.deadUses())
	}
}

func TestDroppedMemoryThatFreeAsyncCouldNotFreeIsReclaimed(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.fail[cu.FnCuMemFreeAsync] = driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	func() {
		b := must(driver.AllocAsync[float32](s, 10))(t)
		wantError(t, b.FreeAsync(s), driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
	}()
	delete(f.fail, cu.FnCuMemFreeAsync)
	eventually(t, "the dropped memory is freed", func() bool { runtime.GC(); return f.count("memory") == 0 })
	noError(t, s.Close())
}

func TestMemoryAllocatedInACaptureIsTheGraphs(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := must(c.NewStream())(t)
	f.capture = true
	b := must(driver.AllocAsync[float32](s, 10))(t)
	noError(t, b.Close())
	if f.called(cu.FnCuMemFreeAsync) {
		t.Error("closing the buffer freed memory of a graph")
	}
	b = must(driver.AllocAsync[float32](s, 10))(t)
	noError(t, b.FreeAsync(s))
	if !f.called(cu.FnCuMemFreeAsync) {
		t.Error("freeing in the capture was not recorded")
	}
}

func TestAllocationsForGraphsRunInStreams(t *testing.T) {
	f := newFakeDevice()
	c := f.open(t)
	s := must(c.NewStream())(t)
	op := must(driver.NewAlloc[float32](c, nil, 10))(t)
	b := must(op.AllocIn(s))(t)
	if b.Len() != 10 {
		t.Errorf("it has %d elements", b.Len())
	}
	if p := op.Uses().Node.(*cu.CUDA_MEM_ALLOC_NODE_PARAMS); p.Bytesize != 40 || p.PoolProps.Location.Type != cu.CU_MEM_LOCATION_TYPE_DEVICE {
		t.Errorf("node parameters are %+v", p)
	}
	free := must(driver.NewFree(b.View(2, 5)))(t)
	if ptr := *free.Uses().Node.(*driver.CUdeviceptr); ptr != b.Ptr() {
		t.Errorf("a free of a view is of %#x, its buffer is at %#x", ptr, b.Ptr())
	}
	noError(t, b.FreeAsync(s))
	if f.count("memory") != 0 {
		t.Error("it was not freed")
	}
	_, err := (*driver.AllocOp[float32])(nil).AllocIn(s)
	wantError(t, err, driver.CUDA_ERROR_INVALID_VALUE, "nil allocation")
}

func TestElementTypesWithGoPointersAreRefused(t *testing.T) {
	type inner struct {
		N int32
		S string
	}
	type outer struct {
		A [2]inner
	}
	for _, test := range []struct {
		name  string
		err   error
		words []string
	}{
		{"string", elemErr[string](), []string{"string"}},
		{"slice", elemErr[[]int32](), []string{"[]int32", "slice"}},
		{"pointer", elemErr[*int32](), []string{"*int32", "it is a Go pointer"}},
		{"unsafe pointer", elemErr[unsafe.Pointer](), []string{"unsafe.Pointer", "it is a Go pointer"}},
		{"map", elemErr[map[int]int](), []string{"map"}},
		{"interface", elemErr[any](), []string{"interface"}},
		{"func", elemErr[func()](), []string{"it is a Go function"}},
		{"nested", elemErr[outer](), []string{"outer", ".A[0].S", "string"}},
		{"buffer", elemErr[driver.Buffer[int32]](), []string{"Buffer"}},
		{"empty", elemErr[struct{}](), []string{"no size"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, test.err, driver.CUDA_ERROR_INVALID_VALUE, test.words...)
		})
	}
}

func elemErr[T any]() error {
	_, err := driver.Alloc[T](nil, 1)
	return err
}

func TestElementTypesWithoutGoPointersAreAccepted(t *testing.T) {
	c := newFakeDevice().open(t)
	type vertex struct {
		Position [3]float32
		_        [4]byte
		Next     driver.CUdeviceptr
		Flag     bool
		Z        complex128
		None     [0]*int
	}
	if n := must(driver.Alloc[vertex](c, 3))(t).Bytes(); n != 3*unsafe.Sizeof(vertex{}) {
		t.Errorf("3 vertices take %d bytes", n)
	}
	must(driver.Alloc[int](c, 3))(t)
}

func words(width, height, depth uintptr) cu.CUDA_ARRAY3D_DESCRIPTOR {
	return cu.CUDA_ARRAY3D_DESCRIPTOR{Width: width, Height: height, Depth: depth, Format: cu.CU_AD_FORMAT_UNSIGNED_INT32, NumChannels: 1}
}

func TestArraysAreEndsOfCopies(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		s, err := c.NewStream()
		noError(t, err)
		defer s.Close()
		a, err := c.NewArray(words(4, 2, 3))
		noError(t, err)
		defer a.Close()
		if a.RowBytes() != 16 || a.Bytes() != 96 || a.Context() != c || a.Raw() == 0 || a.Desc() != words(4, 2, 3) {
			t.Errorf("%v: %d bytes a row, %d in all", a, a.RowBytes(), a.Bytes())
		}
		up, err := driver.AllocHost[uint32](c, 24)
		noError(t, err)
		defer up.Close()
		down, err := driver.AllocHost[uint32](c, 24)
		noError(t, err)
		defer down.Close()
		for i := range up.Slice() {
			up.Slice()[i] = uint32(i)
		}
		in, err := driver.Copy3D(driver.Region{Memory: a}, driver.Region{Memory: up, Pitch: 16, Rows: 2}, 16, 2, 3)
		noError(t, err)
		// The box is the right half of each layer's second row.
		out, err := driver.Copy3D(driver.Region{Memory: down, Pitch: 8, Rows: 1}, driver.Region{Memory: a, X: 8, Y: 1}, 8, 1, 3)
		noError(t, err)
		noError(t, s.Do(in))
		noError(t, s.Do(out))
		noError(t, s.Wait(context.Background()))
		if want := []uint32{6, 7, 14, 15, 22, 23}; !slices.Equal(down.Slice()[:6], want) {
			t.Errorf("%v, want %v", down.Slice()[:6], want)
		}
		if use := in.Uses().Accesses[0]; use.Mode != driver.Writes || !use.Overlaps(out.Uses().Accesses[1]) {
			t.Errorf("accesses %v and %v", in.Uses().Accesses, out.Uses().Accesses)
		}
	})
}

func TestArraysThatCannotBe(t *testing.T) {
	gputest.Each(t, func(t *testing.T, c *driver.Context) {
		flat, err := c.NewArray(words(8, 0, 0))
		noError(t, err)
		defer flat.Close()
		b, err := driver.Alloc[uint32](c, 64)
		noError(t, err)
		defer b.Close()
		closed, err := c.NewArray(words(8, 4, 0))
		noError(t, err)
		noError(t, closed.Close())
		noError(t, closed.Close())
		var none *driver.Array
		noError(t, none.Close())
		linear := driver.Region{Memory: b, Pitch: 32}
		for name, test := range map[string]struct {
			err, want error
		}{
			"format":         {second(c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Format: cu.CU_AD_FORMAT_NV12, NumChannels: 3})), driver.CUDA_ERROR_INVALID_VALUE},
			"channels":       {second(c.NewArray(cu.CUDA_ARRAY3D_DESCRIPTOR{Width: 8, Format: cu.CU_AD_FORMAT_FLOAT, NumChannels: 3})), driver.CUDA_ERROR_INVALID_VALUE},
			"too wide a row": {second(driver.Copy2D(driver.Region{Memory: flat, X: 4}, linear, 32, 1)), driver.CUDA_ERROR_INVALID_VALUE},
			"too many rows":  {second(driver.Copy2D(driver.Region{Memory: flat}, linear, 32, 2)), driver.CUDA_ERROR_INVALID_VALUE},
			"another layer":  {second(driver.Copy3D(driver.Region{Memory: flat, Layer: 1}, linear, 32, 1, 1)), driver.CUDA_ERROR_INVALID_VALUE},
			"closed":         {second(driver.Copy2D(driver.Region{Memory: closed}, linear, 32, 1)), driver.ErrClosed},
			"nil":            {second(driver.Copy2D(driver.Region{Memory: none}, linear, 32, 1)), driver.CUDA_ERROR_INVALID_VALUE},
		} {
			if !errors.Is(test.err, test.want) {
				t.Errorf("%s: %v", name, test.err)
			}
		}
	})
}

func TestHostMemoryOptionsReachTheDriver(t *testing.T) {
	var flags uint32
	see := func(a loader.Args) { flags = a.Uint32(2) }
	c := gputest.Watched(t, cu.FnCuMemHostAlloc, see)
	noError(t, must(driver.AllocHost[byte](c, 64, driver.WithWriteCombined()))(t).Close())
	if flags&cu.CU_MEMHOSTALLOC_WRITECOMBINED == 0 {
		t.Errorf("flags %#x have no write-combining", flags)
	}
	c = gputest.Watched(t, cu.FnCuMemHostRegister, see)
	noError(t, must(driver.RegisterHost(c, make([]byte, 4096), driver.WithReadOnly()))(t).Close())
	if flags&cu.CU_MEMHOSTREGISTER_READ_ONLY == 0 {
		t.Errorf("flags %#x are not read-only", flags)
	}
}

func TestPoolOptionsReachTheDriver(t *testing.T) {
	var props cu.CUmemPoolProps
	c := gputest.Watched(t, cu.FnCuMemPoolCreate, func(a loader.Args) { props = *(*cu.CUmemPoolProps)(a.Ptr(1)) })
	p := must(c.NewMemPool(driver.WithMaxSize(1 << 20)))(t)
	noError(t, p.Close())
	if props.MaxSize != 1<<20 {
		t.Errorf("size %d", props.MaxSize)
	}
	// The emulator cannot share memory with other processes.
	_, err := c.NewMemPool(driver.WithShareable(cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
	wantError(t, err, driver.CUDA_ERROR_NOT_SUPPORTED, "memory pool")
	if props.HandleTypes != cu.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR {
		t.Errorf("handle %v", props.HandleTypes)
	}
}
