package emulator_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
)

// checkedRig returns a rig on an emulator with checks, even if other tests use the real driver.
func checkedRig(t *testing.T, check emulator.Check) *rig {
	t.Helper()
	return checkedRigWith(t, emulator.Config{Check: check})
}

func checkedRigWith(t *testing.T, cfg emulator.Config) *rig {
	t.Helper()
	runtime.LockOSThread()
	cfg.Workers = 1
	r := &rig{t: t, emu: emulator.New(cfg)}
	d, err := driver.New(r.emu)
	if err != nil {
		t.Fatal(err)
	}
	r.Driver = d
	r.ok(d.CuInit(0))
	r.ok(r.CuDeviceGet(&r.dev, 0))
	r.ok(r.CuDevicePrimaryCtxRetain(&r.ctx, r.dev))
	r.ok(r.CuCtxSetCurrent(r.ctx))
	t.Cleanup(r.close)
	return r
}

func (r *rig) start(name string, s cu.CUstream, blocks, threads uint32, p cu.CUdeviceptr, a uint32, right bool) {
	r.t.Helper()
	f := r.function(r.module(bugs), name)
	r.ok(r.CuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, s, args(p, a, bit(right)), nil))
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func (r *rig) unwritten(bytes int) cu.CUdeviceptr {
	r.t.Helper()
	var p cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, uintptr(bytes)))
	r.t.Cleanup(func() { r.CuMemFree(p) })
	return p
}

func (r *rig) pinned(bytes int) []byte {
	r.t.Helper()
	var p unsafe.Pointer
	r.ok(r.CuMemHostAlloc(&p, uintptr(bytes), 0))
	r.t.Cleanup(func() { r.CuMemFreeHost(p) })
	return unsafe.Slice((*byte)(p), bytes)
}

// plant is a bug with the findings expected for it. run makes the mistake, or it runs the correct
// variant, which must not cause a finding.
type plant struct {
	name  string
	what  string // description of the mistake, for the documentation
	check emulator.Check
	kind  string
	code  cu.CUresult // expected result of later calls in the context
	has   []string
	run   func(r *rig, right bool)
}

// inKernel returns a run function for a bug that lies entirely in a kernel.
func inKernel(name string, blocks, threads, a uint32) func(*rig, bool) {
	return func(r *rig, right bool) { r.start(name, 0, blocks, threads, r.alloc(256), a, right) }
}

