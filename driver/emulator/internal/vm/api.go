// Package vm executes PTX on the CPU. It is the engine of the emulated driver: an address space
// (Memory), modules compiled from a ptx syntax tree (Compile), and launches (Kernel.Launch). It
// knows nothing about driver handles, streams or graphs.
//
// # How a kernel runs
//
// Compile turns each kernel and the functions it can reach into one array of type-specialised
// instructions. Registers are columns of 32 values, one for each lane of a warp, in two banks (32
// and 64 bits). Predicates are 32-bit masks. A warp is a set of splits, each of which is a program
// counter with the mask of the lanes that are there. The split with the lowest program counter
// runs, and splits that meet merge. A split that keeps branching backwards yields, so that a lane
// that spins on a lock held by its neighbour makes progress. The warps of a block run on one
// goroutine, one at a time, and so do the blocks of a cluster. Other blocks run on several
// goroutines.
//
// # What it may import
//
// The standard library, package ptx and package lazymem.
//
// # The race detector
//
// The functions that access a kernel's registers and memory are marked norace. Data races of the
// emulated kernel are not races of the Go program, and the emulator has its own check for them
// (CheckGlobalRaces). The driver's channels and locks order a launch with copies and with other
// launches, and the detector sees those.
package vm

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/purecuda/cuda/ptx"
)

// This file is the complete interface between the engine and the emulated driver. The rest of the
// package implements it. The memory part (Memory, Region, AllocOptions) is in memory.go.

// CompileOptions describes the target of a module and what the module may access.
type CompileOptions struct {
	// Memory is where the module's globals and constants are placed.
	Memory *Memory
	// Device is the ordinal of the device that owns those variables.
	Device int
	// ComputeCapability is major*10+minor of the device (90 for an H200). A module with a higher
	// .target is rejected.
	ComputeCapability int
	// Externs are functions that PTX may declare .extern and call, by name. vprintf, malloc, free
	// and __assertfail are built in and need no entry.
	Externs map[string]Extern
	// Tag is stored in the regions of the module's variables for reports.
	Tag string
	// MemoryLimit bounds the bytes of all variables. 0 means no limit.
	MemoryLimit uint64
	// VariableLimit bounds the number of variables that declarations like x<100> stand for. 0 means
	// DefaultVariables.
	VariableLimit int
}

// Extern is a Go function that is called from PTX. It is called once per active lane and must not
// block on work of the same device.
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
	// Block and Thread identify the caller.
	Block, Thread Dim3
	// Fault, if the function sets it, ends the launch like an access to an illegal address. It is
	// the reason for the report.
	Fault string
}

// Compile decodes PTX into an executable module, places its variables in opts.Memory and runs their
// initialisers. Several sources are linked: a .visible symbol of one resolves a .extern symbol of
// another. The error is a CompileErrors that names each instruction or symbol that cannot be
// compiled, with its line.
func Compile(opts CompileOptions, sources ...*ptx.Module) (*Module, error) {
	return compile(opts, sources)
}

// CompileError is one reason why a module cannot be executed.
type CompileError struct {
	File string // name that was given to ptx.Parse
	Line int    // line in the PTX text, from 1; 0 when there is none
	Msg  string
	// Kind determines the result code that the driver should return.
	Kind CompileErrorKind
}

// CompileErrorKind classifies compile errors by the driver's result code.
type CompileErrorKind uint8

// The kinds of compile error.
const (
	// CompileInvalid is PTX that no driver accepts (CUDA_ERROR_INVALID_PTX).
	CompileInvalid CompileErrorKind = iota
	// CompileUnsupported is PTX that this engine does not execute. (CUDA_ERROR_NOT_SUPPORTED would
	// be accurate, but a JIT returns INVALID_PTX.)
	CompileUnsupported
	// CompileUnresolved is a symbol that nothing defines
	// (CUDA_ERROR_JIT_... / SHARED_OBJECT_SYMBOL_NOT_FOUND in a driver).
	CompileUnresolved
	// CompileTarget is a .target above the device's capability
	// (CUDA_ERROR_NO_BINARY_FOR_GPU).
	CompileTarget
	// CompileMemory is a variable for which there is not enough memory (CUDA_ERROR_OUT_OF_MEMORY).
	CompileMemory
)

