package faulttest_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/graph"
	"github.com/purecuda/cuda/ptx/go2ptx"
)

//go:embed bugs_test.go
var thisFile []byte

// rig runs the kernels of testdata/bugs.go on an emulator.
type rig struct {
	t     *testing.T
	emu   *emulator.Emulator
	c     *driver.Context
	m     *driver.Module
	right bool
}

func newRig(t *testing.T, check emulator.Check, right bool) *rig {
	t.Helper()
	emu := emulator.New(emulator.Config{Check: check, Workers: 1})
	d := must(driver.New(emu))(t)
	c := must(must(d.Device(0))(t).PrimaryContext())(t)
	return &rig{t, emu, c, must(c.LoadModule(compiled(t, "bugs", go2ptx.Config{Lines: true}).PTX))(t), right}
}

// end closes the emulator. If lost is true, the context is lost and closing it is expected to fail.
func (r *rig) end(lost bool) {
	err := errors.Join(r.m.Close(), r.c.Close(), r.c.Driver().Close())
	if !lost {
		ok(r.t, err)
	}
	_ = r.emu.Close()
}

func (r *rig) written(n int) *driver.Buffer[int32] {
	b := r.unwritten(n)
	ok(r.t, b.Fill(0))
	return b
}

func (r *rig) unwritten(n int) *driver.Buffer[int32] {
	r.t.Helper()
	b := must(driver.Alloc[int32](r.c, n))(r.t)
	r.t.Cleanup(func() { _ = b.Close() })
	return b
}

