package emulator

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/transfer"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Finding is an error in a program. It either ended a kernel or a copy, or was detected by one of
// the checks in Config.Check.
type Finding struct {
	Kind   string // "illegal address", "data race", "leak", ...
	Report string // the complete report, on one line
	Fatal  bool   // the error ended the kernel or the copy and left a sticky error
	// At is the call stack, innermost call first, at which the program submitted the work or
	// created the object. It is empty unless Config.Check is set.
	At string

	// The following fields are zero in findings that are not about a kernel.
	Kernel string
	File   string // name of the module
	Line   int    // line in the PTX text, from 1
	// Source is "file.cu:12" if the PTX has .loc directives. If the code belongs to an inlined
	// function, ", inlined at file.cu:30" follows, once for each call.
	Source  string
	Instr   string // text of the PTX line that contains the instruction
	Block   [3]uint32
	Thread  [3]uint32
	Address uint64
	Size    int    // size of the access in bytes, or 0 if there is no access
	Space   string // "global", "shared", "local", "generic", ...
	Write   bool
}

// String returns the report.
func (f Finding) String() string { return f.Report }

// The kinds of findings that are not about a kernel.
const (
	kindRace     = "data race"
	kindHost     = "host access during a copy"
	kindPageable = "pageable memory in a graph"
	kindLeak     = "leak"
	kindCopy     = "illegal address"
)

// findings is the list of an emulator's findings, without duplicates.
type findings struct {
	mu   sync.Mutex
	list []Finding
	seen map[string]bool
}

// Findings returns all findings so far, in order of detection. Each place in a program is reported
// only once per kind, except that all fatal findings are reported.
func (e *Emulator) Findings() []Finding {
	if e == nil {
		return nil
	}
	e.findings.mu.Lock()
	defer e.findings.mu.Unlock()
	return slices.Clone(e.findings.list)
}

// add stores a finding, unless one with the same key is already stored. It reports whether it has
// stored f.
func (l *findings) add(key string, f Finding) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[key] {
		return false
	}
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	l.seen[key] = true
	l.list = append(l.list, f)
	return true
}

// find stores and logs a finding. The caller must not hold a lock, because the log handler may call
// the emulator.
func (e *Emulator) find(key string, f Finding) {
	if e.findings.add(key, f) {
		e.cfg.Log.Warn("finding", "kind", f.Kind, "report", f.Report)
	}
}

// plain returns the key and the Finding for a finding that is not about a kernel.
func plain(kind, key, report, made string) (string, Finding) {
	return kind + key, Finding{Kind: kind, Report: kind + ": " + report, At: made}
}

// findPlain stores and logs a finding that is not about a kernel. The caller must not hold a lock.
func (e *Emulator) findPlain(kind, key, report, made string) {
	e.find(plain(kind, key, report, made))
}

// findLocked is like findPlain, but the caller must hold the emulator's lock.
func (e *Emulator) findLocked(kind, key, report, made string) {
	key, f := plain(kind, key, report, made)
	if e.findings.add(key, f) {
		e.log(slog.LevelWarn, "finding", "kind", f.Kind, "report", f.Report)
	}
}

// findInKernel receives the engine's findings. Findings of the same kind at the same instruction of
// a kernel are duplicates.
func (x *execution) findInKernel(f *vm.Fault) {
	found := findingOf(f, false)
	found.At = x.made.String()
	x.e.find(keyOf(f), found)
}

func keyOf(f *vm.Fault) string { return fmt.Sprint(f.Kind, f.Kernel, f.File, f.Line, f.Instr, f.Space) }

func findingOf(f *vm.Fault, fatal bool) Finding {
	dim := func(d vm.Dim3) [3]uint32 { return [3]uint32{d.X, d.Y, d.Z} }
	return Finding{
		Kind: f.Kind.String(), Report: f.Error(), Fatal: fatal,
		Kernel: f.Kernel, File: f.File, Line: f.Line, Source: f.Source, Instr: f.Instr,
		Block: dim(f.Block), Thread: dim(f.Thread),
		Address: f.Addr, Size: f.Size, Space: f.Space, Write: f.Write,
	}
}

// findFatal stores an error that ended a kernel or a copy. The key is the number n, so such errors
// are never duplicates.
func (e *Emulator) findFatal(n uint64, f Finding) {
	f.Fatal = true
	e.find(fmt.Sprint("fatal", n), f)
}

// Check is a set of optional checks, for Config.Check. Accesses outside of allocations, after a
// free, misaligned or in the wrong space always end a kernel, as on a device.
//
// CheckSharedRaces, CheckGlobalRaces and CheckUninitialized make kernels about 20 times slower and
// run the blocks of a launch one at a time. Their findings then depend only on Config.Seed. The
// other checks do not slow kernels down.
type Check uint32

