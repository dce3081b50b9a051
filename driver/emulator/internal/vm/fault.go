package vm

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// FaultKind classifies the faults of a running kernel.
type FaultKind uint8

// The fault kinds.
const (
	FaultNone         FaultKind = iota
	FaultIllegal                // access outside all allocations
	FaultUseAfterFree           // access to a freed allocation
	FaultMisaligned             // the address is not a multiple of the access size
	FaultSpace                  // generic address in the wrong space, or write to constant memory
	FaultIllegalInstruction
	FaultInvalidPC     // call or branch to an address that is not code
	FaultTrap          // trap instruction
	FaultAssert        // __assertfail
	FaultStack         // stack overflow
	FaultDeadlock      // every warp of a CTA waits forever
	FaultBarrier       // incorrect use of a barrier
	FaultTimeout       // timeout exceeded
	FaultAborted       // the launch has been cancelled
	FaultRace          // finding: unordered accesses
	FaultUninitialized // finding: read of memory that was never written
	FaultInternal      // bug in the engine
	FaultClusterGone   // access to a block that is outside the cluster or has ended
)

var faultNames = [...]string{
	FaultNone: "no fault", FaultIllegal: "illegal address", FaultUseAfterFree: "use after free",
	FaultMisaligned: "misaligned address", FaultSpace: "invalid address space",
	FaultIllegalInstruction: "illegal instruction", FaultInvalidPC: "invalid program counter",
	FaultTrap: "trap", FaultAssert: "assertion failed", FaultStack: "stack overflow",
	FaultDeadlock: "deadlock", FaultBarrier: "barrier misuse", FaultTimeout: "timeout",
	FaultAborted: "aborted", FaultRace: "data race", FaultUninitialized: "uninitialized read",
	FaultInternal: "internal error", FaultClusterGone: "cluster target block not present",
}

func (k FaultKind) String() string {
	if int(k) < len(faultNames) {
		return faultNames[k]
	}
	return fmt.Sprintf("FaultKind(%d)", uint8(k))
}

// Result returns the CUDA result code for the kind.
func (k FaultKind) Result() uint32 {
	switch k {
	case FaultNone:
		return 0
	case FaultIllegal, FaultUseAfterFree:
		return 700 // CUDA_ERROR_ILLEGAL_ADDRESS
	case FaultTimeout:
		return 702 // CUDA_ERROR_LAUNCH_TIMEOUT
	case FaultAssert:
		return 710 // CUDA_ERROR_ASSERT
	case FaultIllegalInstruction:
		return 715 // CUDA_ERROR_ILLEGAL_INSTRUCTION
	case FaultMisaligned:
		return 716 // CUDA_ERROR_MISALIGNED_ADDRESS
	case FaultSpace:
		return 717 // CUDA_ERROR_INVALID_ADDRESS_SPACE
	case FaultInvalidPC:
		return 718 // CUDA_ERROR_INVALID_PC
	default:
		return 719 // CUDA_ERROR_LAUNCH_FAILED
	}
}

// Fault is an error that ended a kernel, or a finding from an optional check.
type Fault struct {
	Kind   FaultKind
	Kernel string
	File   string // name given to ptx.Parse
	Line   int    // line in the PTX text
	Source string // "file.cu:12, inlined at file.cu:30", from .loc; "" if there is none
	Instr  string // PTX text of the instruction
	Block  Dim3
	Thread Dim3
	Addr   uint64 // the address, for an access fault
	Size   int    // access size in bytes
	Space  string // "global", "shared", ...
	Write  bool
	Atomic bool   // the access is atomic, so it also writes
	Detail string // nearest allocation, assertion text, ...
}

// Result returns the CUDA result code of the fault.
func (f *Fault) Result() uint32 { return f.Kind.Result() }

