package trace_test

import (
	"bytes"
	"errors"
	"log/slog"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// each runs test with a traced emulator and with the traced system driver.
func each(t *testing.T, test func(t *testing.T, c *driver.Context, r *trace.Recorder, l *trace.Library)) {
	t.Helper()
	run := func(name string, library func(t *testing.T) loader.Library) {
		t.Run(name, func(t *testing.T) {
			r := new(trace.Recorder)
			l := trace.Wrap(library(t), trace.WithoutScope(r.Sink()))
			test(t, gputest.Context(t, gputest.Driver(t, l)), r, l)
		})
	}
	run("emulator", func(*testing.T) loader.Library { return emulator.New(emulator.Config{}) })
	run("gpu", func(t *testing.T) loader.Library { return gputest.GPU(t).Library() })
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// line returns the first recorded call of a function, in text form.
func line(t *testing.T, r *trace.Recorder, f cu.Function) string {
	t.Helper()
	for _, c := range r.Calls() {
		if c.Function == f {
			return c.String()
		}
	}
	t.Fatalf("%v was not traced", f)
	return ""
}

func want(t *testing.T, got, pattern string) {
	t.Helper()
	if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
		t.Errorf("traced  %s\nwanted  %s", got, pattern)
	}
}

func TestArgumentsAreDecoded(t *testing.T) {
	each(t, func(t *testing.T, c *driver.Context, r *trace.Recorder, _ *trace.Library) {
		r.Reset()
		d := c.Driver()
		var p cu.CUdeviceptr
		ok(t, d.CuMemAlloc(&p, 1000))
		copied := cu.CUDA_MEMCPY2D{SrcMemoryType: cu.CU_MEMORYTYPE_DEVICE, SrcDevice: p, DstMemoryType: cu.CU_MEMORYTYPE_DEVICE, DstDevice: p + 512, WidthInBytes: 16, Height: 2, SrcPitch: 16, DstPitch: 16}
		ok(t, d.CuMemcpy2D(&copied))
		ok(t, d.CuMemFree(p))
		var value int32
		ok(t, d.CuDeviceGetAttribute(&value, cu.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0))
		var f cu.CUfunction
		if err := d.CuModuleGetFunction(&f, 0, cString("nothing")); err == nil {
			t.Error("a kernel of no module was found")
		}
		const took = `, [0-9.]+[nµm]?s`
		want(t, line(t, r, cu.FnCuMemAlloc), `cuMemAlloc\(dptr=0x[0-9a-f]+ → 0x[0-9a-f]+, bytesize=1000\) = CUDA_SUCCESS`+took)
		want(t, line(t, r, cu.FnCuMemFree), `cuMemFree\(dptr=0x[0-9a-f]+\) = CUDA_SUCCESS`+took)
		want(t, line(t, r, cu.FnCuMemcpy2D), `cuMemcpy2D\(pCopy=&{SrcMemoryType:CU_MEMORYTYPE_DEVICE SrcDevice:0x[0-9a-f]+ SrcPitch:16 DstMemoryType:CU_MEMORYTYPE_DEVICE DstDevice:0x[0-9a-f]+ DstPitch:16 WidthInBytes:16 Height:2}\) = CUDA_SUCCESS`+took)
		want(t, line(t, r, cu.FnCuDeviceGetAttribute), `cuDeviceGetAttribute\(pi=0x[0-9a-f]+ → 32, attrib=CU_DEVICE_ATTRIBUTE_WARP_SIZE, dev=0\) = CUDA_SUCCESS`+took)
		want(t, line(t, r, cu.FnCuModuleGetFunction), `cuModuleGetFunction\(hfunc=0x[0-9a-f]+, hmod=0, name="nothing"\) = CUDA_ERROR_[A-Z_]+`+took)
	})
}

func TestArraysInStructsAreDecoded(t *testing.T) {
	each(t, func(t *testing.T, c *driver.Context, r *trace.Recorder, _ *trace.Library) {
		var texture cu.CUtexObject
		sampling := cu.CUDA_TEXTURE_DESC{
			AddressMode: [3]cu.CUaddress_mode{cu.CU_TR_ADDRESS_MODE_CLAMP, cu.CU_TR_ADDRESS_MODE_WRAP, cu.CU_TR_ADDRESS_MODE_BORDER},
			BorderColor: [4]float32{1, 0, 0.5, 0},
		}
		if c.Driver().CuTexObjectCreate(&texture, &cu.CUDA_RESOURCE_DESC{ResType: 99}, &sampling, nil) == nil {
			t.Error("a texture was created from an unknown kind of resource")
		}
		const modes = `AddressMode:\[CU_TR_ADDRESS_MODE_CLAMP CU_TR_ADDRESS_MODE_WRAP CU_TR_ADDRESS_MODE_BORDER\]`
		want(t, line(t, r, cu.FnCuTexObjectCreate), `cuTexObjectCreate\(.*, pTexDesc=&{`+modes+` BorderColor:\[1 0 0.5 0\]}, .*`)
	})
}

func cString(s string) *byte { return &append([]byte(s), 0)[0] }

func TestTypedCallsAreTraced(t *testing.T) {
	each(t, func(t *testing.T, c *driver.Context, r *trace.Recorder, l *trace.Library) {
		r.Reset()
		b, err := driver.Alloc[float32](c, 16)
		ok(t, err)
		l.Pause()
		s, err := c.NewStream()
		ok(t, err)
		l.Resume()
		ok(t, s.Close())
		ok(t, b.Close())
		for f, n := range map[cu.Function]int{cu.FnCuMemAlloc: 1, cu.FnCuMemFree: 1, cu.FnCuStreamDestroy: 1,
			cu.FnCuStreamCreate: 0, cu.FnCuStreamCreateWithPriority: 0, cu.FnCuCtxSetCurrent: 0} {
			if got := r.Count(f); got != n {
				t.Errorf("%v was traced %d times, want %d", f, got, n)
			}
		}
	})
}

func TestErrorsPassThrough(t *testing.T) {
	each(t, func(t *testing.T, c *driver.Context, r *trace.Recorder, _ *trace.Library) {
		err := c.Driver().CuStreamDestroy(0)
		if !errors.Is(err, cu.CUDA_ERROR_INVALID_HANDLE) && !errors.Is(err, cu.CUDA_ERROR_INVALID_VALUE) && !errors.Is(err, cu.CUDA_ERROR_INVALID_CONTEXT) {
			t.Errorf("destroying no stream: %v", err)
		}
		var e *cu.Error
		if calls := r.Calls(); !errors.As(err, &e) || calls[len(calls)-1].Result != e.Result {
			t.Errorf("traced %v, the caller got %v", calls[len(calls)-1], err)
		}
	})
}

func TestSinks(t *testing.T) {
	var text, logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d := gputest.Driver(t, trace.Wrap(emulator.New(emulator.Config{}), trace.To(&text), trace.Log(logger)))
	if _, err := d.Device(7); err == nil {
		t.Error("there is a device 7")
	}
	if !strings.Contains(text.String(), "cuInit(Flags=0) = CUDA_SUCCESS, ") {
		t.Errorf("written:\n%s", &text)
	}
	got := logged.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, "result=CUDA_ERROR_INVALID_DEVICE") || !strings.Contains(got, "args.ordinal=7") {
		t.Errorf("logged:\n%s", got)
	}
}

