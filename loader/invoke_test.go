package loader_test

import (
	"runtime"
	"testing"

	"github.com/purecuda/cuda/loader"
)

// grow uses so much stack that the runtime must move the stack.
//
//go:noinline
func grow(depth int) byte {
	var pad [1 << 10]byte
	if depth > 0 {
		pad[depth] = grow(depth - 1)
	}
	return pad[depth/2]
}

func TestGoFunctionSeesItsWords(t *testing.T) {
	var seen [3]uintptr
	p := loader.FuncProc(func(a loader.Args) uintptr {
		for i := range a.Len() {
			seen[i] = a.Word(i)
		}
		return 42
	})
	if r := p.Call(7, 8, 9); r != 42 {
		t.Errorf("result %d, want 42", r)
	}
	if seen != [3]uintptr{7, 8, 9} {
		t.Errorf("words %v", seen)
	}
}

func TestInvokingNothingAnswersMissing(t *testing.T) {
	var p loader.Proc
	if r := p.Call(1); r != loader.Missing {
		t.Errorf("result %#x, want Missing", r)
	}
}

func TestPointersOfABlockFollowAMovingStack(t *testing.T) {
	p := loader.FuncProc(func(a loader.Args) uintptr {
		out := (*uint64)(a.Ptr(0))
		grow(64)
		runtime.GC()
		*out = 0xfeed
		return 0
	})
	done := make(chan uint64)
	go func() { // a new goroutine has a small stack
		var out uint64
		block := struct {
			call loader.Call
			out  *uint64
			_    [7]uintptr
		}{call: loader.Call{Proc: &p, N: 1}, out: &out}
		loader.Invoke(&block.call)
		done <- out
	}()
	if got := <-done; got != 0xfeed {
		t.Errorf("the output is %#x: the write went to the stack's old place", got)
	}
}

func TestGoFunctionCallAllocatesNothing(t *testing.T) {
	p := loader.FuncProc(func(a loader.Args) uintptr {
		*(*uint64)(a.Ptr(0))++
		return 0
	})
	var n uint64
	allocs := testing.AllocsPerRun(100, func() {
		block := struct {
			call loader.Call
			n    *uint64
			_    [7]uintptr
		}{call: loader.Call{Proc: &p, N: 1}, n: &n}
		loader.Invoke(&block.call)
	})
	if want := allocsPerGoCall; allocs > want {
		t.Errorf("%v allocations a call, want at most %v", allocs, want)
	}
	if n == 0 {
		t.Error("the function did not run")
	}
}

func TestForwardPassesTheSameWords(t *testing.T) {
	inner := loader.FuncProc(func(a loader.Args) uintptr { return a.Word(0) + a.Word(1) })
	outer := loader.FuncProc(func(a loader.Args) uintptr { return a.Forward(&inner) * 10 })
	if r := outer.Call(3, 4); r != 70 {
		t.Errorf("result %d, want 70", r)
	}
}

func TestForwardingToNothingAnswersMissing(t *testing.T) {
	var inner loader.Proc
	outer := loader.FuncProc(func(a loader.Args) uintptr { return a.Forward(&inner) })
	if r := outer.Call(3, 4); r != loader.Missing {
		t.Errorf("result %#x, want Missing", r)
	}
}

// thread holds the per-thread state that a scope changes. log lists the calls.
type thread struct {
	current uintptr
	mode    uint32
	log     []string
	failSet uintptr
}

func (th *thread) procs() (get, set, exchange, call *loader.Proc) {
	g := loader.FuncProc(func(a loader.Args) uintptr {
		*(*uintptr)(a.Ptr(0)) = th.current
		th.log = append(th.log, "get")
		return 0
	})
	s := loader.FuncProc(func(a loader.Args) uintptr {
		th.log = append(th.log, "set")
		if th.failSet == 0 {
			th.current = a.Word(0)
		}
		return th.failSet
	})
	x := loader.FuncProc(func(a loader.Args) uintptr {
		m := (*uint32)(a.Ptr(0))
		*m, th.mode = th.mode, *m
		th.log = append(th.log, "exchange")
		return 0
	})
	c := loader.FuncProc(func(a loader.Args) uintptr {
		if th.mode == 2 {
			th.log = append(th.log, "relaxed")
		}
		th.log = append(th.log, "call")
		return a.Word(0)
	})
	return &g, &s, &x, &c
}

func invokeIn(s *loader.Scope, p *loader.Proc, word uintptr) uintptr {
	block := struct {
		call loader.Call
		word uintptr
		_    [7]uintptr
	}{call: loader.Call{Proc: p, Scope: s, N: 1}, word: word}
	return loader.InvokeEscaping(&block.call)
}

func (th *thread) expect(t *testing.T, want ...string) {
	t.Helper()
	if len(th.log) != len(want) {
		t.Fatalf("calls %v, want %v", th.log, want)
	}
	for i := range want {
		if th.log[i] != want[i] {
			t.Fatalf("calls %v, want %v", th.log, want)
		}
	}
	th.log = nil
}