// Error returns a one-line report. If the source line is known, the report begins with it and ends
// with the PTX.
func (f *Fault) Error() string {
	var b strings.Builder
	if f.Source != "" {
		fmt.Fprintf(&b, "%s: ", f.Source)
	}
	b.WriteString(f.Kind.String())
	if f.Size != 0 {
		fmt.Fprintf(&b, ": %s of %d bytes at %#x (%s)", f.access(), f.Size, f.Addr, f.Space)
	}
	fmt.Fprintf(&b, " in kernel %s", f.Kernel)
	if f.Line != 0 && f.Source == "" {
		fmt.Fprintf(&b, " at %s:%d", f.File, f.Line)
	}
	fmt.Fprintf(&b, ", block %v thread %v", f.Block, f.Thread)
	instr := strings.TrimSuffix(f.Instr, ";")
	if instr != "" && f.Source == "" {
		fmt.Fprintf(&b, ": %s", instr)
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, "; %s", f.Detail)
	}
	if f.Source != "" {
		fmt.Fprintf(&b, "; %s:%d: %s", f.File, f.Line, instr)
	}
	return b.String()
}

func (f *Fault) access() string {
	if f.Atomic {
		return "atomic access"
	}
	return verb(f.Write)
}

// inGo reports whether the kernel was written in Go.
func (f *Fault) inGo() bool {
	file, _, _ := strings.Cut(f.Source, ":")
	return strings.HasSuffix(file, ".go")
}

// adviseRace adds advice on how to avoid a race between threads in one launch.
func (f *Fault) adviseRace(sameBlock bool) {
	atomic, barrier := "an atomic", "a barrier"
	if f.inGo() {
		atomic, barrier = "gpu.AtomicAdd or another gpu.Atomic…", "t.Sync"
	}
	if sameBlock {
		f.Detail += fmt.Sprintf("; use %s, or %s between the accesses", atomic, barrier)
	} else {
		f.Detail += fmt.Sprintf("; use %s, a fence with an atomic flag, or two launches, because %s orders only one block", atomic, barrier)
	}
}

// adviseCopy adds advice on how to avoid a race with a copy by cp.async.
func (f *Fault) adviseCopy(byOther bool) {
	wait, barrier := "cp.async.wait_group", "a barrier"
	if f.inGo() {
		wait, barrier = "t.WaitGroup", "t.Sync or t.SyncWarp"
	}
	f.Detail += fmt.Sprintf("; wait for the copy with %s before the access", wait)
	if byOther {
		f.Detail += fmt.Sprintf(", and put %s between the wait and the access", barrier)
	}
}

// Fault reports: the position in the code and the thread.

func (w *warp) lineOf(pc int32) lineInfo {
	if pc < 0 || int(pc) >= len(w.prog.lines) {
		return lineInfo{}
	}
	return w.prog.lines[pc]
}

func (w *warp) thread(i int) Dim3 {
	return Dim3{w.tid[0][i], w.tid[1][i], w.tid[2][i]}
}

// fault returns a fault for the instruction at w.pc and the lowest active lane.
func (w *warp) fault(kind FaultKind, in *inst) *Fault {
	lane := 0
	if w.mask != 0 {
		lane = first(w.mask)
	}
	return w.laneFault(kind, in, lane, "")
}

// laneFault returns a fault for one lane. in is the instruction, or nil for the instruction at
// w.pc.
func (w *warp) laneFault(kind FaultKind, in *inst, lane int, detail string) *Fault {
	pc := w.pc
	if in != nil {
		pc = w.prog.pcOf(in, pc)
	}
	at := w.lineOf(pc)
	f := &Fault{Kind: kind, Kernel: w.cta.run.kernel.name, Line: int(at.line), Block: w.cta.id, Thread: w.thread(lane), Detail: detail}
	if int(at.file) < len(w.prog.files) {
		f.File = w.prog.files[at.file]
		f.Instr = sourceLine(w.prog.sources[at.file], int(at.line))
	}
	if at.loc > 0 {
		f.Source = w.prog.locs[at.loc-1]
	}
	return f
}

func (w *warp) accessFault(kind FaultKind, in *inst, p uint64, i int, detail string) *Fault {
	f := w.laneFault(kind, in, i, detail)
	f.Addr, f.Size = p, int(in.size())
	f.Space = spaceText[in.aux&spaceMask]
	f.Write, f.Atomic = in.aux&accWrite != 0, in.aux&accAtomic != 0
	return f
}