func TestEveryFunctionHasItsParameters(t *testing.T) {
	raw := reflect.TypeFor[*driver.Driver]()
	for f := range cu.Functions() {
		m, found := raw.MethodByName("Cu" + strings.TrimPrefix(f.String(), "cu"))
		if !found {
			t.Fatalf("%v has no method", f)
		}
		names, types := trace.Declaration(f)
		if types == nil || types.NumIn() != m.Type.NumIn()-1 || len(strings.Fields(names)) != types.NumIn() {
			t.Errorf("%v: parameters %q of type %v, the method is %v", f, names, types, m.Type)
			continue
		}
		for i := range types.NumIn() {
			if types.In(i) != m.Type.In(i+1) {
				t.Errorf("%v: parameter %d is %v, of the method %v", f, i, types.In(i), m.Type.In(i+1))
			}
		}
	}
}

func TestConstPointersAreMarked(t *testing.T) {
	for f, want := range map[cu.Function]string{
		cu.FnCuModuleGetFunction: "hfunc hmod =name",
		cu.FnCuMemcpy2D:          "=pCopy",
		cu.FnCuLaunchKernelEx:    "=config f kernelParams extra",
		cu.FnCuGraphAddNode:      "phGraphNode hGraph =dependencies =dependencyData numDependencies nodeParams",
	} {
		if got, _ := trace.Declaration(f); got != want {
			t.Errorf("%v: %q, want %q", f, got, want)
		}
	}
}

func TestNumbersAreDecimal(t *testing.T) {
	each(t, func(t *testing.T, c *driver.Context, r *trace.Recorder, _ *trace.Library) {
		b, err := driver.Alloc[uint32](c, 16)
		ok(t, err)
		r.Reset()
		ok(t, c.Driver().CuMemsetD32(b.Ptr(), 1990, 9))
		ok(t, c.Driver().CuMemsetD16(b.Ptr(), 199, 9))
		const took = `, [0-9.]+[nµm]?s`
		want(t, line(t, r, cu.FnCuMemsetD32), `cuMemsetD32\(dstDevice=0x[0-9a-f]+, ui=1990, N=9\) = CUDA_SUCCESS`+took)
		want(t, line(t, r, cu.FnCuMemsetD16), `cuMemsetD16\(dstDevice=0x[0-9a-f]+, us=199, N=9\) = CUDA_SUCCESS`+took)
		ok(t, b.Close())
	})
}
