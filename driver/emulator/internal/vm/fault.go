package vm

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// FaultKind classifies what can go wrong in a running kernel.
type FaultKind uint8

// The kinds of fault.
const (
	FaultNone         FaultKind = iota
	FaultIllegal                // access outside every allocation
	FaultUseAfterFree           // access to an allocation that was freed
	FaultMisaligned             // address not a multiple of the access size
	FaultSpace                  // generic address in the wrong space, write to constant memory
	FaultIllegalInstruction
	FaultInvalidPC     // call or branch to an address that is not code
	FaultTrap          // trap instruction
	FaultAssert        // __assertfail
	FaultStack         // stack overflow
	FaultDeadlock      // every warp of a CTA waits
	FaultBarrier       // barrier used wrongly
	FaultTimeout       // instruction limit reached
	FaultAborted       // the launch was cancelled
	FaultRace          // finding: unordered accesses
	FaultUninitialized // finding: read of memory that was never written
	FaultInternal      // the engine itself failed; a bug
	FaultClusterGone   // access to a block that is not in the cluster, or that has ended
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

// Result returns the CUDA result code that a driver returns for the kind.
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

// Fault is an error that ended a kernel, or a finding of an optional check.
type Fault struct {
	Kind   FaultKind
	Kernel string
	File   string // name given to ptx.Parse
	Line   int    // line in the PTX text
	Source string // "file.cu:12" from .loc, empty if there is none
	Instr  string // the instruction, as in the PTX text
	Block  Dim3
	Thread Dim3
	Addr   uint64 // the address, for faults of an access
	Size   int    // bytes of the access
	Space  string // "global", "shared", ...
	Write  bool
	Detail string // nearest allocation, the assertion's text, ...
}

// Result returns the CUDA result code of the fault.
func (f *Fault) Result() uint32 { return f.Kind.Result() }

// Error returns a report of several facts on one line.
func (f *Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.Kind.String())
	if f.Size != 0 {
		fmt.Fprintf(&b, ": %s of %d bytes at %#x (%s)", verb(f.Write), f.Size, f.Addr, f.Space)
	}
	fmt.Fprintf(&b, " in kernel %s", f.Kernel)
	if f.Line != 0 {
		fmt.Fprintf(&b, " at %s:%d", f.File, f.Line)
	}
	if f.Source != "" {
		fmt.Fprintf(&b, " (%s)", f.Source)
	}
	fmt.Fprintf(&b, ", block %v thread %v", f.Block, f.Thread)
	if f.Instr != "" {
		fmt.Fprintf(&b, ": %s", strings.TrimSuffix(f.Instr, ";"))
	}
	if f.Detail != "" {
		fmt.Fprintf(&b, "; %s", f.Detail)
	}
	return b.String()
}

// Reports of faults: the place in the code, and the thread.

// lineOf returns where the instruction at pc comes from.
func (w *warp) lineOf(pc int32) lineInfo {
	if pc < 0 || int(pc) >= len(w.prog.lines) {
		return lineInfo{}
	}
	return w.prog.lines[pc]
}

// thread returns the index of a lane's thread in the block.
func (w *warp) thread(i int) Dim3 {
	return Dim3{w.tid[0][i], w.tid[1][i], w.tid[2][i]}
}

// fault describes the instruction at w.pc, for the lowest active lane.
func (w *warp) fault(kind FaultKind, in *inst) *Fault {
	lane := 0
	if w.mask != 0 {
		lane = first(w.mask)
	}
	return w.laneFault(kind, in, lane, "")
}

// laneFault describes an instruction for one lane. in is the instruction, nil
// for the one at w.pc.
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

// accessFault describes an access by lane i to address p.
func (w *warp) accessFault(kind FaultKind, in *inst, p uint64, i int, detail string) *Fault {
	f := w.laneFault(kind, in, i, detail)
	f.Addr, f.Size = p, int(in.size())
	f.Space = spaceText[in.aux&spaceMask]
	f.Write = in.aux&accWrite != 0
	return f
}

// pcOf returns the index of an instruction in the program. If in is the copy that records where an
// instruction reads, pcOf returns that instruction's index. If in is not part of the program, pcOf
// returns otherwise.
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

// sourceLine returns line n of a text, trimmed.
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