// The optional checks. No check changes the results of a program.
const (
	// CheckBarriers finds barriers that some threads of a block never reach because they have
	// exited. It also finds barriers that the threads of one warp reach at different instructions.
	CheckBarriers Check = 1 << iota
	// CheckSharedRaces finds pairs of accesses to shared memory that no barrier orders, where at
	// least one access is a write. It assumes that an atomic or volatile access orders the whole
	// block, so it misses races between accesses before and after it.
	CheckSharedRaces
	// CheckGlobalRaces finds unordered accesses to global memory. The accesses may be made by
	// threads, warps and blocks in one launch, by launches and copies in different streams, or by
	// nodes in a graph. A fence followed by an atomic or volatile access orders one block before
	// another block whose atomic or volatile access reads the value. Events, the rules for the
	// legacy stream and waits on the host order streams.
	CheckGlobalRaces
	// CheckUninitialized finds reads of shared, local and device memory that was never written.
	CheckUninitialized
	// CheckHostMemory finds page-locked memory that the host writes while an asynchronous copy from
	// or to it is in flight. It compares contents, so it cannot detect reads, or writes that do not
	// change the contents. It skips memory that other copies, fills and graphs may write, and
	// memory that a kernel's arguments point to. When a stream operation such as
	// cuStreamWriteValue32 writes to page-locked memory, the check ends for the copies before it,
	// because the host may poll that word. A word that a kernel writes does not have this effect.
	CheckHostMemory
	// CheckGraphPointers finds copy nodes that refer to pageable host memory. A graph accesses such
	// memory at each launch, long after the call that passed the pointer has returned.
	CheckGraphPointers
	// CheckLeaks records where each object was created, and reports a finding for each object that
	// is still open when the emulator is closed.
	CheckLeaks

	// CheckAll enables all checks.
	CheckAll = CheckLeaks<<1 - 1
)

func (c Check) engine() vm.Checks {
	var v vm.Checks
	for from, to := range map[Check]vm.Checks{
		CheckBarriers: vm.CheckBarriers, CheckSharedRaces: vm.CheckSharedRaces,
		CheckGlobalRaces: vm.CheckGlobalRaces, CheckUninitialized: vm.CheckUninitialized,
	} {
		if c&from != 0 {
			v |= to
		}
	}
	return v
}

// checks reports whether any of the given checks is enabled.
func (e *Emulator) checks(c Check) bool { return e.cfg.Check&c != 0 }

// ordering is the set of checks that require the order of all work.
const ordering = CheckGlobalRaces | CheckHostMemory

const errIllegalAddress = cu.CUDA_ERROR_ILLEGAL_ADDRESS

// noteFault logs the error that ended a kernel or a copy, and stores it for LastFault and Explain.
// It returns code.
func (x *execution) noteFault(f Finding, code result) result {
	e := x.e
	f.At = x.made.String()
	n := e.stats.faults.Add(1)
	e.cfg.Log.Error("kernel fault", "report", f.Report)
	e.findFatal(n, f)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastFault = f.Report
	if e.faultOf == nil {
		e.faultOf = make(map[result]string)
	}
	e.faultOf[code] = f.Report
	return code
}

// noteMissing is like noteFault, but for a copy or fill whose memory did not exist when it ran.
func (x *execution) noteMissing(what string, addr uint64) result {
	return x.noteFault(Finding{Kind: kindCopy, Report: what + ": " + x.e.mem.Nearest(addr), Address: addr}, errIllegalAddress)
}

// LastFault returns the report on the last kernel or copy that failed. For a kernel, it names the
// kernel, the PTX line, the block, the thread, the address and the nearest allocation. If nothing
// has failed, LastFault returns "".
func (e *Emulator) LastFault() string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastFault
}

