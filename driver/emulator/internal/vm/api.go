// Package vm executes PTX on the CPU. It is the engine of the emulated driver: an address space
// (Memory), modules compiled from a ptx syntax tree (Compile), and launches (Kernel.Launch). It
// does not depend on driver handles, streams or graphs.
//
// # How a kernel runs
//
// Compile turns each kernel and the functions it can reach into one array of type-specialised
// instructions. Registers are columns of 32 values, one for each lane of a warp, in two banks (32
// and 64 bits). Predicates are 32-bit masks. A warp is a set of splits. Each split is a program
// counter and the mask of the lanes at that counter. The split in the deepest call runs first, and
// among equals the one with the lowest program counter. Splits that reach the same counter merge. A
// split that keeps branching backwards yields, so a lane that spins on a lock cannot block the
// neighbour that holds it. The warps of a block run in turn on one goroutine, and so do the blocks
// of a cluster. Other blocks run on several goroutines.
//
// # What it may import
//
// Package vm imports only the standard library, package ptx and package lazymem.
//
// # The race detector
//
// The functions that access a kernel's registers and memory are marked norace. Data races in an
// emulated kernel are not races in the Go program. CheckGlobalRaces finds the kernel's own races.
// The driver's channels and locks order a launch before or after copies and other launches, and the
// race detector sees that order.
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

// This file contains the interface between the engine and the emulated driver, except for Memory,
// Region and AllocOptions in memory.go.

// CompileOptions describes the target of a module and what the module may access.
type CompileOptions struct {
	// Memory holds the module's globals and constants.
	Memory *Memory
	// Device is the ordinal of the device that owns the module's variables.
	Device int
	// ComputeCapability is the device's major*10+minor (90 for an H200). Compile rejects a module
	// with a higher .target.
	ComputeCapability int
	// Externs maps names to the functions that PTX may declare .extern and call. vprintf, malloc,
	// free and __assertfail are built in and need no entry.
	Externs map[string]Extern
	// Tag identifies the module in reports about its variables.
	Tag string
	// MemoryLimit is the maximum total size of all variables in bytes. 0 means no limit.
	MemoryLimit uint64
	// VariableLimit is the maximum number of variables that declarations such as x<100> may create.
	// 0 means DefaultVariables.
	VariableLimit int
}

// Extern is a Go function that PTX can call. It runs once per active lane and must not wait for
// other work on the same device.
type Extern func(c *ExternCall)

// ExternCall describes one lane's call of an Extern.
type ExternCall struct {
	// Args holds the little-endian arguments, each at its own alignment, as laid out by the PTX
	// call.
	Args []byte
	// Result receives the return value, if the function has one.
	Result []byte
	// Memory is the address space of the launch.
	Memory *Memory
	// Options are the options of the launch that makes the call.
	Options *LaunchOptions
	// Block and Thread identify the caller.
	Block, Thread Dim3
	// Fault, if set by the function, ends the launch with an illegal-address fault. The report
	// contains the text in Fault.
	Fault string
}

// Compile turns PTX into an executable module. It places the module's variables in opts.Memory and
// initialises them. It links the sources: a .visible symbol in one source resolves an .extern
// symbol in another. If anything cannot be compiled, Compile returns CompileErrors, which name each
// instruction or symbol and its line.
func Compile(opts CompileOptions, sources ...*ptx.Module) (*Module, error) {
	return compile(opts, sources)
}

// CompileError is one reason why a module cannot be executed.
type CompileError struct {
	File string // name given to ptx.Parse
	Line int    // 1-based line in the PTX text, or 0 if there is none
	Msg  string
	// Kind determines the result code that the driver should return.
	Kind CompileErrorKind
}

// CompileErrorKind classifies compile errors by the driver's result code.
type CompileErrorKind uint8

// The kinds of compile error.
const (
	// CompileInvalid reports PTX that no driver accepts (CUDA_ERROR_INVALID_PTX).
	CompileInvalid CompileErrorKind = iota
	// CompileUnsupported reports PTX that this engine does not execute (CUDA_ERROR_NOT_SUPPORTED).
	CompileUnsupported
	// CompileUnresolved reports an undefined symbol.
	CompileUnresolved
	// CompileTarget reports a .target above the device's compute capability.
	CompileTarget
	// CompileMemory reports a variable that does not fit into memory (CUDA_ERROR_OUT_OF_MEMORY).
	CompileMemory
)