// traceDepth is how many calls a Trace keeps, traceShown how many it prints.
const (
	traceDepth = 32
	traceShown = 3
)

// Trace is the place in a Go program where something was made, as the calls that led there. It is
// cheap to take and resolved only when it is printed.
type Trace struct{ calls []uintptr }

// Here returns the trace of the calling goroutine.
func Here() *Trace {
	var pcs [traceDepth]uintptr
	n := runtime.Callers(2, pcs[:])
	return &Trace{append([]uintptr(nil), pcs[:n]...)}
}

// String lists the innermost calls that are not the library's own, innermost first. It is empty if
// there are none, as on a goroutine of the emulator.
func (t *Trace) String() string {
	if t == nil || len(t.calls) == 0 {
		return ""
	}
	var out []string
	frames := runtime.CallersFrames(t.calls)
	for more := true; more && len(out) < traceShown; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function != "" && !ownCode(f.Function) {
			out = append(out, fmt.Sprintf("%s (%s:%d)", shortName(f.Function), lastPart(f.File), f.Line))
		}
	}
	return strings.Join(out, " < ")
}

// ownCode reports whether a function says nothing about the program: functions of the library, of
// the Go runtime and of the testing package. The library's tests and examples count as programs.
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
	}
	return below == "internal/gputest" || below == "internal/faulty"
}

// packageOf returns the package of a function: everything up to the first dot after the last slash.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + name
}

func shortName(function string) string {
	function = lastPart(function)
	if i := strings.IndexByte(function, '['); i >= 0 { // type arguments
		function = function[:i]
	}
	return function
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// at returns verb followed by the trace, or "" if the trace is empty.
func (t *Trace) at(verb string) string {
	if s := t.String(); s != "" {
		return verb + s
	}
	return ""
}

// Waits for mbarrier objects that never end. Such a wait is a loop in the program, so it does not
// block. However, if a warp's loop accesses no other memory, and its registers are the same on each
// iteration, only another warp of the cluster can end it. If all warps of the cluster wait like
// this, or at barriers, none ever will.

const (
	stuckSteps  = 16  // number of turns after which a block checks itself
	stuckLoops  = 64  // iterations of its loop that a warp has made by then
	stuckPasses = 64  // turns of a cluster with all blocks stuck
	stuckLength = 256 // instructions of a loop that are checked
)

// waitLoop is the loop that a warp is in.
type waitLoop struct {
	from, target int32 // of its back edge
	times        int32 // taken in succession, and no mbarrier object changed or passed
	state        uint64
}

// turn records that a back edge is taken.
func (l *waitLoop) turn(from, target int32) {
	if l.from != from || l.target != target {
		*l = waitLoop{from: from, target: target}
	}
	l.times = min(l.times+1, stuckLoops)
}

// stuckCTA is what a block knows about its own state.
type stuckCTA struct {
	steps int
	found *warp // one that waits forever unless another block helps
}

// lookStuck checks periodically whether the block waits forever. If so, and no other block can
// help, it ends the block.
func (c *cta) lookStuck() {
	if c.stuck.steps++; c.stuck.steps%stuckSteps != 0 {
		return
	}
	c.stuck.found = c.stuckWarp()
	if c.stuck.found != nil && (c.cluster == nil || len(c.cluster.ctas) == 1) {
		panic(c.stuck.found.stuckFault())
	}
}

// stuckWarp returns a warp that waits in a loop, if all warps wait.
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

// isStuck reports whether the warp is in a loop that only polls mbarrier objects, in the same state
// as at the previous call.
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

// inLoop reports whether all lanes that could run are in the warp's loop.
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

// lookIn returns where the loop polls an mbarrier object. It returns -1 if the loop does not, or
// does more than that.
func (w *warp) lookIn() int32 {
	prog, at := w.cta.run.kernel.prog, int32(-1) // as compiled, without checks
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

// registers returns a hash of everything that a loop without stores can change.
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

// stuckFault describes the warp's wait.
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

// lookStuck ends a cluster in which all blocks have waited so long that each has checked itself
// again.
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

// looksAt records that a memory instruction tests whether a phase of an mbarrier object is
// complete.
func (p *program) looksAt(slot int32) {
	if p.looks == nil {
		p.looks = map[int32]bool{}
	}
	p.looks[slot] = true
}