var plants = []plant{
	{"beyond an allocation", "64 threads write to a buffer of 60 elements.", 0, "illegal address", cu.CUDA_ERROR_ILLEGAL_ADDRESS,
		[]string{"bugs.cu:12: illegal address: write of 4 bytes", "ptx input:23: st.global.u32", "block (0,0,0) thread (60,0,0)", "0 bytes after the end of cuMemAlloc", "allocated at emulator_test.", "st.global.u32 [%rd3]"},
		func(r *rig, right bool) {
			n := 240
			if right {
				n = 256
			}
			r.start("outside", 0, 1, 64, r.unwritten(n), 0, right)
		}},
	{"use after free", "A kernel accesses freed memory.", 0, "use after free", cu.CUDA_ERROR_ILLEGAL_ADDRESS,
		[]string{"0 bytes into cuMemAlloc", "allocated at emulator_test.", "freed by cuMemFree at emulator_test."},
		func(r *rig, right bool) {
			p := r.unwritten(256)
			if !right {
				r.ok(r.CuMemFree(p))
			}
			r.start("outside", 0, 1, 64, p, 0, right)
		}},
	{"misaligned address", "A kernel reads four bytes at an address that is not a multiple of four.", 0, "misaligned address", cu.CUDA_ERROR_MISALIGNED_ADDRESS,
		[]string{"read of 4 bytes", "bugs.cu:21", "is not a multiple of 4"},
		func(r *rig, right bool) {
			if !right {
				r.start("misaligned", 0, 1, 1, r.alloc(256), 0, right)
			}
		}},
	{"wrong address space", "A kernel writes to constant memory through a generic address.", 0, "invalid address space", cu.CUDA_ERROR_INVALID_ADDRESS_SPACE,
		[]string{"bugs.cu:32", "variable table", "is read-only"},
		func(r *rig, right bool) {
			if !right {
				r.start("constant", 0, 1, 1, r.alloc(256), 0, right)
			}
		}},
	{"beyond shared memory", "A kernel writes beyond its shared memory.", 0, "illegal address", cu.CUDA_ERROR_ILLEGAL_ADDRESS,
		[]string{"(shared)", "bugs.cu:42", "the block has 512 bytes of shared memory"},
		func(r *rig, right bool) {
			if !right {
				r.start("shared_end", 0, 1, 1, r.alloc(256), 0, right)
			}
		}},

	{"deadlock at barriers", "A warp waits at a barrier that the other warp does not reach.", 0, "deadlock", cu.CUDA_ERROR_LAUNCH_FAILED,
		[]string{"bugs.cu:13", "every thread of the block waits"}, inKernel("two_numbers", 1, 64, 0)},
	{"endless wait", "64 threads wait for an mbarrier object that expects 65 arrivals.", 0, "deadlock", cu.CUDA_ERROR_LAUNCH_FAILED,
		[]string{"bugs.cu:147", "mbarrier.test_wait", "an mbarrier object whose phase no thread completes"}, inKernel("no_arrival", 1, 64, 0)},
	{"trap", "A kernel executes `trap`.", 0, "trap", cu.CUDA_ERROR_LAUNCH_FAILED,
		[]string{"bugs.cu:152", "thread (5,0,0)"},
		func(r *rig, right bool) { r.start("traps", 0, 1, 64, r.alloc(256), 5+60*bit(right), right) }},

	{"barrier after an exit", "Some threads exit before a barrier that other threads of their block reach.", emulator.CheckBarriers, "barrier misuse", 0,
		[]string{"bugs.cu:53", "8 of the block's 64 threads have exited"}, inKernel("early_exit", 1, 64, 8)},
	{"barrier at two instructions", "The lanes of a warp wait for a barrier at two different instructions.", emulator.CheckBarriers, "barrier misuse", 0,
		[]string{"a warp has to reach a barrier as a whole", "bugs.cu:6"}, inKernel("two_barriers", 1, 32, 0)},

	{"race in shared memory", "A thread reads a value that a thread in another warp writes, and no barrier separates the two accesses.", emulator.CheckSharedRaces, "data race", 0,
		[]string{"(shared)", "bugs.cu:74", "unordered with the read of thread (0,0,0)", "bugs.cu:72", "use an atomic, or a barrier between the accesses"}, inKernel("shared_race", 1, 64, 0)},
	{"race between blocks", "Several blocks add to one element without an atomic operation.", emulator.CheckGlobalRaces, "data race", 0,
		[]string{"(global)", "unordered with the write of block (0,0,0)", "bugs.cu:84", "use an atomic, a fence with an atomic flag, or two launches", "0 bytes into cuMemAlloc"}, inKernel("block_race", 4, 1, 0)},
	{"missing fence", "The last block to increment a counter reads the results of the other blocks. These blocks have no fence between the write and the increment.", emulator.CheckGlobalRaces, "data race", 0,
		[]string{"bugs.cu:96", "unordered with the write of block (0,0,0) thread (0,0,0)", "bugs.cu:92"}, inKernel("no_fence", 4, 1, 3)},
	{"race between streams", "Two streams use the same memory, and no event orders them.", emulator.CheckGlobalRaces, "data race", 0,
		[]string{"of an earlier launch of kernel count", "bugs.cu:10"}, betweenStreams},
	{"race with a copy", "A kernel in one stream computes the data for a copy in another stream, and no event orders them.", emulator.CheckGlobalRaces, "data race", 0,
		[]string{"a copy of 256 bytes, submitted at emulator_test.", "unordered with the write of block (0,0,0) thread (0,0,0)", "kernel count"}, raceWithCopy},
	{"race in a graph", "Two nodes of a graph use the same memory, and no edge orders them.", emulator.CheckGlobalRaces, "data race", 0,
		[]string{"of an earlier launch of kernel count"}, raceInGraph},

	{"unwritten shared memory", "A kernel reads shared memory that no thread wrote.", emulator.CheckUninitialized, "uninitialized read", 0,
		[]string{"(shared)", "bugs.cu:113", "no thread of the block has written"}, inKernel("shared_unwritten", 1, 1, 0)},
	{"unwritten local memory", "A kernel reads an element of a local array without having written it.", emulator.CheckUninitialized, "uninitialized read", 0,
		[]string{"(local)", "bugs.cu:123"}, inKernel("local_unwritten", 1, 1, 0)},
	{"unwritten global memory", "A kernel reads allocated device memory that was never written.", emulator.CheckUninitialized, "uninitialized read", 0,
		[]string{"(global)", "bugs.cu:102", "was never written: Alloc does not clear it, use Fill or AllocFrom", "allocated at emulator_test."},
		func(r *rig, right bool) {
			p := r.unwritten(256)
			if right {
				r.ok(r.CuMemsetD32(p, 0, 64))
			}
			r.start("count", 0, 1, 64, p, 0, right)
		}},

	{"copy source written too early", "The host writes to the source of an asynchronous copy without waiting for the copy.", emulator.CheckHostMemory, "host access during a copy", 0,
		[]string{"the host wrote byte 7 of the source of an asynchronous copy of 64 bytes", "submitted at emulator_test.", "cuMemHostAlloc"}, writeSource},
	{"copy destination written too early", "The host writes to the destination of an asynchronous copy without waiting for the copy.", emulator.CheckHostMemory, "host access during a copy", 0,
		[]string{"the host wrote byte 3 of the destination of an asynchronous copy of 64 bytes"}, writeDestination},
	{"pageable memory in a graph", "A captured copy uses ordinary Go memory.", emulator.CheckGraphPointers, "pageable memory in a graph", 0,
		[]string{"a copy node reads 64 bytes of pageable host memory", "made at emulator_test."}, pageable},
	{"leak", "A stream and device memory are still open when the emulator is closed.", emulator.CheckLeaks, "leak", 0,
		[]string{"made at emulator_test."}, leave},
}