func (r *rig) stream() *driver.Stream {
	r.t.Helper()
	s := must(r.c.NewStream())(r.t)
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (r *rig) op(name string, blocks, threads int, p slice, a int) *driver.Launch {
	r.t.Helper()
	right := int64(0)
	if r.right {
		right = 1
	}
	cfg := driver.LaunchConfig{Grid: driver.D1(blocks), Block: driver.D1(threads)}
	return must(kernel(r.t, r.m, name).Prepare(cfg, p, int64(a), right))(r.t)
}

// run launches a kernel and returns the error.
func (r *rig) run(name string, blocks, threads int, p slice, a int) error {
	s := r.stream()
	ok(r.t, s.Do(r.op(name, blocks, threads, p, a))) // submitted
	return s.Wait(context.Background())
}

// bug is a bug in a kernel or in the host's code, and the expected report. The strings in lines are
// the comments that mark the expected lines in testdata/bugs.go. For bugs in host code, host is the
// comment that marks the line in this file.
type bug struct {
	name  string
	check emulator.Check
	kind  string // kind of the finding, or of the fault if the kernel's own check detects the bug first
	fatal bool
	lines []string
	host  string
	run   func(r *rig) error
}

// inKernel returns a function that launches a kernel with a buffer of 64 elements.
func inKernel(name string, blocks, threads, a int) func(r *rig) error {
	return func(r *rig) error { return r.run(name, blocks, threads, sliceOf(r.written(64)), a) }
}

// sized is like inKernel, but the buffer has n elements. In the correct variant it has 64.
func sized(name string, n int) func(r *rig) error {
	return func(r *rig) error {
		if r.right {
			return r.run(name, 1, 64, sliceOf(r.unwritten(64)), 0)
		}
		return r.run(name, 1, 64, sliceOf(r.unwritten(n)), 0)
	}
}

// bugs are the bugs with which the emulator's sanitizer is tested, written in Go. For two of them,
// the compiler's checks report a fault first. With gpu:nobounds, the sanitizer finds them.
var bugs = []bug{
	{"beyond an allocation", 0, "illegal address", true, []string{"outside"}, "", sized("outside", 60)},
	{"beyond an allocation, checked", 0, "index", false, []string{"checked outside"}, "", sized("checkedOutside", 60)},
	{"use after free", 0, "use after free", true, []string{"outside"}, "freed", useAfterFree},
	{"misaligned address", 0, "misaligned address", true, []string{"misaligned"}, "", misaligned},
	{"wrong address space", 0, "invalid address space", true, []string{"constant"}, "", inKernel("constant", 1, 1, 3)},
	{"beyond shared memory", 0, "illegal address", true, []string{"shared end"}, "", inKernel("sharedEnd", 1, 64, 0)},
	{"beyond shared memory, checked", 0, "index", false, []string{"checked shared end"}, "", inKernel("checkedSharedEnd", 1, 64, 0)},
	{"deadlock at barriers", 0, "deadlock", true, []string{"two numbers"}, "", inKernel("twoNumbers", 1, 64, 0)},
	{"endless wait", 0, "deadlock", true, []string{"no arrival"}, "", inKernel("noArrival", 1, 64, 0)},
	{"trap", 0, "trap", true, []string{"traps"}, "", inKernel("traps", 1, 64, 5)},
	{"barrier after an exit", emulator.CheckBarriers, "barrier misuse", false, []string{"early exit"}, "", inKernel("earlyExit", 1, 64, 8)},
	{"barrier at two instructions", emulator.CheckBarriers, "barrier misuse", false, []string{"two barriers, even", "two barriers, odd"}, "", inKernel("twoBarriers", 1, 32, 0)},
	{"race in shared memory", emulator.CheckSharedRaces, "data race", false, []string{"shared race, write", "shared race, read"}, "", inKernel("sharedRace", 1, 64, 0)},
	{"race between blocks", emulator.CheckGlobalRaces, "data race", false, []string{"block race"}, "", inKernel("blockRace", 4, 1, 0)},
	{"missing fence", emulator.CheckGlobalRaces, "data race", false, []string{"no fence, write", "no fence, read"}, "", inKernel("noFence", 4, 1, 3)},
	{"race between streams", emulator.CheckGlobalRaces, "data race", false, []string{"count, write"}, "in two streams", raceBetweenStreams},
	{"race with a copy", emulator.CheckGlobalRaces, "data race", false, []string{"count, write"}, "copied", raceWithCopy},
	{"race in a graph", emulator.CheckGlobalRaces, "data race", false, []string{"count, write"}, "replayed", raceInGraph},
	{"unwritten shared memory", emulator.CheckUninitialized, "uninitialized read", false, []string{"shared unwritten"}, "", inKernel("sharedUnwritten", 1, 1, 2)},
	{"unwritten local memory", emulator.CheckUninitialized, "", false, nil, "", localUnwritten},
	{"unwritten global memory", emulator.CheckUninitialized, "uninitialized read", false, []string{"count, read"}, "", unwrittenGlobal},
	{"copy source written too early", emulator.CheckHostMemory, "host access during a copy", false, nil, "upload", writeSource},
	{"copy destination written too early", emulator.CheckHostMemory, "host access during a copy", false, nil, "download", writeDestination},
	{"pageable memory in a graph", emulator.CheckGraphPointers, "pageable memory in a graph", false, nil, "pageable", pageable},
	{"leak", emulator.CheckLeaks, "leak", false, nil, "left open", leave},
	{"inlined twice", 0, "illegal address", true, []string{"load", "middle", "inlined"}, "", inKernel("inlined", 1, 1, 63)},
}

func useAfterFree(r *rig) error {
	b := must(driver.Alloc[int32](r.c, 64))(r.t)
	p := sliceOf(b)
	if r.right {
		defer b.Close()
	} else {
		ok(r.t, b.Close()) // freed
	}
	return r.run("outside", 1, 64, p, 0)
}

func misaligned(r *rig) error {
	p := sliceOf(r.written(64))
	if !r.right {
		p.ptr += 2
	}
	return r.run("misaligned", 1, 1, p, 0)
}

func raceBetweenStreams(r *rig) error {
	a, b, p := r.stream(), r.stream(), sliceOf(r.written(64))
	for _, s := range []*driver.Stream{a, b} {
		ok(r.t, s.Do(r.op("count", 1, 64, p, 0))) // in two streams
		if r.right {
			ok(r.t, b.After(a))
		}
	}
	return errors.Join(a.Wait(context.Background()), b.Wait(context.Background()))
}

func raceWithCopy(r *rig) error {
	a, b, p, to := r.stream(), r.stream(), r.written(64), r.written(64)
	ok(r.t, a.Do(r.op("count", 1, 64, sliceOf(p), 0)))
	if r.right {
		ok(r.t, b.After(a))
	}
	ok(r.t, b.Do(must(driver.CopyDevice(to, p))(r.t))) // copied
	return errors.Join(a.Wait(context.Background()), b.Wait(context.Background()))
}

func raceInGraph(r *rig) error {
	g, s, p := must(graph.New(r.c))(r.t), r.stream(), sliceOf(r.written(64))
	defer g.Close()
	first := must(g.Add(r.op("count", 1, 64, p, 0)))(r.t)
	if r.right {
		must(g.Add(r.op("count", 1, 64, p, 0), first))(r.t)
	} else {
		must(g.Add(r.op("count", 1, 64, p, 0)))(r.t)
	}
	x := must(g.Instantiate())(r.t)
	defer x.Close()
	return x.Run(context.Background(), s) // replayed
}

func localUnwritten(r *rig) error {
	p := r.written(64)
	err := r.run("localUnwritten", 1, 1, sliceOf(p), 2)
	got := make([]int32, 64)
	ok(r.t, p.CopyTo(got))
	if got[0] != 0 {
		r.t.Errorf("the variable that Go sets to zero is %d", got[0])
	}
	return err
}

func unwrittenGlobal(r *rig) error {
	p := r.unwritten(64)
	if r.right {
		ok(r.t, p.Fill(0))
	}
	return r.run("count", 1, 64, sliceOf(p), 0)
}

func writeSource(r *rig) error {
	h, p := must(driver.AllocHost[byte](r.c, 64))(r.t), must(driver.Alloc[byte](r.c, 64))(r.t)
	defer h.Close()
	defer p.Close()
	clear(h.Slice())
	return r.touchWhile(&h.Slice()[7], func(s *driver.Stream) {
		ok(r.t, s.Do(must(driver.Upload(p, h))(r.t))) // upload
	})
}

func writeDestination(r *rig) error {
	h, p := must(driver.AllocHost[byte](r.c, 64))(r.t), must(driver.Alloc[byte](r.c, 64))(r.t)
	defer h.Close()
	defer p.Close()
	clear(h.Slice())
	ok(r.t, p.Fill(0))
	return r.touchWhile(&h.Slice()[3], func(s *driver.Stream) {
		ok(r.t, s.Do(must(driver.Download(h, p))(r.t))) // download
	})
}

// touchWhile submits a copy and writes a byte on the host, either before or after the copy runs.
func (r *rig) touchWhile(b *byte, submit func(*driver.Stream)) error {
	s, gate := r.stream(), must(driver.AllocHost[uint32](r.c, 1))(r.t)
	defer gate.Close()
	opened := (*atomic.Uint32)(unsafe.Pointer(&gate.Slice()[0]))
	opened.Store(0)
	var at driver.CUdeviceptr
	ok(r.t, r.c.Driver().CuMemHostGetDevicePointer(&at, unsafe.Pointer(opened), 0))
	ok(r.t, r.c.Driver().CuStreamWaitValue32(s.Raw(), at, 1, uint32(cu.CU_STREAM_WAIT_VALUE_EQ)))
	submit(s)
	if !r.right {
		*b++
	}
	opened.Store(1)
	err := s.Wait(context.Background())
	if r.right {
		*b++
	}
	return err
}

// ordinary is memory that the garbage collector does not move, so a captured copy may refer to it.
var ordinary [64]byte

func pageable(r *rig) error {
	s, p := r.stream(), must(driver.Alloc[byte](r.c, 64))(r.t)
	defer p.Close()
	h := must(driver.AllocHost[byte](r.c, 64))(r.t)
	defer h.Close()
	clear(h.Slice())
	from := unsafe.Pointer(&ordinary)
	if r.right {
		from = unsafe.Pointer(&h.Slice()[0])
	}
	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
		return r.c.Driver().CuMemcpyHtoDAsync(p.Ptr(), from, 64, sc.Stream().Raw()) // pageable
	})
	ok(r.t, err)
	defer g.Close()
	x := must(g.Instantiate())(r.t)
	defer x.Close()
	return x.Run(context.Background(), s)
}