func (e *CompileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// CompileErrors lists all errors in source order. It is never empty when it is returned as an
// error.
type CompileErrors []*CompileError

// Error puts each error on a separate line, as a JIT log does.
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

// Unwrap returns the individual errors for errors.As.
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

// Param describes one kernel parameter and its position in the parameter block.
type Param struct {
	Name   string
	Type   string // PTX type without the dot: "u64", "f32", "b8"
	Offset int
	Size   int
	Align  int
	// Pointer is true if the PTX says .ptr.
	Pointer bool
}

// Attributes are what cuFuncGetAttribute returns for a kernel. Registers is an estimate, because
// hardware registers are not allocated here.
type Attributes struct {
	MaxThreads  int // largest block that the kernel accepts, considering .maxntid and .reqntid
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
	Explicit    bool // .explicitcluster: a launch must specify the cluster size
	ClusterGrid bool // .blocksareclusters: a launch's grid counts clusters
}

// Dim3 is a size or an index in up to three dimensions.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

// Count returns the number of elements, X*Y*Z.
func (d Dim3) Count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// DeviceInfo is what special registers return about the emulated device.
type DeviceInfo struct {
	Ordinal           int
	ComputeCapability int    // 90
	SMs               int    // %nsmid; 0 counts as 1
	WarpsPerSM        int    // %nwarpid; 0 counts as 64
	ClockKHz          int    // rate of %clock; 0 counts as 1,000,000
	GridID            uint64 // %gridid of this launch
	GraphExec         uint64 // %current_graph_exec of this launch
}

// Checks enables the sanitizer's optional checks for one launch.
type Checks uint32

// The optional checks. Out-of-bounds, use-after-free and misaligned accesses
// need no flag: they are always found.
const (
	// CheckBarriers reports barriers that exited threads do not reach, and barriers that the
	// threads of one warp reach at different places.
	CheckBarriers Checks = 1 << iota
	// CheckSharedRaces reports unordered accesses to shared memory.
	CheckSharedRaces
	// CheckUninitialized reports reads of shared, local and global memory that was never written.
	// In global memory, it covers what is allocated after Memory.Track.
	CheckUninitialized
	// CheckGlobalRaces reports unordered accesses to global memory, within the launch and across
	// launches (see LaunchOptions.Order).
	CheckGlobalRaces
)

// LaunchOptions describe one kernel launch.
type LaunchOptions struct {
	Grid, Block   Dim3
	Cluster       Dim3   // zero or 1,1,1: no cluster
	DynamicShared uint32 // bytes
	// Params is the parameter block (see Kernel.Params). Launch reads it
	// before it returns and does not write to it.
	Params []byte
	// Device describes the device that runs the kernel.
	Device DeviceInfo
	// Peers has a bit per device ordinal whose memory the kernel may access in addition to the
	// memory of its own device and of the host.
	Peers uint64
	// Workers is the number of CTAs executed concurrently. 0 means GOMAXPROCS, and 1 makes an
	// execution deterministic.
	Workers int
	// Cooperative makes all CTAs co-resident, so that grid-wide barriers can complete.
	Cooperative bool
	// Seed other than 0 permutes the order of CTAs and warps, and delays asynchronous copies until
	// they are waited for.
	Seed uint64
	// Checks are the optional sanitizer checks.
	Checks Checks
	// Order is the launch's place among others, for CheckGlobalRaces. If nil, the launch comes
	// after everything that began before it.
	Order Order
	// Report receives the findings of Checks, which do not end the kernel. Several goroutines may
	// call it concurrently.
	Report func(*Fault)
	// Stdout receives what vprintf prints, in whole calls. If nil, the output is dropped.
	Stdout io.Writer
	// StackLimit is the maximum local memory of one thread (CU_LIMIT_STACK_SIZE only enlarges it).
	// 0 means 512 KiB, the hardware's limit.
	StackLimit uint64
	// Heap is where malloc in a kernel allocates. If nil, the launch gets its own heap, which ends
	// with it.
	Heap *Heap
	// HeapLimit bounds that heap. 0 means 8 MiB (CU_LIMIT_MALLOC_HEAP_SIZE).
	HeapLimit uint64
	// Timeout ends a kernel that runs longer, with a fault that says where it was. 0 means no
	// limit.
	Timeout time.Duration
	// BlockMemory bounds the local and shared memory of all blocks that run concurrently. Further
	// blocks wait for others to end. If a single block needs more, the launch is rejected as out of
	// memory. 0 means no limit.
	BlockMemory uint64
	// Stats, if not nil, is updated when the launch ends.
	Stats *Stats
	// Count enables Stats.Counts. The kernel then runs several times slower.
	Count bool
	// User is for the driver. Externs find it in ExternCall.Options.
	User any
}

// Stats counts what launches did.
type Stats struct {
	WarpInstructions uint64 // instructions issued, per warp
	LaneInstructions uint64 // instructions executed, per lane
	// Counts is updated by launches with LaunchOptions.Count. No two concurrent launches with Count
	// may share a Stats.
	Counts Counts
}

// Launch executes the kernel and returns when all its CTAs have ended. It blocks the calling
// goroutine. The error is nil, a *Fault, or a *LaunchError for options that a driver rejects before
// the launch. When ctx is cancelled, the kernel ends as soon as its warps reach a branch or a
// barrier, and the error is a *Fault of kind FaultAborted.
//
// Any number of launches may run concurrently on one Memory.
func (k *Kernel) Launch(ctx context.Context, opts *LaunchOptions) error {
	return k.launch(ctx, opts)
}

// LaunchError is a launch that was rejected before anything ran.
type LaunchError struct {
	Result uint32 // CUDA result code: 1 invalid value, 701 launch out of resources ...
	Msg    string
}

func (e *LaunchError) Error() string { return e.Msg }

// Module is PTX compiled for execution, with its variables in memory. It is read-only after
// Compile, and any number of launches may use it.
type Module struct {
	mem     *Memory
	opts    CompileOptions
	kernels map[string]*Kernel
	names   []string
	vars    map[string]*Variable
	varList []*Variable
	regions []uint64 // of the variables, freed by Close
	bytes   uint64   // of the variables
}

// Kernel returns the kernel of that name.
func (m *Module) Kernel(name string) (*Kernel, bool) {
	k, ok := m.kernels[name]
	return k, ok
}

// Kernels returns the names of all kernels in source order.
func (m *Module) Kernels() []string { return append([]string(nil), m.names...) }

// Variable returns the .global or .const variable of that name.
func (m *Module) Variable(name string) (Variable, bool) {
	v, ok := m.vars[name]
	if !ok {
		return Variable{}, false
	}
	return *v, true
}

// Bytes returns the size of the variables in device memory.
func (m *Module) Bytes() uint64 { return m.bytes }

// Variables returns all variables in source order.
func (m *Module) Variables() []Variable {
	out := make([]Variable, len(m.varList))
	for i, v := range m.varList {
		out[i] = *v
	}
	return out
}

// Close frees the memory of the module's variables. Launches of its kernels
// must have ended.
func (m *Module) Close() error {
	// The last first, because then fewer entries have to move.
	for _, a := range slices.Backward(m.regions) {
		if _, err := m.mem.Free(a, "unloading of its module"); err != nil {
			return fmt.Errorf("free of a module's variables: %w", err)
		}
	}
	m.regions = nil
	return nil
}

// Name returns the kernel's name in the PTX.
func (k *Kernel) Name() string { return k.name }

// Params returns the kernel's parameters in order.
func (k *Kernel) Params() []Param { return k.params }

// Attributes returns the kernel's attributes. They depend on the kernel's program, which is made
// now if loading did not make it.
func (k *Kernel) Attributes() Attributes {
	k.ready()
	return k.attrs
}

// Module returns the module that contains the kernel.
func (k *Kernel) Module() *Module { return k.module }

// DefaultVariables is how many variables parameterised declarations may stand for.
const DefaultVariables = 1 << 20

// CheckNumbers rejects modules whose declarations like x<100> stand for more variables than
// opts.VariableLimit. Such declarations are short, but each variable needs memory. Compile calls
// it, and so must anyone who looks at the declarations before that.
func CheckNumbers(opts CompileOptions, mods ...*ptx.Module) error {
	n := numbers{limit: opts.VariableLimit}
	if n.limit == 0 {
		n.limit = DefaultVariables
	}
	for _, m := range mods {
		n.file, n.left = m.Name, n.limit
		for _, d := range m.Decls {
			switch d := d.(type) {
			case *ptx.Variable:
				n.take(d)
			case *ptx.Function:
				n.block(d.Body)
			}
		}
	}
	if n.err != nil {
		return CompileErrors{n.err}
	}
	return nil
}

// numbers counts the variables of a module.
type numbers struct {
	limit, left int
	file        string
	err         *CompileError
}

func (n *numbers) block(b *ptx.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *ptx.Variable:
			n.take(s)
		case *ptx.Block:
			n.block(s)
		}
	}
}

func (n *numbers) take(v *ptx.Variable) {
	if v.Count <= n.left {
		n.left -= v.Count
		return
	}
	if n.err == nil {
		n.err = &CompileError{File: n.file, Line: int(v.Pos.Line), Kind: CompileMemory,
			Msg: fmt.Sprintf("variable %s<%d>: the declarations of a module may stand for %d variables in all", v.Name, v.Count, n.limit)}
	}
}
