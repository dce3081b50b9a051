package vm

import (
	"fmt"
	"strings"
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
