package vm

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/purecuda/cuda/ptx"
)

// This file is the whole interface between the engine and the emulated
// driver that drives it. The rest of the package implements it; the memory
// part (Memory, Region, AllocOptions) is in memory.go.

// CompileOptions says for what a module is compiled and what it may reach.
type CompileOptions struct {
	// Memory is where the module's globals and constants are placed.
	Memory *Memory
	// Device is the ordinal of the device that owns those variables.
	Device int
	// ComputeCapability is major*10+minor of the device (90 for an H200). A
	// module whose .target is above it is refused.
	ComputeCapability int
	// Externs are functions that PTX may declare .extern and call, by name.
	// vprintf, malloc, free and __assertfail are built in and need no entry.
	Externs map[string]Extern
	// Tag is kept in the regions of the module's variables for reports.
	Tag string
	// MemoryLimit bounds the bytes of all variables, 0 is none.
	MemoryLimit uint64
	// VariableLimit bounds the variables that declarations like x<100> stand
	// for; 0 is DefaultVariables.
	VariableLimit int
}

// Extern is a function that is called from PTX and runs in Go. It is called
// once per active lane and must not block on work of the same device.
type Extern func(c *ExternCall)

// ExternCall is one call of an Extern by one lane.
type ExternCall struct {
	// Args holds the arguments one after the other at their own alignment,
	// little endian, as the PTX call laid them out.
	Args []byte
	// Result receives the return value, if the function has one.
	Result []byte
	// Memory is the address space of the launch.
	Memory *Memory
	// Options are the options of the launch that makes the call.
	Options *LaunchOptions
	// Block and Thread say who calls.
	Block, Thread Dim3
	// Fault, if the function sets it, ends the launch like an access to an
	// illegal address. It says what was wrong.
	Fault string
}

// Compile decodes PTX into an executable module, places its variables in
// opts.Memory and runs their initialisers. Several sources are linked: a
// .extern of one is resolved by a .visible of another. The error is a
// CompileErrors that names each instruction or symbol that can not be
// compiled, with its line.
func Compile(opts CompileOptions, sources ...*ptx.Module) (*Module, error) {
	return compile(opts, sources)
}

// CompileError is one reason why a module can not be executed.
type CompileError struct {
	File string // name that was given to ptx.Parse
	Line int    // line in the PTX text, from 1; 0 when there is none
	Msg  string
	// Kind says which result code the driver should answer.
	Kind CompileErrorKind
}

// CompileErrorKind sorts compile errors by what a driver answers for them.
type CompileErrorKind uint8

// The kinds of compile error.
const (
	// CompileInvalid is PTX that no driver accepts (CUDA_ERROR_INVALID_PTX).
	CompileInvalid CompileErrorKind = iota
	// CompileUnsupported is PTX that this engine does not execute
	// (CUDA_ERROR_NOT_SUPPORTED would be honest, INVALID_PTX is what a JIT says).
	CompileUnsupported
	// CompileUnresolved is a symbol that nothing defines
	// (CUDA_ERROR_JIT_... / SHARED_OBJECT_SYMBOL_NOT_FOUND in a driver).
	CompileUnresolved
	// CompileTarget is a .target above the device's capability
	// (CUDA_ERROR_NO_BINARY_FOR_GPU).
	CompileTarget
	// CompileMemory is a variable that found no memory (CUDA_ERROR_OUT_OF_MEMORY).
	CompileMemory
)