// Explain returns the report on the last kernel or copy that failed with the given code, or "" if
// none did. Package driver adds it to its errors.
func (e *Emulator) Explain(code cu.CUresult) string {
	if e == nil {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faultOf[code]
}

// reportCopyFault reports a failed copy. It names each side whose first row did not exist when the
// copy ran.
func (x *execution) reportCopyFault(op *copyOp) result {
	for _, p := range []*transfer.Side{&op.dst, &op.src} {
		if _, ok := p.Row(x.e.mem, p.Offset(0, 0), op.extent.Width); !ok {
			x.noteMissing("copy", p.Addr+p.Offset(0, 0))
		}
	}
	return errIllegalAddress
}

// Leak is an object that a program created but did not release.
type Leak struct {
	Kind    string  // "stream", "memory", ...
	Handle  uintptr // the object's handle; 0 for memory
	Address uint64  // only for memory
	Size    uint64  // only for memory
	MadeBy  string  // the function that allocated the memory
	By      string  // the call that destroyed the object with its context; "" if still open
	At      string  // the program's call stack at creation; for handles, only with CheckLeaks
}

// String describes the leaked object and how it was created.
func (l Leak) String() string {
	var b strings.Builder
	b.WriteString(l.Kind)
	switch {
	case l.Handle != 0:
		fmt.Fprintf(&b, " %#x", l.Handle)
	default:
		fmt.Fprintf(&b, " %#x of %d bytes", l.Address, l.Size)
	}
	if l.MadeBy != "" {
		fmt.Fprintf(&b, " from %s", l.MadeBy)
	}
	if l.At != "" {
		fmt.Fprintf(&b, ", made at %s", l.At)
	}
	if l.By != "" {
		fmt.Fprintf(&b, ", reclaimed by %s", l.By)
	}
	return b.String()
}

// Leaks lists all open handles, memory and references to primary contexts. It also lists objects
// that were destroyed with their context. The list is empty if the program released everything.
func (e *Emulator) Leaks() []Leak {
	if !e.exists() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leaks()
}

// leaks is like Leaks, but the caller must hold the lock.
func (e *Emulator) leaks() []Leak {
	leaks := slices.Clone(e.reclaimed)
	for h, object := range e.handles {
		if kind := leakKind(object); kind != "" && !onFaultyDevice(object) {
			leaks = append(leaks, Leak{Kind: kind, Handle: h, At: e.madeAt[h].String()})
		}
	}
	for _, d := range e.devices {
		if d.primaryRefs > 0 {
			leaks = append(leaks, Leak{Kind: "primary context", Handle: d.primary.handle})
		}
	}
	for addr, size := range e.reserved {
		leaks = append(leaks, Leak{Kind: "address range", Address: addr, Size: size})
	}
	for _, r := range e.mem.All() {
		if a, ok := r.User.(*allocation); ok && !a.releasing && !a.array && a.dev.fault == success {
			leaks = append(leaks, e.leakOf(a, ""))
		}
	}
	slices.SortStableFunc(leaks, func(a, b Leak) int {
		if d := strings.Compare(a.Kind, b.Kind); d != 0 {
			return d
		}
		return int(a.Handle) - int(b.Handle)
	})
	return leaks
}

// onFaultyDevice reports whether an object belongs to a device with a fault. Such an object is not a
// leak, because a driver releases it only when the process ends.
func onFaultyDevice(object any) bool {
	o, ok := object.(owned)
	return ok && o.owner().dev.fault != success
}

func (e *Emulator) leakOf(a *allocation, by string) Leak {
	l := Leak{Kind: "memory", Address: a.addr, Size: a.size, MadeBy: a.by, By: by}
	if r, ok := e.mem.Find(a.addr); ok {
		l.At = r.Made.String()
	}
	return l
}

// findLeaks reports a finding for each open object. Close calls it.
func (e *Emulator) findLeaks() {
	if !e.checks(CheckLeaks) {
		return
	}
	for _, l := range e.leaks() {
		e.findLocked(kindLeak, fmt.Sprint(l.Kind, l.Handle, l.Address), l.String(), l.At)
	}
}

// leakKind returns the kind of an object that the program must release. It returns "" for an object
// that is a part of another.
func leakKind(object any) string {
	switch o := object.(type) {
	case *cudaContext:
		if !o.primary {
			return "context"
		}
	case *stream:
		return "stream"
	case *event:
		return "event"
	case *module:
		if o.library == nil {
			return "module"
		}
	case *library:
		return "library"
	case *linkState:
		return "linker"
	case *graph:
		if o.parent == nil && !o.capturing && !o.destroyed {
			return "graph"
		}
		if o.capturing {
			return "capture"
		}
	case *array:
		return "array"
	case *physical:
		return "physical memory"
	case *exec:
		return "executable graph"
	case *pool:
		if !o.fixed {
			return "memory pool"
		}
	case *userObject:
		return "user object"
	case *extSem:
		return "external semaphore"
	}
	return ""
}

// ScheduleError is a program's failure under one schedule. An emulator with this Seed and one
// worker reproduces the failure.
type ScheduleError struct {
	Seed uint64
	Err  error
}

// Error returns a message that includes the configuration that reproduces the failure.
func (e *ScheduleError) Error() string {
	if e == nil {
		return "no schedule failed"
	}
	return fmt.Sprintf("with Config{Seed: %d, Workers: 1}: %v", e.Seed, e.Err)
}

// Unwrap returns the program's error.
func (e *ScheduleError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Schedules runs a program on n emulators, each with a different order of blocks and warps: first
// the usual order, then the orders for seeds 1 to n-1. It stops at the first failure and returns a
// *ScheduleError. A failure is an error returned by the program, or a finding of cfg.Check. Each
// emulator is closed after its run, so CheckLeaks adds leaks to the findings.
//
// A program whose result depends on the order fails only for some seeds. The seed in the error
// reproduces the failure.
func Schedules(n int, cfg Config, run func(*Emulator) error) error {
	if run == nil {
		return fmt.Errorf("no program to run: %w", cu.CUDA_ERROR_INVALID_VALUE)
	}
	cfg.Workers = 1
	for seed := range uint64(n) {
		cfg.Seed = seed
		if err := runSchedule(cfg, run); err != nil {
			return &ScheduleError{seed, err}
		}
	}
	return nil
}

func runSchedule(cfg Config, run func(*Emulator) error) error {
	e := New(cfg)
	defer e.Close()
	if err := run(e); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	if found := e.Findings(); len(found) > 0 {
		return fmt.Errorf("%d findings, the first: %v", len(found), found[0])
	}
	return nil
}
