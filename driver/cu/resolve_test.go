package cu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// If a driver is queried for an ABI that is newer than itself, it may return an older ABI. The
// driver's version, not the address that it returns, must therefore determine whether a function is
// available.
func TestWhatIsNewerThanTheDriverIsNotTaken(t *testing.T) {
	for _, version := range []int32{11040, 12000, 12030, 13000} {
		d := rawDriver(t, &rawLibrary{version: version})
		for f := range cu.Functions() {
			if got, want := d.Has(f), f.Since() <= int(version); got != want {
				t.Errorf("CUDA %d has %v: %v", version, f, got)
			}
		}
		if d.Version() != int(version) || d.Library().Name() != "test library" {
			t.Errorf("version %d, library %s", d.Version(), d.Library().Name())
		}
	}
}

func TestUnusableLibrariesAreRefused(t *testing.T) {
	if _, err := cu.New(nil); err == nil {
		t.Error("nil is a driver")
	}
	_, err := cu.New(&rawLibrary{version: 11030})
	if !errors.Is(err, cu.ErrDriverTooOld) || !strings.Contains(err.Error(), "11.3") || !strings.Contains(err.Error(), "470") {
		t.Errorf("CUDA 11.3: %v", err)
	}
	_, err = cu.New(&rawLibrary{without: map[string]bool{"cuDriverGetVersion": true}})
	if !errors.Is(err, loader.ErrSymbolNotFound) || !strings.Contains(err.Error(), "not a CUDA driver") {
		t.Errorf("no version: %v", err)
	}
	broken := errors.New("disk on fire")
	if _, err = cu.New(brokenLibrary{&rawLibrary{version: 13000}, broken}); !errors.Is(err, broken) {
		t.Errorf("a library that fails: %v", err)
	}
}

// brokenLibrary fails the lookup of cuMemAlloc_v2 with err, which is not the error for a missing
// function.
type brokenLibrary struct {
	*rawLibrary
	err error
}

func (l brokenLibrary) Lookup(symbol string) (loader.Proc, error) {
	if symbol == "cuMemAlloc_v2" {
		return loader.Proc{}, l.err
	}
	return l.rawLibrary.Lookup(symbol)
}

func TestViewsBindAndGuard(t *testing.T) {
	var log []string
	current := uintptr(0)
	d := rawDriver(t, &rawLibrary{handler: func(f cu.Function, a loader.Args) uintptr {
		log = append(log, f.String())
		switch f {
		case cu.FnCuCtxGetCurrent:
			*(*uintptr)(a.Ptr(0)) = current
		case cu.FnCuCtxSetCurrent:
			current = a.Word(0)
		}
		return 0
	}})
	steps := []struct {
		name string
		d    *cu.Driver
		want string
	}{
		{"plain", d, "cuCtxSynchronize"},
		{"bound", d.Bound(5), "cuCtxGetCurrent cuCtxSetCurrent cuCtxSynchronize"},
		{"bound again", d.Bound(5), "cuCtxGetCurrent cuCtxSynchronize"},
		{"guarded", d.Guarded(), "cuThreadExchangeStreamCaptureMode cuCtxSynchronize cuThreadExchangeStreamCaptureMode"},
		{"both", d.Bound(6).Guarded(), "cuCtxGetCurrent cuCtxSetCurrent cuThreadExchangeStreamCaptureMode cuCtxSynchronize cuThreadExchangeStreamCaptureMode"},
		{"both, bound last", d.Guarded().Bound(6), "cuCtxGetCurrent cuThreadExchangeStreamCaptureMode cuCtxSynchronize cuThreadExchangeStreamCaptureMode"},
		{"bound to none", d.Bound(6).Bound(0), "cuCtxSynchronize"},
	}
	for _, s := range steps {
		log = nil
		if err := s.d.CuCtxSynchronize(); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if got := strings.Join(log, " "); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
	}
	if d.Scope() != nil || d.Bound(6).Scope() == nil {
		t.Error("scopes of views are wrong")
	}
}

func TestFlagsAreWrittenByName(t *testing.T) {
	for v, want := range map[interface{ String() string }]string{
		cu.CU_STREAM_NON_BLOCKING:                          "CU_STREAM_NON_BLOCKING",
		cu.CU_CTX_SCHED_SPIN | cu.CU_CTX_MAP_HOST:          "CU_CTX_SCHED_SPIN|CU_CTX_MAP_HOST",
		cu.CUctx_flags(0x4000_0001):                        "CU_CTX_SCHED_SPIN|CUctx_flags(0x40000000)",
		cu.CU_GRAPH_NODE_TYPE_KERNEL:                       "CU_GRAPH_NODE_TYPE_KERNEL",
		cu.CUgraphNodeType(99):                             "CUgraphNodeType(99)",
		cu.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK",
		cu.CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE:            "CU_LAUNCH_ATTRIBUTE_COOPERATIVE",
	} {
		if v.String() != want {
			t.Errorf("%s, want %s", v, want)
		}
	}
}

func TestUnionsShareTheirBytes(t *testing.T) {
	var v cu.CUlaunchAttributeValue
	v.ClusterDim().X, v.ClusterDim().Z = 2, 3
	if pad := v.Pad(); pad[0] != 2 || pad[8] != 3 {
		t.Errorf("%v", pad)
	}
	var n cu.CUgraphNodeParams
	n.Type = cu.CU_GRAPH_NODE_TYPE_KERNEL
	n.Kernel().GridDimX = 7
	if n.U.Kernel().GridDimX != 7 || uint32(n.Reserved1()[1]) != 7 {
		t.Errorf("%#x", n.Reserved1())
	}
}

func BenchmarkNew(b *testing.B) {
	l := &rawLibrary{version: 13000}
	for b.Loop() {
		if _, err := cu.New(l); err != nil {
			b.Fatal(err)
		}
	}
}