func (e *CompileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// CompileErrors are all reasons found, in source order. It is never empty
// when it is returned as an error.
type CompileErrors []*CompileError

// Error puts each reason on a line of its own, which is what a JIT log is.
func (es CompileErrors) Error() string {
	var b strings.Builder
	for i, e := range es {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap gives the single errors to errors.As.
func (es CompileErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Variable is a module-level variable as a driver sees it.
type Variable struct {
	Name  string
	Addr  uint64 // device address; also for .const, which is readable by generic loads
	Size  uint64
	Const bool
}

// Param is one kernel parameter: where it lies in the parameter block.
type Param struct {
	Name   string
	Type   string // PTX type without the dot: "u64", "f32", "b8"
	Offset int
	Size   int
	Align  int
	// Pointer is true where the PTX says .ptr.
	Pointer bool
}

// Attributes are what cuFuncGetAttribute answers for a kernel. Registers are
// an estimate: there is no register allocation here.
type Attributes struct {
	MaxThreads  int // largest block the kernel accepts, .maxntid and .reqntid honoured
	SharedBytes int // static shared memory
	ConstBytes  int // user constants
	LocalBytes  int // local memory and stack of one thread
	NumRegs     int
	PTXVersion  int  // 10*major+minor of the .target (90), as CU_FUNC_ATTRIBUTE_PTX_VERSION
	ReqBlock    Dim3 // .reqntid, zero if none
	MaxBlock    Dim3 // .maxntid, zero if none
	ReqCluster  Dim3 // .reqnctapercluster, zero if none
	ParamBytes  int
	MaxCluster  int  // .maxclusterrank, 0 if none
	Explicit    bool // .explicitcluster: a launch must say the cluster's size
	ClusterGrid bool // .blocksareclusters: a launch's grid counts clusters
}

// Dim3 is a size or an index in up to three dimensions.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

// Count is the number of elements, X*Y*Z.
func (d Dim3) Count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// DeviceInfo is what special registers show of the emulated device.
type DeviceInfo struct {
	Ordinal           int
	ComputeCapability int    // 90
	SMs               int    // %nsmid; 0 counts as 1
	WarpsPerSM        int    // %nwarpid; 0 counts as 64
	ClockKHz          int    // rate of %clock; 0 counts as 1,000,000
	GridID            uint64 // %gridid of this launch
	GraphExec         uint64 // %current_graph_exec of this launch
}

// Checks switches on the sanitizer's optional findings for one launch.
type Checks uint32

// The optional checks. Out-of-bounds, use-after-free and misaligned accesses
// need no flag: they are always found.
const (
	// CheckBarriers reports barriers that exited threads do not reach, and those
	// that a warp reaches at several places.
	CheckBarriers Checks = 1 << iota
	// CheckSharedRaces reports unordered accesses to shared memory.
	CheckSharedRaces
	// CheckUninitialized reports reads of shared, local and global memory that
	// nobody wrote; of global memory, what is allocated after Memory.Track.
	CheckUninitialized
	// CheckGlobalRaces reports unordered accesses to global memory, within the
	// launch and with others (see LaunchOptions.Order).
	CheckGlobalRaces
)

// LaunchOptions are one kernel launch.
type LaunchOptions struct {
	Grid, Block   Dim3
	Cluster       Dim3   // zero or 1,1,1: no cluster
	DynamicShared uint32 // bytes
	// Params is the parameter block (see Kernel.Params). Launch reads it
	// before it returns and does not write to it.
	Params []byte
	// Device describes the device that executes.
	Device DeviceInfo
	// Peers is a bit per device ordinal whose memory the kernel may touch
	// besides its own device's and the host's.
	Peers uint64
	// Workers is the number of CTAs executed at the same time; 0 is
	// GOMAXPROCS, 1 makes an execution deterministic.
	Workers int
	// Cooperative makes all CTAs co-resident, so that grid-wide barriers end.
	Cooperative bool
	// Seed other than 0 permutes the order of CTAs and warps, and has
	// asynchronous copies made only where they are waited for.
	Seed uint64
	// Checks are the optional sanitizer checks.
	Checks Checks
	// Order is the launch's place among others, for CheckGlobalRaces. nil is
	// after all that began before.
	Order Order
	// Report receives findings of Checks, which do not end the kernel. It
	// may be called from several goroutines at a time.
	Report func(*Fault)
	// Stdout receives what vprintf prints, in whole calls; nil drops it.
	Stdout io.Writer
	// StackLimit is the largest local memory of one thread (CU_LIMIT_STACK_SIZE
	// only enlarges it); 0 is 512 KiB, the hardware's bound.
	StackLimit uint64
	// Heap is where malloc in a kernel allocates. nil is a heap of its own
	// that ends with the launch.
	Heap *Heap
	// HeapLimit bounds that heap; 0 is 8 MiB (CU_LIMIT_MALLOC_HEAP_SIZE).
	HeapLimit uint64
	// Timeout ends a kernel that runs for longer, with a fault that says where it
	// was. 0 is no limit.
	Timeout time.Duration
	// BlockMemory bounds the local and shared memory of all blocks that run at
	// a time: blocks wait for others to end. One block that needs more is
	// refused as out of memory. 0 is no bound.
	BlockMemory uint64
	// Stats, if not nil, is added to when the launch ends.
	Stats *Stats
	// Count has Stats.Counts filled in: the kernel runs several times slower.
	Count bool
	// User is for the driver: Externs find it in ExternCall.Options.
	User any
}

// Stats counts what launches did.
type Stats struct {
	WarpInstructions uint64 // instructions issued, per warp
	LaneInstructions uint64 // instructions executed, per lane
	// Counts is added to by launches with LaunchOptions.Count, of which no two
	// may share a Stats at the same time.
	Counts Counts
}

// Launch executes the kernel and returns when all its CTAs have ended. It
// blocks the calling goroutine. The error is nil, a *Fault, or a
// *LaunchError for options that a driver refuses before the launch. When ctx
// is cancelled the kernel ends as soon as its warps reach a branch or a
// barrier, and the error is a *Fault of kind FaultAborted.
//
// Any number of launches may run at the same time on one Memory.
func (k *Kernel) Launch(ctx context.Context, opts *LaunchOptions) error {
	return k.launch(ctx, opts)
}

// LaunchError is a launch refused before anything ran.
type LaunchError struct {
	Result uint32 // CUDA result code: 1 invalid value, 701 launch out of resources ...
	Msg    string
}

func (e *LaunchError) Error() string { return e.Msg }
