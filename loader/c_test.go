//go:build linux && (amd64 || arm64) && !static

package loader_test

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/purecuda/cuda/loader"
)

// These tests call C functions: libc's, and Go functions with C addresses. The Go functions may
// move the stack, so the tests call them with InvokeEscaping.

func libc(t testing.TB) *loader.DynamicLibrary {
	t.Helper()
	l, err := loader.Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func lookup(t testing.TB, l loader.Library, symbol string) *loader.Proc {
	t.Helper()
	p, err := l.Lookup(symbol)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// Forward must pass a wrapper's argument words to a C function. After the call, the wrapper must
// still find the words in its block.
func TestForwardReachesC(t *testing.T) {
	var seen []uintptr
	inner := loader.AddrProc(purego.NewCallback(func(a, b uintptr) uintptr {
		seen = append(seen, a, b)
		return a*10 + b
	}))
	var after [2]uintptr
	outer := loader.FuncProc(func(a loader.Args) uintptr {
		r := a.Forward(&inner)
		after = [2]uintptr{a.Word(0), a.Word(1)}
		return r + a.Forward(&inner)
	})
	block := struct {
		call  loader.Call
		words [8]uintptr
	}{call: loader.Call{Proc: &outer, N: 2}, words: [8]uintptr{3, 4}}
	if r := loader.InvokeEscaping(&block.call); r != 68 || len(seen) != 4 || seen[2] != 3 || seen[3] != 4 || after != [2]uintptr{3, 4} {
		t.Errorf("result %d, C saw %v, and then %v", r, seen, after)
	}
	if block.call.Proc != &outer || block.call.Ret != 68 {
		t.Error("the block is another call's")
	}
}

func TestWordsArriveInOrderInRegistersAndOnTheStack(t *testing.T) {
	var seen [15]uintptr
	p := loader.AddrProc(purego.NewCallback(func(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o uintptr) uintptr {
		seen = [15]uintptr{a, b, c, d, e, f, g, h, i, j, k, l, m, n, o}
		return a * 1000
	}))
	for n := range 16 {
		seen = [15]uintptr{}
		block := struct {
			call  loader.Call
			words [15]uintptr
		}{call: loader.Call{Proc: &p, N: uintptr(n)}}
		for i := range n {
			block.words[i] = uintptr(i + 1)
		}
		r := loader.InvokeEscaping(&block.call)
		for i := range n {
			if seen[i] != uintptr(i+1) {
				t.Fatalf("%d words: word %d arrived as %d", n, i, seen[i])
			}
		}
		if n > 0 && r != 1000 {
			t.Errorf("%d words: result %d, want 1000", n, r)
		}
	}
}

func TestCWritesToTheCallersStack(t *testing.T) {
	memset := lookup(t, libc(t), "memset")
	done := make(chan [64]byte)
	for range 200 {
		go func() {
			var buf [64]byte
			block := struct {
				call loader.Call
				dst  *[64]byte
				c, n uintptr
				_    [5]uintptr
			}{call: loader.Call{Proc: memset, N: 3}, dst: &buf, c: 0xa5, n: 64}
			loader.Invoke(&block.call)
			grow(8)
			done <- buf
		}()
		runtime.GC()
	}
	for range 200 {
		for i, b := range <-done {
			if b != 0xa5 {
				t.Fatalf("byte %d is %#x", i, b)
			}
		}
	}
}

func TestCCallAllocatesNothing(t *testing.T) {
	memset := lookup(t, libc(t), "memset")
	var buf [16]byte
	allocs := testing.AllocsPerRun(100, func() {
		block := struct {
			call loader.Call
			dst  *[16]byte
			c, n uintptr
			_    [5]uintptr
		}{call: loader.Call{Proc: memset, N: 3}, dst: &buf, c: 1, n: 16}
		loader.Invoke(&block.call)
	})
	if want := allocsPerCCall; allocs > want {
		t.Errorf("%v allocations a call, want at most %v", allocs, want)
	}
}

// cThread returns the functions in th.procs as functions with C addresses.
func cThread(th *thread) (get, set, exchange, call *loader.Proc) {
	g := loader.AddrProc(purego.NewCallback(func(out *uintptr) uintptr {
		*out = th.current
		th.log = append(th.log, "get")
		return 0
	}))
	s := loader.AddrProc(purego.NewCallback(func(v uintptr) uintptr {
		th.log = append(th.log, "set")
		if th.failSet == 0 {
			th.current = v
		}
		return th.failSet
	}))
	x := loader.AddrProc(purego.NewCallback(func(m *uint32) uintptr {
		*m, th.mode = th.mode, *m
		th.log = append(th.log, "exchange")
		return 0
	}))
	c := loader.AddrProc(purego.NewCallback(func(result uintptr) uintptr {
		if th.mode == 2 {
			th.log = append(th.log, "relaxed")
		}
		th.log = append(th.log, "call")
		return result
	}))
	return &g, &s, &x, &c
}

func TestScopeInOneNativeCall(t *testing.T) {
	th := &thread{mode: 1}
	get, set, exchange, call := cThread(th)
	s := loader.NewScope(get, set, 77, exchange)

	if r := invokeIn(s, call, 0); r != 0 {
		t.Errorf("result %d", r)
	}
	th.expect(t, "get", "set", "exchange", "relaxed", "call", "exchange")

	if r := invokeIn(s, call, 900); r != 900 {
		t.Errorf("result %d, want 900", r)
	}
	th.expect(t, "get", "exchange", "relaxed", "call", "exchange")
	if th.mode != 1 {
		t.Errorf("the thread is left in mode %d", th.mode)
	}

	invokeIn(loader.NewScope(nil, nil, 0, exchange), call, 0)
	th.expect(t, "exchange", "relaxed", "call", "exchange")

	th.current, th.failSet = 0, 201
	if r := invokeIn(s, call, 0); r != 201 {
		t.Errorf("result %d, want 201", r)
	}
	th.expect(t, "get", "set")
}

func TestBatchInOneNativeCall(t *testing.T) {
	th := &thread{}
	get, set, exchange, call := cThread(th)
	b := loader.NewBatch()
	for _, result := range []uintptr{0, 0, 700, 0} {
		b.Add(call, 1).SetWord(0, result)
	}
	done, failure := b.Run(loader.NewScope(get, set, 9, exchange))
	if done != 2 || failure != 700 {
		t.Errorf("done %d, failure %d; want 2 and 700", done, failure)
	}
	th.expect(t, "get", "set", "exchange", "relaxed", "call", "relaxed", "call", "relaxed", "call", "exchange")

	th.current, th.failSet = 0, 201
	if done, failure = b.Run(loader.NewScope(get, set, 9, exchange)); done != 0 || failure != 201 {
		t.Errorf("done %d, failure %d; want 0 and 201", done, failure)
	}
}

func TestBatchPassesStackWordsOfEveryCall(t *testing.T) {
	var sum uintptr
	p := loader.AddrProc(purego.NewCallback(func(a, b, c, d, e, f, g, h, i, j, k uintptr) uintptr {
		sum += a + 10*g + 100*i + 1000*k
		return 0
	}))
	b := loader.NewBatch()
	for range 3 {
		f := b.Add(&p, 11)
		for i := range 11 {
			f.SetWord(i, uintptr(i+1))
		}
	}
	if done, _ := b.Run(nil); done != 3 {
		t.Fatalf("done %d of 3", done)
	}
	if want := uintptr(3 * (1 + 70 + 900 + 11000)); sum != want {
		t.Errorf("sum %d, want %d", sum, want)
	}
}

func TestCallbackFromC(t *testing.T) {
	qsort := lookup(t, libc(t), "qsort")
	values := []int64{5, 3, 9, 1}
	compare := purego.NewCallback(func(a, b *int64) uintptr { return uintptr(*a - *b) })
	block := struct {
		call       loader.Call
		base       unsafe.Pointer
		n, size, f uintptr
		_          [4]uintptr
	}{call: loader.Call{Proc: qsort, N: 4}, base: unsafe.Pointer(&values[0]), n: 4, size: 8, f: compare}
	loader.InvokeEscaping(&block.call)
	if values[0] != 1 || values[1] != 3 || values[2] != 5 || values[3] != 9 {
		t.Errorf("sorted %v", values)
	}
}

func TestUnknownSymbolIsAnError(t *testing.T) {
	_, err := libc(t).Lookup("cuThereIsNoSuchFunction")
	if !errors.Is(err, loader.ErrSymbolNotFound) {
		t.Errorf("error %v, want ErrSymbolNotFound", err)
	}
}

func TestClosedLibraryAnswersAnError(t *testing.T) {
	l, err := loader.Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Lookup("getpid"); err == nil {
		t.Error("a closed library found a symbol")
	}
}

func BenchmarkInvoke(b *testing.B) {
	p := lookup(b, libc(b), "abs")
	for b.Loop() {
		block := struct {
			call loader.Call
			x    uintptr
			_    [7]uintptr
		}{call: loader.Call{Proc: p, N: 1}, x: 3}
		loader.Invoke(&block.call)
	}
}

func BenchmarkPuregoSyscallN(b *testing.B) {
	p := lookup(b, libc(b), "abs")
	for b.Loop() {
		purego.SyscallN(p.Addr(), 3)
	}
}

func BenchmarkBatchOf1000(b *testing.B) {
	p := lookup(b, libc(b), "labs") // labs(0) returns 0, which counts as success
	batch := loader.NewBatch()
	for range 1000 {
		batch.Add(p, 1).SetWord(0, 0)
	}
	for b.Loop() {
		if done, _ := batch.Run(nil); done != 1000 {
			b.Fatal(done)
		}
	}
}

func BenchmarkFunctionOfATable(b *testing.B) {
	var c struct {
		Abs func(int32) int32
	}
	if err := loader.LookupAll(libc(b), nil, &c); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if c.Abs(-3) != 3 {
			b.Fatal("abs(-3) is not 3")
		}
	}
}
