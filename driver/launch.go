package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Launch is a kernel launch with its configuration and arguments, as an operation. It can be
// enqueued any number of times without allocating. The driver copies the arguments when the launch
// is enqueued, so you can change them (SetArg) and launch again.
//
// Several goroutines may enqueue a Launch concurrently, but not while another goroutine changes it.
type Launch struct {
	// The fields that recording a list of launches needs come first, in the first two cache lines:
	// a long list does not fit the caches.
	k        *Kernel
	ctx      *Context
	accesses stamp    // see AccessesVersion
	shape    stamp    // changes whenever words or the places of the arguments do
	store    []uint64 // the arguments' bytes
	attrs    []cu.CUlaunchAttribute
	slots    []slot
	life     *life.Lifetime // of the code
	version  uint32         // see RefsVersion

	node cu.CUDA_KERNEL_NODE_PARAMS
	cfg  LaunchConfig

	ptrs []unsafe.Pointer // what the driver takes: the address of each argument
	mem  []*allocation    // memory among the arguments; nil where it no longer is
	refs []life.Ref       // the code, then mem
	uses []Access         // of mem

	packed []uint64 // see Pack

	words [launchWords]uintptr // see Launches
}

// slot stores one argument.
type slot struct {
	at   unsafe.Pointer // into Launch.store
	size uintptr
	typ  typeWord // of the latest argument: the same type needs no check
	form argForm
	mem  int        // index in Launch.mem; -1: none yet
	mode AccessMode // what the kernel does to the memory; 0: not declared
}

// Prepare binds the kernel to a configuration and arguments. It takes one argument per parameter,
// of the parameter's size. If the kernel came from PTX, Prepare also checks the kind and names the
// parameter in errors:
//
//   - pointers take a *Buffer, a View or a CUdeviceptr,
//   - integers take integers of their size (int and uint have none), bool a byte,
//   - .f32 and .f64 take float32 and float64,
//   - structs and arrays passed by value take a pointer-free struct or array of exactly their size.
//
// Memory must be accessible from the kernel's context. A Launch keeps the code and the memory among
// its arguments reachable.
func (k *Kernel) Prepare(cfg LaunchConfig, args ...any) (*Launch, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	l := newLaunch(k)
	if err := l.prepare(cfg, args); err != nil {
		return nil, err
	}
	l.shareAccesses()
	runtime.KeepAlive(args)
	return l, nil
}

func newLaunch(k *Kernel) *Launch {
	l := &Launch{k: k, ctx: k.code.ctx, life: k.code.life, accesses: newStamp(), refs: []life.Ref{k.code}}
	l.node.Func = k.raw
	l.layOut(k.params)
	return l
}

// layOut allocates arguments of the given sizes.
func (l *Launch) layOut(params []Param) {
	words := uintptr(0)
	for _, p := range params {
		words += (p.Size + 7) / 8
	}
	l.store = make([]uint64, words)
	l.ptrs = make([]unsafe.Pointer, len(params))
	l.slots = make([]slot, len(params))
	next := unsafe.Pointer(unsafe.SliceData(l.store))
	for i, p := range params {
		l.slots[i] = slot{at: next, size: p.Size, mem: -1}
		l.ptrs[i] = next
		if i+1 < len(params) {
			next = unsafe.Add(next, (p.Size+7)/8*8)
		}
	}
	l.shape = newStamp()
	l.node.KernelParams = unsafe.SliceData(l.ptrs)
	if len(params) == 0 {
		l.node.KernelParams = nil
	}
}

func (l *Launch) prepare(cfg LaunchConfig, args []any) error {
	if err := l.SetConfig(cfg); err != nil {
		return err
	}
	return l.setArgs(args)
}

// SetConfig changes the configuration.
func (l *Launch) SetConfig(cfg LaunchConfig) error {
	if err := l.check(); err != nil {
		return err
	}
	if l.node.GridDimX != 0 && l.cfg.same(&cfg) { // 0: none was accepted yet
		return nil
	}
	if err := l.k.checkConfig(&cfg); err != nil {
		return fmt.Errorf("launch of %v: %w", l.k, err)
	}
	l.cfg = cfg
	had := len(l.attrs)
	l.attrs = cfg.attributes(l.attrs[:0])
	if len(l.attrs) != had {
		l.version++
	}
	n := &l.node
	n.GridDimX, n.GridDimY, n.GridDimZ = cfg.Grid.X, cfg.Grid.Y, cfg.Grid.Z
	n.BlockDimX, n.BlockDimY, n.BlockDimZ = cfg.Block.X, cfg.Block.Y, cfg.Block.Z
	n.SharedMemBytes = cfg.SharedMem
	l.setWords()
	return nil
}

func (l *Launch) setArgs(args []any) error {
	if !l.k.known && len(l.slots) != len(args) {
		if err := l.guessLayout(args); err != nil {
			return err
		}
	}
	if len(args) != len(l.slots) {
		return invalidf("launch of %v: it takes %d arguments (%s), got %d", l.k, len(l.slots), signature(l.k.params), len(args))
	}
	for i, v := range args {
		if err := l.setAny(i, v); err != nil {
			return err
		}
	}
	return nil
}