// pcOf returns the index of in within the program. For the instruction that reads the source of a
// copy, it returns the index of the copy. For any other instruction outside the program, it returns
// otherwise.
func (p *program) pcOf(in *inst, otherwise int32) int32 {
	if in == nil || len(p.code) == 0 {
		return otherwise
	}
	off := uintptr(unsafe.Pointer(in)) - uintptr(unsafe.Pointer(&p.code[0]))
	if i := off / unsafe.Sizeof(*in); i < uintptr(len(p.code)) {
		return int32(i)
	}
	for i := range p.code {
		if x := p.code[i].x; x != nil && x.from == in {
			return int32(i)
		}
	}
	return otherwise
}

// sourceLine returns line n of text, without surrounding space.
func sourceLine(text string, n int) string {
	for ; n > 1; n-- {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}

// traceDepth is the number of calls that a Trace stores. traceShown is the number of calls that it
// prints.
const (
	traceDepth = 32
	traceShown = 3
)

// Trace is a call stack that shows where a Go program created something. It is cheap to take,
// because it is resolved only when printed.
type Trace struct{ calls []uintptr }

// Here returns the trace of the calling goroutine.
func Here() *Trace {
	var pcs [traceDepth]uintptr
	n := runtime.Callers(2, pcs[:])
	return &Trace{append([]uintptr(nil), pcs[:n]...)}
}

// String lists up to traceShown calls, innermost first. It omits calls inside the library and in
// launchers that go2ptx generated. If no other calls are left, as on a goroutine of the emulator,
// the list is empty.
func (t *Trace) String() string {
	if t == nil || len(t.calls) == 0 {
		return ""
	}
	var out []string
	frames := runtime.CallersFrames(t.calls)
	for more := true; more && len(out) < traceShown; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !ownCode(f.Function) && !strings.HasSuffix(f.File, "_gpu.go") {
			out = append(out, fmt.Sprintf("%s (%s:%d)", shortName(f.Function), lastPart(f.File), f.Line))
		}
	}
	return strings.Join(out, " < ")
}

// ownCode reports whether a function is part of the library, the Go runtime or the testing package.
// Reports omit such calls. The library's tests and examples count as user code.
func ownCode(function string) bool {
	pkg := packageOf(function)
	if pkg == "runtime" || pkg == "testing" {
		return true
	}
	below, ok := strings.CutPrefix(pkg, "github.com/purecuda/cuda/")
	if !ok || strings.HasSuffix(pkg, "_test") {
		return false
	}
	switch first, _, _ := strings.Cut(below, "/"); first {
	case "driver", "graph", "loader", "ptx":
		return true
	case "internal": // except in programs that test the library
		return !strings.HasPrefix(below, "internal/verify/") && !strings.HasPrefix(below, "internal/checks/")
	}
	return false
}

// packageOf returns the package path of a function name: everything up to the first dot after the
// last slash.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

