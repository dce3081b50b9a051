package cudatest_test

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cudatest"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/driver/trace"
	"github.com/purecuda/cuda/graph"
)

//go:embed testdata/mistakes.ptx
var mistakesPTX []byte

// faulty holds the objects that the mistakes act on.
type faulty struct {
	c    *driver.Context
	s    [2]*driver.Stream
	x    *driver.Buffer[uint32] // has 32 elements
	line int                    // line in this file just before the mistake
}

func (f *faulty) here() { _, _, f.line, _ = runtime.Caller(1) }

func (f *faulty) op(t testing.TB, kernel string, n int) *driver.Launch {
	t.Helper()
	m := must(f.c.LoadModule(mistakesPTX))(t)
	t.Cleanup(func() { _ = m.Close() }) // fails if the context is lost
	k := must(m.Kernel(kernel))(t)
	return must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(n)}, f.x))(t)
}

type mistake struct {
	name, kind string
	program    func(t testing.TB, f *faulty)
	code       driver.CUresult
	opts       []cudatest.Option
}

// mistakes are programs that each contain a mistake. The wait after the program returns code, or no
// error if code is 0.
var mistakes = []mistake{
	{"race in a kernel", "data race", func(t testing.TB, f *faulty) {
		ok(t, f.x.Fill(0))
		op := f.op(t, "race", 64)
		f.here()
		ok(t, f.s[0].Do(op))
	}, 0, nil},
	{"streams without an order", "data race", func(t testing.TB, f *faulty) {
		ok(t, f.x.Fill(0))
		first, second := f.op(t, "fill", 32), f.op(t, "next", 32)
		f.here()
		for i, op := range []driver.Op{first, second} {
			ok(t, f.s[i].Do(op))
		}
	}, 0, nil},
	{"memory that nobody wrote", "uninitialized read", func(t testing.TB, f *faulty) {
		op := f.op(t, "next", 32)
		f.here()
		ok(t, f.s[0].Do(op))
	}, 0, nil},
	{"outside", "illegal address", func(t testing.TB, f *faulty) {
		op := f.op(t, "fill", 33)
		f.here()
		ok(t, f.s[0].Do(op))
	}, driver.CUDA_ERROR_ILLEGAL_ADDRESS, nil},
	{"outside in a graph", "illegal address", func(t testing.TB, f *faulty) {
		g := must(graph.New(f.c))(t)
		must(g.Add(f.op(t, "fill", 33)))(t)
		x := must(g.Instantiate())(t)
		t.Cleanup(func() { _, _ = x.Close(), g.Close() }) // the context is lost
		f.here()
		ok(t, x.Launch(f.s[0]))
	}, driver.CUDA_ERROR_ILLEGAL_ADDRESS, nil},
}

// makeMistake runs a program in its own recorded test. It returns that test's messages and the
// error from waiting for both streams.
func makeMistake(t *testing.T, program func(t testing.TB, f *faulty), opts ...cudatest.Option) (f *faulty, said string, err error) {
	t.Helper()
	r := &recorded{TB: t}
	f = &faulty{c: cudatest.Device(r, append(opts, cudatest.OnEmulator())...)}
	for i := range f.s {
		f.s[i] = must(f.c.NewStream())(t)
	}
	f.x = must(driver.Alloc[uint32](f.c, 32))(t)
	r.Cleanup(func() { _ = errors.Join(f.x.Close(), f.s[0].Close(), f.s[1].Close()) })
	program(r, f)
	err = errors.Join(f.s[0].Wait(t.Context()), f.s[1].Wait(t.Context()))
	r.end()
	return f, strings.Join(r.errors, "\n"), err
}

func TestFindingsFailTheTest(t *testing.T) {
	alone := mistakes[2] // CheckUninitialized must find this mistake without the other checks
	alone.name, alone.opts = "memory that nobody wrote, alone", []cudatest.Option{cudatest.WithChecks(emulator.CheckUninitialized)}
	for _, m := range append(mistakes[:len(mistakes):len(mistakes)], alone) {
		t.Run(m.name, func(t *testing.T) {
			f, said, err := makeMistake(t, m.program, m.opts...)
			if (err != nil) != (m.code != 0) || m.code != 0 && !errors.Is(err, m.code) {
				t.Errorf("the program ends with %v", err)
			}
			found := ""
			for _, line := range strings.Split(said, "\n") {
				if strings.Contains(line, m.kind) {
					found = line
				}
			}
			near := regexp.MustCompile(fmt.Sprintf(`^\S+ \(findings_test\.go:(%d|%d)\)`, f.line+1, f.line+2))
			if !near.MatchString(found) || !strings.Contains(found, " in kernel ") {
				t.Errorf("the finding does not begin with the program's line after %d:\n%s", f.line, said)
			}
		})
	}
}