func betweenStreams(r *rig, right bool) {
	a, b, p := r.stream(), r.stream(), r.alloc(256)
	r.start("count", a, 1, 64, p, 0, right)
	if right {
		ev := r.event(cu.CU_EVENT_DISABLE_TIMING)
		r.ok(r.CuEventRecord(ev, a))
		r.ok(r.CuStreamWaitEvent(b, ev, 0))
	}
	r.passed(a) // this does not order the kernels
	r.start("count", b, 1, 64, p, 0, right)
}

func raceWithCopy(r *rig, right bool) {
	a, b, p, to := r.stream(), r.stream(), r.alloc(256), r.alloc(256)
	r.start("count", a, 1, 64, p, 0, right)
	r.passed(a)
	if right {
		r.ok(r.CuStreamSynchronize(a))
	}
	r.ok(r.CuMemcpyDtoDAsync(to, p, 256, b))
}

// passed waits until the work in s has ended, but the checks do not see the wait.
func (r *rig) passed(s cu.CUstream) {
	r.t.Helper()
	g := r.gate()
	r.ok(r.CuStreamWriteValue32(s, g.p, 1, 0))
	for !g.isOpen() {
		runtime.Gosched()
	}
}

func raceInGraph(r *rig, right bool) {
	g, p := r.graph(), r.alloc(256)
	f := r.function(r.module(bugs), "count")
	first := r.addKernel(g, f, p, 0, 0)
	if right {
		r.addKernel(g, f, p, 0, 0, first)
	} else {
		r.addKernel(g, f, p, 0, 0)
	}
	r.ok(r.CuGraphLaunch(r.instantiate(g), 0))
}

func writeSource(r *rig, right bool) {
	s, h, p := r.stream(), r.pinned(64), r.alloc(64)
	r.touchWhile(s, right, &h[7], func() { r.ok(r.CuMemcpyHtoDAsync(p, unsafe.Pointer(&h[0]), 64, s)) })
}

func writeDestination(r *rig, right bool) {
	s, h, p := r.stream(), r.pinned(64), r.alloc(64)
	r.touchWhile(s, right, &h[3], func() { r.ok(r.CuMemcpyDtoHAsync(unsafe.Pointer(&h[0]), p, 64, s)) })
}

// touchWhile submits a copy and writes a byte on the host, before or after the copy runs.
func (r *rig) touchWhile(s cu.CUstream, after bool, b *byte, submit func()) {
	g := r.gate()
	g.block(s)
	submit()
	if after {
		g.open()
		r.ok(r.CuStreamSynchronize(s))
	}
	*b++
	g.open()
}

// ordinary is pageable memory that does not move, so that a captured copy may refer to it.
var ordinary [64]byte

