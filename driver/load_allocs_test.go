//go:build !purecuda_syscall && (amd64 || arm64)

package driver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// A kernel that is found costs no more than itself: neither its name nor its
// parameters are objects of their own.
func TestLoadingManyKernelsAllocatesLittle(t *testing.T) {
	defer driver.SetLeakHook(driver.SetLeakHook(nil)) // it keeps stacks
	const n = 100
	var text strings.Builder
	text.WriteString(".version 7.0\n.target sm_50\n.address_size 64\n")
	names := make([]string, n)
	for k := range n {
		names[k] = fmt.Sprintf("kernel%d", k)
		fmt.Fprintf(&text, ".visible .entry %s(.param .u64 p%d, .param .f32 q%[2]d, .param .align 4 .b8 r%[2]d[12])\n.maxntid %[3]d, 1, 1\n{\n%s\tret;\n}\n",
			names[k], k, 32*(k%4+1), strings.Repeat("\tmov.u32 %r1, %r1;\n", 20))
	}
	f := newFakeDevice()
	handle := func(a loader.Args) driver.CUresult { *(*uintptr)(a.Ptr(0)) = 1; return 0 }
	f.on(cu.FnCuModuleLoadDataEx, handle)
	f.on(cu.FnCuModuleGetFunction, handle)
	f.on(cu.FnCuModuleUnload, func(loader.Args) driver.CUresult { return 0 })
	f.silence()
	c := f.open(t)
	src := []byte(text.String())
	var m *driver.Module
	allocs := testing.AllocsPerRun(20, func() {
		if m != nil {
			noError(t, m.Close())
		}
		m = must(c.LoadModule(src))(t)
		for _, name := range names {
			must(m.Kernel(name))(t)
		}
	})
	if allocs > 150 {
		t.Errorf("%v allocations", allocs)
	}
	for k, name := range names {
		kernel := must(m.Kernel(name))(t)
		params, known := kernel.Params()
		if !known || len(params) != 3 || params[0].String() != fmt.Sprintf("p%d .u64", k) || params[2].String() != fmt.Sprintf("r%d .b8[12]", k) || params[2].Offset != 12 {
			t.Fatalf("%s has %v", name, params)
		}
		if sig, _ := kernel.Signature(); kernel.Name() != name || sig.MaxThreads[0] != 32*(k%4+1) {
			t.Fatalf("%s has %+v", kernel.Name(), sig)
		}
		if again := must(m.Kernel(name))(t); again != kernel {
			t.Fatalf("%s is another kernel when asked again", name)
		}
	}
	noError(t, m.Close())
	noError(t, c.Close())
}