// goPTX is PTX compiled from kernels in Go, with their source lines. Kernel hot adds to an element
// atomically. Kernel cold adds without an atomic operation.
const goPTX = `.version 7.0
.target sm_80
.address_size 64
.file 1 "heat.go"
.visible .entry hot(.param .u64 p)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [p];
	.loc 1 7 3
	atom.global.add.u32 %r1, [%rd1], 1;
	ret;
}
.visible .entry cold(.param .u64 p)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [p];
	.loc 1 14 3
	ld.global.u32 %r1, [%rd1];
	add.u32 %r1, %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}
`

// Findings in kernels written in Go must begin with the line of Go code and suggest a remedy.
func TestFindingsInGo(t *testing.T) {
	for _, m := range []struct {
		kernel         string
		blocks, filled int
		want           string
	}{
		{"hot", 1, 0, `^heat\.go:7: uninitialized read: atomic access of 4 bytes .* never written: Alloc does not clear it, use Fill or AllocFrom; .*; enqueued at \S+ \(findings_test\.go:(\d+)\)`},
		{"cold", 1, 1, `^heat\.go:14: data race: write of 4 bytes .*; unordered with the read of block \(0,0,0\) thread \(\d+,0,0\) at heat\.go:14; use gpu\.AtomicAdd or another gpu\.Atomic…, or t\.Sync between the accesses; .*; enqueued at `},
		{"cold", 2, 1, `data race: .* unordered with the write of block \(0,0,0\) .*; use gpu\.AtomicAdd or another gpu\.Atomic…, a fence with an atomic flag, or two launches, because t\.Sync orders only one block; `},
	} {
		_, said, err := makeMistake(t, func(t testing.TB, f *faulty) {
			module := must(f.c.LoadModule([]byte(goPTX)))(t)
			t.Cleanup(func() { ok(t, module.Close()) })
			if m.filled > 0 {
				ok(t, f.x.Fill(0))
			}
			k := must(module.Kernel(m.kernel))(t)
			ok(t, f.s[0].Do(must(k.Prepare(driver.LaunchConfig{Grid: driver.D1(m.blocks), Block: driver.D1(32)}, f.x))(t)))
		})
		if err != nil || !regexp.MustCompile("(?m)"+m.want).MatchString(said) {
			t.Errorf("%s: %v, the test says\n%s\nwant\n%s", m.kernel, err, said, m.want)
		}
	}
}

// The error must describe the kernel's fault, even if the emulator makes no checks and is wrapped
// in another library.
func TestFaultsAreInTheError(t *testing.T) {
	for _, m := range mistakes {
		if m.code == 0 {
			continue
		}
		var calls trace.Recorder
		_, _, err := makeMistake(t, m.program, cudatest.WithChecks(0), cudatest.WithTrace(calls.Sink()))
		for _, want := range []string{"CUDA_ERROR_ILLEGAL_ADDRESS (700)", "write of 4 bytes at 0x", "in kernel fill at ",
			"thread (32,0,0)", "0 bytes after the end of cuMemAlloc", "the context is lost"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in the error: %v", m.name, want, err)
			}
		}
	}
}

func TestFindingsMayBeAllowed(t *testing.T) {
	race := mistakes[0].program
	for name, c := range map[string]struct {
		opt  cudatest.Option
		want bool
	}{
		"allowed":       {cudatest.AllowFindings(func(f emulator.Finding) bool { return f.Kind == "data race" && f.Kernel == "race" }), false},
		"another":       {cudatest.AllowFindings(func(f emulator.Finding) bool { return f.Kernel == "fill" }), true},
		"without check": {cudatest.WithChecks(0), false},
		"other check":   {cudatest.WithConfig(emulator.Config{Check: emulator.CheckLeaks}), false},
		"this check":    {cudatest.WithConfig(emulator.Config{Check: emulator.CheckGlobalRaces}), true},
	} {
		if _, said, err := makeMistake(t, race, c.opt); err != nil || strings.Contains(said, "data race") != c.want {
			t.Errorf("%s: %v, the test says %q", name, err, said)
		}
	}
}