func shortName(function string) string {
	function = lastPart(function)
	if i := strings.IndexByte(function, '['); i >= 0 { // remove type arguments
		function = function[:i]
	}
	return function
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// at returns the trace with verb before it, or "" if the trace is empty.
func (t *Trace) at(verb string) string {
	if s := t.String(); s != "" {
		return verb + s
	}
	return ""
}

// Detection of mbarrier waits that never end. The program waits in a loop, so the warp is not
// blocked. A loop that accesses no other memory and leaves the registers unchanged can be ended
// only by another warp of the cluster. If every warp of the cluster is in such a loop or at a
// barrier, the cluster waits forever.

const (
	stuckSteps  = 16  // number of turns between two checks of a block
	stuckLoops  = 64  // number of iterations after which a loop is examined
	stuckPasses = 64  // number of turns that a cluster may be stuck before it faults
	stuckLength = 256 // maximum number of instructions in an examined loop
)

type waitLoop struct {
	from, target int32 // start and end of the back edge
	times        int32 // consecutive iterations in which no mbarrier object changed and no wait completed
	state        uint64
}

// turn records one jump along the back edge.
func (l *waitLoop) turn(from, target int32) {
	if l.from != from || l.target != target {
		*l = waitLoop{from: from, target: target}
	}
	l.times = min(l.times+1, stuckLoops)
}

// stuckCTA is the result of a block's last check.
type stuckCTA struct {
	steps int
	found *warp // a warp that waits forever if no other block ends its wait
}

// lookStuck checks periodically whether the block waits forever. If it does and no other block can
// end the wait, lookStuck panics with a fault.
func (c *cta) lookStuck() {
	if c.stuck.steps++; c.stuck.steps%stuckSteps != 0 {
		return
	}
	c.stuck.found = c.stuckWarp()
	if c.stuck.found != nil && (c.cluster == nil || len(c.cluster.ctas) == 1) {
		panic(c.stuck.found.stuckFault())
	}
}

// stuckWarp returns a warp that only polls an mbarrier object. It returns nil if any warp in the
// block makes progress, if all of them are blocked, or if asynchronous copies have not completed.
func (c *cta) stuckWarp() (found *warp) {
	if len(c.late) != 0 {
		return nil
	}
	for _, w := range c.warps {
		switch {
		case w.live == 0 || !w.runnable():
		case !w.isStuck():
			return nil
		default:
			found = w
		}
	}
	return found
}

// isStuck reports whether the warp's loop only polls mbarrier objects and the warp's state is the
// same as at the previous call.
func (w *warp) isStuck() bool {
	l := &w.loop
	was := l.state
	if l.times < stuckLoops || !w.inLoop() || w.lookIn() < 0 {
		l.state = 0
		return false
	}
	l.state = w.registers()
	return l.state == was
}

// inLoop reports whether all runnable lanes are in the warp's loop.
func (w *warp) inLoop() bool {
	in := func(pc int32) bool { return pc >= w.loop.target && pc <= w.loop.from }
	if w.mask != 0 && !in(w.pc) {
		return false
	}
	for i := range w.splits {
		if s := &w.splits[i]; s.wait == waitNone && !in(s.pc) {
			return false
		}
	}
	return true
}

// lookIn returns the index of the instruction with which the loop polls an mbarrier object. It
// returns -1 if the loop contains no poll or has other effects.
func (w *warp) lookIn() int32 {
	prog, at := w.cta.run.kernel.prog, int32(-1) // the compiled program, without checks
	if w.loop.from-w.loop.target > stuckLength {
		return -1
	}
	for pc := w.loop.target; pc <= w.loop.from; pc++ {
		in := &prog.code[pc]
		switch in.ctl {
		case ctlNone, ctlBranch, ctlYield, ctlSync, ctlWarpBarrier, ctlExit:
		default:
			return -1
		}
		switch {
		case in.aux&accMemory == 0 || in.ctl != ctlNone:
		case prog.looks[in.slot]:
			at = pc
		default:
			return -1
		}
	}
	return at
}

// registers returns a hash of all state that a loop without stores can change.
func (w *warp) registers() uint64 {
	h := uint64(len(w.splits)) + 1
	for i := range w.slab32 {
		for _, x := range w.slab32[i] {
			h = splitmix(h ^ uint64(x))
		}
	}
	for i := range w.slab64 {
		for _, x := range w.slab64[i] {
			h = splitmix(h ^ x)
		}
	}
	for _, x := range w.slabP {
		h = splitmix(h ^ uint64(x))
	}
	return h
}

func (w *warp) stuckFault() *Fault {
	mask := w.mask
	for i := range w.splits {
		if s := &w.splits[i]; mask == 0 && s.wait == waitNone {
			mask = s.mask
		}
	}
	w.pc = w.lookIn()
	return w.laneFault(FaultDeadlock, &w.prog.code[w.pc], first(mask), "every thread of the block waits; this one for an mbarrier object whose phase no thread completes")
}

// lookStuck panics with a fault if all blocks of the cluster have waited for more than stuckPasses
// turns and at least one polls an mbarrier object. By then, each block has been checked at least
// once more.
func (k *cluster) lookStuck() {
	var found *warp
	for i, c := range k.ctas {
		switch {
		case k.ended[i] || !c.runnable():
		case c.stuck.found == nil:
			k.stuck = 0
			return
		default:
			found = c.stuck.found
		}
	}
	if k.stuck++; found != nil && k.stuck > stuckPasses {
		panic(found.stuckFault())
	}
}

// looksAt records that the memory instruction with the given slot tests whether an mbarrier phase
// has completed.
func (p *program) looksAt(slot int32) {
	if p.looks == nil {
		p.looks = map[int32]bool{}
	}
	p.looks[slot] = true
}
