//go:build !static

package loader_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/purecuda/cuda/loader"
)

func TestWordsArriveInOrderInRegistersAndOnTheStack(t *testing.T) {
	var seen [11]uintptr
	p := loader.AddrProc(syscall.NewCallback(func(a, b, c, d, e, f, g, h, i, j, k uintptr) uintptr {
		seen = [11]uintptr{a, b, c, d, e, f, g, h, i, j, k}
		return a + 41
	}))
	block := struct {
		call  loader.Call
		words [11]uintptr
	}{call: loader.Call{Proc: &p, N: 11}, words: [11]uintptr{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}
	if r := loader.InvokeEscaping(&block.call); r != 42 {
		t.Errorf("result %d, want 42", r)
	}
	for i, w := range seen {
		if w != uintptr(i+1) {
			t.Errorf("word %d arrived as %d", i, w)
		}
	}
}

func TestCWritesToTheCallersStackWithoutAllocating(t *testing.T) {
	kernel32, err := loader.Open("kernel32.dll")
	if err != nil {
		t.Fatal(err)
	}
	p, err := kernel32.Lookup("RtlFillMemory")
	if err != nil {
		t.Fatal(err)
	}
	var buf [16]byte
	allocs := testing.AllocsPerRun(100, func() {
		block := struct {
			call loader.Call
			dst  *[16]byte
			n, c uintptr
			_    [5]uintptr
		}{call: loader.Call{Proc: &p, N: 3}, dst: &buf, n: 16, c: 0xa5}
		loader.Invoke(&block.call)
	})
	if allocs != 0 {
		t.Errorf("%v allocations a call", allocs)
	}
	for i, b := range buf {
		if b != 0xa5 {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
	if err := kernel32.Close(); err != nil {
		t.Error(err)
	}
}

func TestScopeAroundACCall(t *testing.T) {
	th := &thread{mode: 1}
	get, set, exchange, _ := th.procs()
	call := loader.AddrProc(syscall.NewCallback(func(result uintptr) uintptr {
		th.log = append(th.log, "call")
		return result
	}))
	if r := invokeIn(loader.NewScope(get, set, 77, exchange), &call, 900); r != 900 {
		t.Errorf("result %d, want 900", r)
	}
	th.expect(t, "get", "set", "exchange", "call", "exchange")
}

func TestMissingDriverIsSearchedInSystem32Only(t *testing.T) {
	_, err := loader.OpenCUDA("")
	if err == nil {
		t.Skip("this machine has a driver")
	}
	var open *loader.OpenError
	if !errors.As(err, &open) || len(open.Tried) != 1 || open.Tried[0].Name != "nvcuda.dll" {
		t.Errorf("error %v, want one attempt at nvcuda.dll", err)
	}
}