// guessLayout derives the layout from the arguments if the parameters are unknown.
func (l *Launch) guessLayout(args []any) error {
	params := make([]Param, len(args))
	for i, v := range args {
		if v == nil {
			return l.argError(i, errNilArg)
		}
		t := argTypeOf(reflect.TypeOf(v))
		if t.err != nil {
			return l.argError(i, t.err)
		}
		params[i].Size = t.size
	}
	l.layOut(params)
	return nil
}

// Enqueue implements Op. It makes one driver call and does not allocate.
func (l *Launch) Enqueue(s *Stream) error {
	if l == nil || l.ctx == nil || s == nil || s.ctx != l.ctx || s.life.Closed() || l.life.Closed() {
		if err := l.refuse(s); err != nil {
			return err
		}
	}
	for _, a := range l.mem {
		if a != nil && a.life.Closed() {
			return l.closedArg()
		}
	}
	var err error
	n := &l.node
	if len(l.attrs) == 0 {
		err = s.d.CuLaunchKernel(n.Func, n.GridDimX, n.GridDimY, n.GridDimZ,
			n.BlockDimX, n.BlockDimY, n.BlockDimZ, n.SharedMemBytes, s.raw, n.KernelParams, nil)
	} else {
		err = l.enqueueEx(s)
	}
	runtime.KeepAlive(l)
	runtime.KeepAlive(s)
	if err != nil {
		return l.failed(err)
	}
	return nil
}

// enqueueEx passes the launch attributes. Drivers before CUDA 11.8 only support cooperative
// launches.
func (l *Launch) enqueueEx(s *Stream) error {
	n := &l.node
	if l.cfg.Cooperative && len(l.attrs) == 1 && !s.d.Has(cu.FnCuLaunchKernelEx) {
		return s.d.CuLaunchCooperativeKernel(n.Func, n.GridDimX, n.GridDimY, n.GridDimZ,
			n.BlockDimX, n.BlockDimY, n.BlockDimZ, n.SharedMemBytes, s.raw, n.KernelParams)
	}
	cfg := l.cfg.raw(l.attrs)
	cfg.HStream = s.raw
	return s.d.CuLaunchKernelEx(&cfg, n.Func, n.KernelParams, nil)
}

// refuse returns why the quick comparison in Enqueue failed, or nil: two Contexts of one driver
// context differ but are valid.
func (l *Launch) refuse(s *Stream) error {
	if err := l.check(); err != nil {
		return err
	}
	return checkStream(l, l.ctx, s)
}

func (l *Launch) check() error {
	if l == nil || l.k == nil {
		return absentError(l == nil, "launch")
	}
	return l.k.check()
}

func (l *Launch) closedArg() error {
	for i, s := range l.slots {
		if s.mem >= 0 && l.mem[s.mem] != nil {
			if err := l.mem[s.mem].life.Check(); err != nil {
				return l.argError(i, err)
			}
		}
	}
	return nil
}

func (l *Launch) failed(err error) error { return fmt.Errorf("launch of %v: %w", l.k, err) }

// Kernel returns the kernel.
func (l *Launch) Kernel() *Kernel {
	if l == nil {
		return nil
	}
	return l.k
}

// Config returns the configuration.
func (l *Launch) Config() LaunchConfig {
	if l == nil {
		return LaunchConfig{}
	}
	return l.cfg
}

// Context returns the context in which the kernel runs.
func (l *Launch) Context() *Context {
	if l == nil {
		return nil
	}
	return l.ctx
}

// Refs returns the kernel's code and the memory among the arguments.
func (l *Launch) Refs() []life.Ref {
	if l == nil {
		return nil
	}
	return l.refs
}

// RefsVersion returns a number that changes whenever Refs or the number of Attributes does. It is
// for packages that cache Refs.
func (l *Launch) RefsVersion() uint32 {
	if l == nil {
		return 0
	}
	return l.version
}

// RefsOpen reports whether everything in Refs is open.
func (l *Launch) RefsOpen() bool {
	if l == nil || l.life == nil {
		return false
	}
	if l.life.Closed() {
		return false
	}
	for _, a := range l.mem {
		if a != nil && a.life.Closed() {
			return false
		}
	}
	return true
}

// KernelNodeParams returns the parameters of a graph node for the launch. The struct and the
// arguments it points to belong to l and change with it.
func (l *Launch) KernelNodeParams() *cu.CUDA_KERNEL_NODE_PARAMS {
	if l == nil {
		return nil
	}
	return &l.node
}

// Attributes returns the attributes that a graph node needs in addition to its parameters. The
// slice belongs to l.
func (l *Launch) Attributes() []cu.CUlaunchAttribute {
	if l == nil {
		return nil
	}
	return l.attrs
}

// String describes the kernel and the configuration.
func (l *Launch) String() string {
	if l == nil {
		return "nil launch"
	}
	return fmt.Sprintf("%v<%v, %v>", l.k, l.cfg.Grid, l.cfg.Block)
}

func (*Launch) op() {}
