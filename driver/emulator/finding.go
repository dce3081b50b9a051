package emulator

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver/emulator/internal/vm"
)

// Finding is an error in a program: one that ended a kernel, or one that a check of Config.Check
// detected.
type Finding struct {
	Kind   string // "illegal address", "data race", "leak", ...
	Report string // all that is known, on one line
	Fatal  bool   // it ended the kernel or the copy, and broke the context
	// At lists the program's calls that submitted the work, or made the object, innermost first. It
	// is empty unless Config.Check requires it.
	At string

	// For findings in kernels. Zero in others.
	Kernel  string
	File    string // the module
	Line    int    // in the PTX text, from 1
	Source  string // "file.cu:12" where the PTX has .loc
	Instr   string // the instruction's line
	Block   [3]uint32
	Thread  [3]uint32
	Address uint64
	Size    int    // bytes of the access, 0 if the finding is not about an access
	Space   string // "global", "shared", "local", "generic", ...
	Write   bool
}

// String returns the report.
func (f Finding) String() string { return f.Report }

// The kinds of findings outside of kernels.
const (
	kindRace     = "data race"
	kindHost     = "host access during a copy"
	kindPageable = "pageable memory in a graph"
	kindLeak     = "leak"
	kindCopy     = "illegal address"
)

// findings are kept for the lifetime of the emulator, each once.
type findings struct {
	mu   sync.Mutex
	list []Finding
	seen map[string]bool
}

// Findings returns the findings so far, in the order of their detection. A finding at the same
// place of the same program is kept once.
func (e *Emulator) Findings() []Finding {
	if e == nil {
		return nil
	}
	e.found.mu.Lock()
	defer e.found.mu.Unlock()
	return slices.Clone(e.found.list)
}

// add stores a finding, unless one with the same key is already stored.
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

// find stores and logs a finding. The caller must not hold a lock: see say.
func (e *Emulator) find(key string, f Finding) {
	if e.found.add(key, f) {
		e.cfg.Log.Warn("finding", "kind", f.Kind, "report", f.Report)
	}
}

// plain returns a finding outside of kernels, and its key.
func plain(kind, key, report, made string) (string, Finding) {
	return kind + key, Finding{Kind: kind, Report: kind + ": " + report, At: made}
}

// findPlain stores a finding outside of kernels. The caller must not hold a lock.
func (e *Emulator) findPlain(kind, key, report, made string) {
	e.find(plain(kind, key, report, made))
}

// findLocked is findPlain with the emulator's lock held.
func (e *Emulator) findLocked(kind, key, report, made string) {
	key, f := plain(kind, key, report, made)
	if e.found.add(key, f) {
		e.say(slog.LevelWarn, "finding", "kind", f.Kind, "report", f.Report)
	}
}

// findInKernel receives the engine's findings. Findings of one kernel are duplicates if they have
// the same kind and instruction.
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

// findFatal stores an error that ended a kernel. Each one counts, so its number is its key.
func (e *Emulator) findFatal(n uint64, f Finding) {
	f.Fatal = true
	e.find(fmt.Sprint("fatal", n), f)
}
