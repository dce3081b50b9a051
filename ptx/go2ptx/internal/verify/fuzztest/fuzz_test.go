package fuzztest

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/go2ptx"
	"github.com/purecuda/cuda/ptx/go2ptx/internal/ir"
	"github.com/purecuda/cuda/ptx/isa"
)

const (
	compileTime = 30 * time.Second
	compileHeap = 2 << 30
)

// FuzzCompile compiles arbitrary text. If seed is not 0, it first mutates the syntax tree. The
// compiler must stay within limits of time and memory, each error must have a position in the text,
// and the PTX must parse and consist of existing instructions.
//
//	go test -C ptx/go2ptx/internal/verify -fuzz FuzzCompile -fuzztime 10m -parallel 1 ./fuzztest
func FuzzCompile(f *testing.F) {
	ir.VerifyPasses = true
	for i, text := range seeds(f) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		f.Add(text, uint64(0))
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		text = mutate(text, seed)
		out, err := compileWithin(t, text)
		if err != nil {
			checkErrors(t, text, err)
			return
		}
		checkPTX(t, out.PTX)
	})
}

// compileWithin compiles Go source and fails the test if that takes too much time or memory.
func compileWithin(t *testing.T, text string) (out *go2ptx.Output, err error) {
	t.Helper()
	done := make(chan bool)
	var panicked any
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		out, err = go2ptx.Compile(go2ptx.Config{PTXFile: "p_gpu.ptx", Package: go2ptx.Package{Path: "p", Files: []go2ptx.File{{Name: "p.go", Data: []byte(text)}}}})
	}()
	end := time.After(compileTime)
	for {
		select {
		case <-done:
			if panicked != nil {
				t.Fatalf("panic: %v", panicked)
			}
			return out, err
		case <-end:
			t.Fatalf("the compiler did not end in %v", compileTime)
		case <-time.After(100 * time.Millisecond):
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.HeapAlloc > compileHeap {
				t.Fatalf("the compiler holds %d bytes", m.HeapAlloc)
			}
		}
	}
}

func checkErrors(t *testing.T, text string, err error) {
	t.Helper()
	var list go2ptx.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		t.Fatalf("the error is not a list: %v", err)
	}
	for _, e := range list {
		if e.Pos.Filename == "" || e.Pos.Line < 1 || e.Msg == "" {
			t.Errorf("an error without a position: %v: %q", e.Pos, e.Msg)
		}
		if e.Pos.Filename == "p.go" && e.Pos.Line > 1+strings.Count(text, "\n") {
			t.Errorf("an error outside of the text: %v", e)
		}
		if strings.Contains(e.Msg, "the compiler failed") {
			t.Errorf("%v", e)
		}
	}
}

func checkPTX(t *testing.T, text []byte) {
	t.Helper()
	m, err := ptx.Parse("p.ptx", text)
	if err == nil {
		err = isa.Check(m)
	}
	if err != nil {
		t.Fatalf("the PTX is not correct: %v\n%s", err, text)
	}
}