func TestBoundCallSetsTheContextOnlyIfItDiffers(t *testing.T) {
	th := &thread{}
	get, set, _, call := th.procs()
	s := loader.NewScope(get, set, 77, nil)
	invokeIn(s, call, 0)
	th.expect(t, "get", "set", "call")
	invokeIn(s, call, 0)
	th.expect(t, "get", "call")
	if th.current != 77 {
		t.Errorf("current is %d, want 77", th.current)
	}
}

func TestFailureToBindIsTheResultAndNothingIsCalled(t *testing.T) {
	th := &thread{failSet: 201}
	get, set, exchange, call := th.procs()
	s := loader.NewScope(get, set, 77, exchange)
	if r := invokeIn(s, call, 0); r != 201 {
		t.Errorf("result %d, want 201", r)
	}
	th.expect(t, "get", "set")
}

func TestGuardedCallRestoresTheModeAlsoAfterAFailure(t *testing.T) {
	th := &thread{mode: 1}
	_, _, exchange, call := th.procs()
	s := loader.NewScope(nil, nil, 0, exchange)
	if r := invokeIn(s, call, 900); r != 900 {
		t.Errorf("result %d, want the call's 900", r)
	}
	th.expect(t, "exchange", "relaxed", "call", "exchange")
	if th.mode != 1 {
		t.Errorf("the thread is left in mode %d, want 1", th.mode)
	}
}

func TestGuardedCallRestoresTheModeWhenTheFunctionPanics(t *testing.T) {
	th := &thread{}
	_, _, exchange, _ := th.procs()
	s := loader.NewScope(nil, nil, 0, exchange)
	bad := loader.FuncProc(func(loader.Args) uintptr { panic("in the middle") })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		invokeIn(s, &bad, 0)
	}()
	if th.mode != 0 {
		t.Errorf("the thread is left in mode %d, want 0", th.mode)
	}
}

func TestBatchStopsAtTheFirstFailureAndSaysWhich(t *testing.T) {
	th := &thread{}
	get, set, exchange, call := th.procs()
	b := loader.NewBatch()
	var frames []loader.Frame
	for _, result := range []uintptr{0, 0, 5, 0} {
		f := b.Add(call, 1)
		f.SetWord(0, result)
		frames = append(frames, f)
	}
	done, failure := b.Run(loader.NewScope(get, set, 9, exchange))
	if done != 2 || failure != 5 {
		t.Errorf("done %d, failure %d; want 2 and 5", done, failure)
	}
	if frames[2].Result() != 5 || frames[3].Result() != 0 {
		t.Errorf("results %d and %d, want 5 and 0", frames[2].Result(), frames[3].Result())
	}
	th.expect(t, "get", "set", "exchange", "relaxed", "call", "relaxed", "call", "relaxed", "call", "exchange")
}

func TestBatchCallTakesAnEarlierCallsOutput(t *testing.T) {
	produce := loader.FuncProc(func(a loader.Args) uintptr {
		*(*uintptr)(a.Ptr(0)) = 1234
		return 0
	})
	var got uintptr
	consume := loader.FuncProc(func(a loader.Args) uintptr {
		got = *(*uintptr)(a.Ptr(0))
		return 0
	})
	b := loader.NewBatch()
	first := b.Add(&produce, 1)
	first.SetOut(0, first)
	b.Add(&consume, 1).SetOut(0, first)
	if done, failure := b.Run(nil); done != 2 || failure != 0 {
		t.Fatalf("done %d, failure %d", done, failure)
	}
	if got != 1234 || first.Out() != 1234 {
		t.Errorf("the second call saw %d, the output is %d; want 1234", got, first.Out())
	}
}

func TestBatchReusedAllocatesNothing(t *testing.T) {
	p := loader.FuncProc(func(loader.Args) uintptr { return 0 })
	b := loader.NewBatch()
	fill := func() {
		b.Reset()
		for range 1000 {
			b.Add(&p, 1).SetWord(0, 1)
		}
		if done, _ := b.Run(nil); done != 1000 {
			t.Fatalf("done %d of 1000", done)
		}
	}
	fill()
	if allocs := testing.AllocsPerRun(5, fill); allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}

func TestEmptyBatchDoesNothing(t *testing.T) {
	if done, failure := loader.NewBatch().Run(nil); done != 0 || failure != 0 {
		t.Errorf("done %d, failure %d", done, failure)
	}
}

func TestCallbackIsReachedThroughItsAddress(t *testing.T) {
	var got uintptr
	addr := loader.NewCallback(func(userData uintptr) { got = userData })
	loader.CallCallback(addr, 99)
	if got != 99 {
		t.Errorf("the callback saw %d, want 99", got)
	}
}

func TestThreadIDIsStableOnALockedThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := loader.ThreadID()
	runtime.Gosched()
	if again := loader.ThreadID(); again != first || first == 0 {
		t.Errorf("thread %d, then %d", first, again)
	}
}