func leave(r *rig) error {
	b, err := driver.Alloc[int32](r.c, 25) // left open
	if err != nil || r.right {
		return errors.Join(err, b.Close())
	}
	runtime.KeepAlive(b)
	return nil
}

// findings runs the bug, or its correct variant if right is true.
func (b *bug) findings(t *testing.T, right bool) ([]emulator.Finding, error) {
	check := b.check
	if b.host != "" {
		check |= emulator.CheckHostMemory // with any check enabled, findings contain the lines of host code
	}
	if right {
		check = emulator.CheckAll
	}
	r := newRig(t, check, right)
	err := b.run(r)
	if b.check == emulator.CheckLeaks && !right {
		ok(t, r.emu.Close())
	} else {
		defer r.end(b.fatal && !right)
	}
	return r.emu.Findings(), err
}

// Each bug is compiled with line information. The report must contain the lines of the kernel's Go
// source and the lines of the program that submitted the work.
func TestPlantedBugsNameGoLines(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			found, err := b.findings(t, false)
			if errors.Is(err, driver.ErrContextLost) != b.fatal {
				t.Errorf("the wait returned %v", err)
			}
			if faults := faultsOf(err); !b.reported(t, found, faults) {
				t.Errorf("nothing of kind %q in lines %q: findings %v, faults %v", b.kind, b.lines, found, faults)
			}
		})
	}
}

// reported reports whether the expected fault or finding was reported. If the bug has no kind, it
// expects none.
func (b *bug) reported(t *testing.T, found []emulator.Finding, faults []*driver.KernelFault) bool {
	if len(found) == 0 && len(faults) == 1 {
		f := faults[0]
		return f.Kind == b.kind && f.File == "bugs/bugs.go" && f.Line == marked(t, "bugs", b.lines[0])
	}
	if len(found) == 0 {
		return b.kind == ""
	}
	return slices.ContainsFunc(found, func(f emulator.Finding) bool {
		return f.Kind == b.kind && f.Fatal == b.fatal && b.named(t, f)
	})
}

// named reports whether a finding contains all expected lines.
func (b *bug) named(t *testing.T, f emulator.Finding) bool {
	for _, comment := range b.lines {
		at := fmt.Sprintf(`bugs/bugs\.go:%d\b`, marked(t, "bugs", comment))
		if !regexp.MustCompile(at).MatchString(f.Report) {
			return false
		}
	}
	if b.host != "" {
		at := fmt.Sprintf("bugs_test.go:%d)", lineOf(t, thisFile, b.host))
		return strings.Contains(f.Report+f.At, at)
	}
	return true
}

func TestCorrectGoKernelsHaveNoFindings(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			found, err := b.findings(t, true)
			ok(t, err)
			for _, f := range found {
				t.Errorf("found %v", f)
			}
		})
	}
}
