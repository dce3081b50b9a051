package cu_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver/cu"
)

func methodOf(f cu.Function) string { return "C" + f.String()[1:] }

// testdata/functions-13.0.txt lists the names that cuda.h and cudaProfiler.h of CUDA 13.0 declare.
// A name with several ABIs is listed once.
func TestEveryFunctionOfTheHeaderIsBound(t *testing.T) {
	data, err := os.ReadFile("testdata/functions-13.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(data))
	if len(names) != 449 {
		t.Errorf("%d names in the list, CUDA 13.0 has 449", len(names))
	}
	byName := map[string]cu.Function{}
	for f := range cu.Functions() {
		byName[f.String()] = f
	}
	typ := reflect.TypeFor[*cu.Driver]()
	bound := 0
	for _, name := range names {
		f, ok := byName[name]
		if !ok || f.Base() != name {
			t.Errorf("%s has no Function", name)
			continue
		}
		if _, ok := typ.MethodByName(methodOf(f)); !ok {
			t.Errorf("%s has no method", name)
			continue
		}
		bound++
	}
	if bound != len(names) {
		t.Errorf("%d of %d functions bound", bound, len(names))
	}
}

func TestEveryFunctionHasAMethodASymbolAndAVersion(t *testing.T) {
	typ := reflect.TypeFor[*cu.Driver]()
	previous := ""
	for f := range cu.Functions() {
		if _, ok := typ.MethodByName(methodOf(f)); !ok {
			t.Errorf("%v has no method", f)
		}
		if f.Symbol() <= previous {
			t.Errorf("symbol %s is not after %s", f.Symbol(), previous)
		}
		previous = f.Symbol()
		if back, ok := cu.FunctionBySymbol(f.Symbol()); !ok || back != f {
			t.Errorf("%s gives %v, want %v", f.Symbol(), back, f)
		}
		if !strings.HasPrefix(f.Symbol(), f.Base()) || !strings.HasPrefix(f.String(), f.Base()) {
			t.Errorf("%v: base %s, symbol %s", f, f.Base(), f.Symbol())
		}
		if f.Since() < 2000 || f.Since() > 13000 || f.Since()%10 != 0 {
			t.Errorf("%v came with version %d", f, f.Since())
		}
	}
	for _, unknown := range []string{"", "cuMemAlloc_v9", "cuda", "zzz"} {
		if f, ok := cu.FunctionBySymbol(unknown); ok {
			t.Errorf("%q is %v", unknown, f)
		}
	}
}

func TestABIsAreNamedAndDatedByTheHeaders(t *testing.T) {
	for _, c := range []struct {
		f            cu.Function
		name, symbol string
		since        int
	}{
		{cu.FnCuInit, "cuInit", "cuInit", 2000},
		{cu.FnCuMemAlloc, "cuMemAlloc", "cuMemAlloc_v2", 3020},
		{cu.FnCuGraphExecUpdate, "cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000},
		{cu.FnCuGraphExecUpdate_v10020, "cuGraphExecUpdate_v10020", "cuGraphExecUpdate", 10020},
		{cu.FnCuStreamGetCaptureInfo, "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030},
		{cu.FnCuStreamGetCaptureInfo_v11030, "cuStreamGetCaptureInfo_v11030", "cuStreamGetCaptureInfo_v2", 11030},
		{cu.FnCuGraphAddNode, "cuGraphAddNode", "cuGraphAddNode_v2", 12030},
		{cu.FnCuGraphAddNode_v12020, "cuGraphAddNode_v12020", "cuGraphAddNode", 12020},
		{cu.FnCuCtxCreate, "cuCtxCreate", "cuCtxCreate_v4", 12050},
		{cu.FnCuCtxCreate_v3020, "cuCtxCreate_v3020", "cuCtxCreate_v2", 3020},
		{cu.FnCuGetProcAddress_v11030, "cuGetProcAddress_v11030", "cuGetProcAddress", 11030},
		{cu.FnCuCtxGetDevice_v2, "cuCtxGetDevice_v2", "cuCtxGetDevice_v2", 13000},
		{cu.FnCuProfilerStart, "cuProfilerStart", "cuProfilerStart", 4000},
	} {
		if c.f.String() != c.name || c.f.Symbol() != c.symbol || c.f.Since() != c.since {
			t.Errorf("%s: got %v, %s, %d, want %s, %d", c.name, c.f, c.f.Symbol(), c.f.Since(), c.symbol, c.since)
		}
	}
	none := cu.Function(60000)
	if none.String() != "Function(60000)" || none.Symbol() != "" || none.Base() != "" || none.Since() != 0 {
		t.Errorf("an unknown function is %v, %q, %q, %d", none, none.Symbol(), none.Base(), none.Since())
	}
}

// This module needs each of these functions. The package must bind an ABI of it that CUDA 11.4
// drivers have.
func TestAnABIForDriver470IsThereForWhatGraphsNeed(t *testing.T) {
	oldest := map[string]int{}
	for f := range cu.Functions() {
		if have, ok := oldest[f.Base()]; !ok || f.Since() < have {
			oldest[f.Base()] = f.Since()
		}
	}
	needed := []string{
		"cuGraphExecUpdate", "cuGraphAddKernelNode", "cuGraphKernelNodeGetParams", "cuGraphKernelNodeSetParams",
		"cuGraphExecKernelNodeSetParams", "cuStreamGetCaptureInfo", "cuStreamUpdateCaptureDependencies",
		"cuGraphGetEdges", "cuGraphNodeGetDependencies", "cuGraphNodeGetDependentNodes", "cuGraphAddDependencies",
		"cuGraphRemoveDependencies", "cuGraphInstantiateWithFlags", "cuGraphInstantiate", "cuCtxCreate",
		"cuEventElapsedTime", "cuMemPrefetchAsync", "cuMemAdvise", "cuStreamWaitValue32", "cuStreamWriteValue64",
		"cuStreamBatchMemOp", "cuDevicePrimaryCtxRelease", "cuGetProcAddress",
	}
	for _, base := range needed {
		if v, ok := oldest[base]; !ok || v > cu.MinVersion {
			t.Errorf("%s: the oldest ABI is of version %d", base, v)
		}
	}
}