func (e *CompileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// CompileErrors lists all errors in source order. As a returned error, it is never empty.
type CompileErrors []*CompileError

// Error prints each error on a separate line, as a JIT log does.
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

// Unwrap returns the individual errors, for use by errors.As.
func (es CompileErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Variable describes a module-level variable.
type Variable struct {
	Name  string
	Addr  uint64 // device address, also for .const, which generic loads can read
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
	// Pointer reports whether the PTX declares the parameter with .ptr.
	Pointer bool
}

// Attributes holds the values that cuFuncGetAttribute returns for a kernel. NumRegs is an estimate,
// because the emulator has no hardware registers to allocate.
type Attributes struct {
	MaxThreads  int // largest number of threads per block allowed by .maxntid and .reqntid
	SharedBytes int // bytes of static shared memory
	ConstBytes  int // bytes of user constants
	LocalBytes  int // bytes of local memory and stack that one thread uses
	NumRegs     int
	PTXVersion  int  // 10*major+minor of the .target (90), for CU_FUNC_ATTRIBUTE_PTX_VERSION
	ReqBlock    Dim3 // from .reqntid; zero if absent
	MaxBlock    Dim3 // from .maxntid; zero if absent
	ReqCluster  Dim3 // from .reqnctapercluster; zero if absent
	ParamBytes  int
	MaxCluster  int  // from .maxclusterrank; 0 if absent
	Explicit    bool // from .explicitcluster: each launch must specify the cluster size
	ClusterGrid bool // from .blocksareclusters: the launch's grid counts clusters
}

// Dim3 is a size or an index in up to three dimensions.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) String() string { return fmt.Sprintf("(%d,%d,%d)", d.X, d.Y, d.Z) }

// Count returns the number of elements, X*Y*Z.
func (d Dim3) Count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// DeviceInfo holds the values that a kernel reads from special registers about the emulated device.
type DeviceInfo struct {
	Ordinal           int
	ComputeCapability int    // 10*major+minor, such as 90
	SMs               int    // number of multiprocessors (%nsmid); 0 means 1
	WarpsPerSM        int    // number of warps per multiprocessor (%nwarpid); 0 means 64
	ClockKHz          int    // rate of %clock in kHz; 0 means 1,000,000
	GridID            uint64 // value of %gridid
	GraphExec         uint64 // value of %current_graph_exec
}

// Checks enables the sanitizer's optional checks for one launch.
type Checks uint32

// The optional checks. Out-of-bounds, use-after-free and misaligned accesses are always reported
// and need no flag.
const (
	// CheckBarriers reports a barrier at which a block waits after some of its threads have exited.
	// It also reports a barrier that threads of one warp reach at different instructions.
	CheckBarriers Checks = 1 << iota
	// CheckSharedRaces reports unordered accesses to shared memory.
	CheckSharedRaces
	// CheckUninitialized reports reads of shared, local and global memory that was never written.
	// For global memory, it covers only allocations made after Memory.Track.
	CheckUninitialized
	// CheckGlobalRaces reports unordered accesses to global memory, within the launch and across
	// launches (see LaunchOptions.Order).
	CheckGlobalRaces
)

// LaunchOptions describes one kernel launch.
type LaunchOptions struct {
	Grid, Block   Dim3
	Cluster       Dim3   // zero or 1,1,1 means no clusters
	DynamicShared uint32 // size in bytes
	// Params is the parameter block (see Kernel.Params). Launch reads it before it returns and does
	// not write to it.
	Params []byte
	// Device describes the device that runs the kernel.
	Device DeviceInfo
	// Peers is a bit mask of device ordinals. The kernel may access the memory of these devices, of
	// its own device and of the host.
	Peers uint64
	// Workers is the number of CTAs executed concurrently. 0 means GOMAXPROCS. 1 makes execution
	// deterministic.
	Workers int
	// Cooperative makes all CTAs co-resident, so that grid-wide barriers can complete.
	Cooperative bool
	// Seed, if not 0, permutes the order of CTAs and warps. It also delays asynchronous copies
	// until the kernel waits for them.
	Seed uint64
	// Checks selects the optional sanitizer checks.
	Checks Checks
	// Order is the launch's position relative to other work, for CheckGlobalRaces. If nil, the
	// launch is ordered after all work that began before it.
	Order Order
	// Report receives the findings of Checks. A finding does not end the kernel. Several goroutines
	// may call Report concurrently.
	Report func(*Fault)
	// Stdout receives the output of vprintf. Output of concurrent calls is not interleaved. If nil,
	// the output is discarded.
	Stdout io.Writer
	// StackLimit is the maximum local memory of one thread in bytes. Values below the hardware's
	// limit of 512 KiB count as 512 KiB.
	StackLimit uint64
	// Heap serves the kernel's malloc calls. If nil, the launch creates its own heap and releases
	// it at the end.
	Heap *Heap
	// HeapLimit is the maximum size, in bytes, of a heap that the launch creates. 0 means 8 MiB
	// (CU_LIMIT_MALLOC_HEAP_SIZE).
	HeapLimit uint64
	// Timeout ends a kernel that runs longer. The fault names the instruction that was running. 0
	// means no limit.
	Timeout time.Duration
	// BlockMemory is the maximum local and shared memory, in bytes, of all blocks that run
	// concurrently. Additional blocks wait until others end. If a single block needs more, Launch
	// rejects the kernel as out of memory. 0 means no limit.
	BlockMemory uint64
	// Stats, if not nil, is updated when the launch ends.
	Stats *Stats
	// Count enables Stats.Counts. Counting makes the kernel several times slower.
	Count bool
	// User holds the driver's own data. Externs can read it from ExternCall.Options.
	User any
}

// Stats holds accumulated counts from launches.
type Stats struct {
	WarpInstructions uint64 // number of instructions that warps issued
	LaneInstructions uint64 // number of instructions that lanes executed
	// Counts is updated only by launches with LaunchOptions.Count. Concurrent launches with Count
	// must not share a Stats.
	Counts Counts
}

// Launch executes the kernel and returns when all its CTAs have ended. It blocks the calling
// goroutine. The error is nil, a *Fault, or a *LaunchError for options that a driver rejects before
// the launch. When ctx is cancelled, the kernel ends as soon as its warps reach a branch or a
// barrier. The error is then a *Fault of kind FaultAborted.
//
// Any number of launches may run concurrently on one Memory.
func (k *Kernel) Launch(ctx context.Context, opts *LaunchOptions) error {
	return k.launch(ctx, opts)
}

// LaunchError reports a launch that was rejected before the kernel ran.
type LaunchError struct {
	Result uint32 // CUDA result code: 1 invalid value, 701 launch out of resources ...
	Msg    string
}

func (e *LaunchError) Error() string { return e.Msg }

// Module is PTX compiled for execution, with its variables in memory. It is read-only after
// Compile, and any number of launches may use it concurrently.
type Module struct {
	mem     *Memory
	opts    CompileOptions
	kernels map[string]*Kernel
	names   []string
	vars    map[string]*Variable
	varList []*Variable
	regions []uint64 // addresses of the variables, freed by Close
	bytes   uint64   // total size of the variables
}

// Kernel returns the kernel with the given name.
func (m *Module) Kernel(name string) (*Kernel, bool) {
	k, ok := m.kernels[name]
	return k, ok
}

// Kernels returns the names of all kernels in source order.
func (m *Module) Kernels() []string { return append([]string(nil), m.names...) }

// Variable returns the .global or .const variable with the given name.
func (m *Module) Variable(name string) (Variable, bool) {
	v, ok := m.vars[name]
	if !ok {
		return Variable{}, false
	}
	return *v, true
}

// Bytes returns the total size of the module's variables in device memory.
func (m *Module) Bytes() uint64 { return m.bytes }

// Variables returns all variables in source order.
func (m *Module) Variables() []Variable {
	out := make([]Variable, len(m.varList))
	for i, v := range m.varList {
		out[i] = *v
	}
	return out
}

// Close frees the memory of the module's variables. All launches of its kernels must have ended.
func (m *Module) Close() error {
	// Free removes an entry from a sorted list. Freeing in reverse order moves fewer entries.
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

// Attributes returns the kernel's attributes. If loading did not compile the kernel's program,
// Attributes compiles it first.
func (k *Kernel) Attributes() Attributes {
	k.ready()
	return k.attrs
}

// Module returns the module that contains the kernel.
func (k *Kernel) Module() *Module { return k.module }

// DefaultVariables is the value of CompileOptions.VariableLimit if it is 0.
const DefaultVariables = 1 << 20

// CheckNumbers rejects modules in which declarations such as x<100> create more than
// opts.VariableLimit variables. Such declarations are short, but each variable needs memory.
// Compile calls CheckNumbers. Code that expands declarations before it calls Compile must call
// CheckNumbers first.
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