func pageable(r *rig, right bool) {
	s, p := r.stream(), r.alloc(64)
	src := unsafe.Pointer(&ordinary)
	if right {
		src = unsafe.Pointer(&r.pinned(64)[0])
	}
	r.ok(r.CuStreamBeginCapture(s, cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
	r.ok(r.CuMemcpyHtoDAsync(p, src, 64, s))
	var g cu.CUgraph
	r.ok(r.CuStreamEndCapture(s, &g))
	r.t.Cleanup(func() { r.CuGraphDestroy(g) })
	x := r.instantiate(g)
	r.ok(r.CuGraphLaunch(x, s))
	r.ok(r.CuGraphLaunch(x, s))
}

func leave(r *rig, right bool) {
	var s cu.CUstream
	r.ok(r.CuStreamCreate(&s, uint32(cu.CU_STREAM_NON_BLOCKING)))
	var p cu.CUdeviceptr
	r.ok(r.CuMemAlloc(&p, 100))
	if right {
		r.ok(r.CuStreamDestroy(s))
		r.ok(r.CuMemFree(p))
		return
	}
	r.forgive = true
	r.ok(r.emu.Close())
}

func (p *plant) findings(t *testing.T, right bool) []emulator.Finding {
	t.Helper()
	check := p.check
	if right {
		check = emulator.CheckAll
	}
	r := checkedRig(t, check)
	p.run(r, right)
	if check == emulator.CheckLeaks {
		return r.emu.Findings()
	}
	want := p.code
	if right {
		want = 0
	}
	r.want("the end", r.CuCtxSynchronize(), want)
	r.forgive = r.forgive || want != 0
	return r.emu.Findings()
}

func TestPlantedBugsAreFound(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			found := p.findings(t, false)
			if len(found) == 0 {
				t.Fatal("nothing was found")
			}
			f := found[0]
			if f.Kind != p.kind || f.Fatal != (p.code != 0) {
				t.Errorf("kind %q, fatal %v: %v", f.Kind, f.Fatal, f)
			}
			for _, part := range p.has {
				if !strings.Contains(f.Report, part) {
					t.Errorf("%q is not in the report: %v", part, f)
				}
			}
		})
	}
}

func TestRightProgramsHaveNoFindings(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			for _, f := range p.findings(t, true) {
				t.Errorf("found %v", f)
			}
		})
	}
}

const (
	reportsFile  = "../../docs/emulator.md"
	reportsBegin = "<!-- reports: generated by PURECUDA_UPDATE=1 go test -run TestReportsAreInTheDocs ./driver/emulator -->\n"
	reportsEnd   = "<!-- end of reports -->\n"
)

// varying matches the parts of reports that differ from run to run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`emulator_test\.\S+ \(\w+\.go:\d+\)( < emulator_test\.\S+ \(\w+\.go:\d+\))*`), "main.main (main.go:N)"},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "0x…"},
	{regexp.MustCompile(`stream 0x[0-9a-f]+`), "stream 0x…"},
}

// reports returns the reports on the planted bugs in the form used in the documentation.
func reports(t *testing.T) string {
	var b strings.Builder
	for _, p := range plants {
		fmt.Fprintf(&b, "\n#### %s\n\n%s %s\n\n```\n", strings.ToUpper(p.name[:1])+p.name[1:], p.what, checkText(p.check))
		for _, f := range p.findings(t, false) {
			s := f.Report
			for _, v := range varying {
				s = v.pattern.ReplaceAllString(s, v.with)
			}
			b.WriteString(s + "\n")
		}
		b.WriteString("```\n")
	}
	return b.String()
}

var checkNames = map[emulator.Check]string{
	emulator.CheckBarriers: "CheckBarriers", emulator.CheckSharedRaces: "CheckSharedRaces", emulator.CheckGlobalRaces: "CheckGlobalRaces",
	emulator.CheckUninitialized: "CheckUninitialized", emulator.CheckHostMemory: "CheckHostMemory",
	emulator.CheckGraphPointers: "CheckGraphPointers", emulator.CheckLeaks: "CheckLeaks",
}

func checkText(c emulator.Check) string {
	if c == 0 {
		return "The emulator always finds this mistake."
	}
	return "`" + checkNames[c] + "` finds this mistake."
}

func TestReportsAreInTheDocs(t *testing.T) {
	text, err := os.ReadFile(reportsFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), reportsBegin)
	old, tail, ok2 := strings.Cut(rest, reportsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the reports", reportsFile)
	}
	now := reports(t)
	if os.Getenv("PURECUDA_UPDATE") != "1" {
		if now != old {
			t.Errorf("%s has other reports; PURECUDA_UPDATE=1 writes these:\n%s", reportsFile, now)
		}
	} else if err := os.WriteFile(reportsFile, []byte(head+reportsBegin+now+reportsEnd+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
