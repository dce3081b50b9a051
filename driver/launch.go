package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

// Launch is a kernel launch with its configuration and arguments. It can be enqueued any number of
// times. The driver copies the arguments when the launch is enqueued, so you can change them
// afterwards ([SetArg]).
type Launch struct {
	// These fields come first because recording a list of launches reads them for each launch. They
	// fill two cache lines.
	k   *Kernel
	ctx *Context
	b   launch.Block
	cfg LaunchConfig

	alone uint64 // bit i is set if argument i is restrict
	apart uint64 // value of b.Accesses when the restrict arguments were last found not to overlap; atomic

	refs []life.Ref // the code, then the memory arguments
	uses []Access   // accesses to the memory arguments, in the order of b.Mem
}

// Prepare binds the kernel to a configuration and arguments. It requires one argument per
// parameter, of the parameter's size. If the kernel came from PTX, Prepare also checks the kind and
// names the parameter in errors:
//
//   - pointers accept a *Buffer, a View or a CUdeviceptr,
//   - integers accept Go integers of the same size (not int or uint), and a bool for a byte,
//   - .f32 and .f64 accept float32 and float64,
//   - structs and arrays passed by value accept a pointer-free struct or array of exactly the
//     same size,
//   - structs of 24 and 16 bytes also accept a *Buffer or a View, which is passed as a Go slice or
//     as a View of package ptx/gpu: its address, its length and, in a slice, its capacity.
//
// Memory must be accessible in the kernel's context. A Launch keeps it alive.
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
	l := &Launch{k: k, ctx: k.code.ctx, refs: []life.Ref{k.code}}
	l.b.Life, l.b.Accesses = k.code.life, launch.NewStamp()
	l.b.Node.Func, l.alone = k.raw, k.alone.Load()
	l.layOut(k.params)
	return l
}

// layOut allocates storage for arguments of the parameters' sizes. Each argument starts at a word
// boundary.
func (l *Launch) layOut(params []Param) {
	words := uintptr(0)
	for _, p := range params {
		words += (p.Size + 7) / 8
	}
	l.b.Store = make([]uint64, words)
	l.b.Ptrs = make([]unsafe.Pointer, len(params))
	l.b.Slots = make([]launch.Slot, len(params))
	next := unsafe.Pointer(unsafe.SliceData(l.b.Store))
	for i, p := range params {
		l.b.Slots[i] = launch.Slot{At: next, Size: p.Size, Mem: -1}
		l.b.Ptrs[i] = next
		if i+1 < len(params) {
			next = unsafe.Add(next, (p.Size+7)/8*8)
		}
	}
	l.b.Shape = launch.NewStamp()
	l.b.Node.KernelParams = unsafe.SliceData(l.b.Ptrs)
	if len(params) == 0 {
		l.b.Node.KernelParams = nil
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
	if l.b.Node.GridDimX != 0 && l.cfg.same(&cfg) { // 0 if no configuration has been accepted yet
		return nil
	}
	if err := l.k.checkConfig(&cfg); err != nil {
		return fmt.Errorf("launch of %v: %w", l.k, err)
	}
	l.cfg = cfg
	had := len(l.b.Attrs)
	l.b.Attrs = cfg.attributes(l.b.Attrs[:0])
	if len(l.b.Attrs) != had {
		l.b.Version++
	}
	n := &l.b.Node
	n.GridDimX, n.GridDimY, n.GridDimZ = cfg.Grid.X, cfg.Grid.Y, cfg.Grid.Z
	n.BlockDimX, n.BlockDimY, n.BlockDimZ = cfg.Block.X, cfg.Block.Y, cfg.Block.Z
	n.SharedMemBytes = cfg.SharedMem
	l.setWords()
	return nil
}

func (l *Launch) setArgs(args []any) error {
	if !l.k.known && len(l.b.Slots) != len(args) {
		if err := l.guessLayout(args); err != nil {
			return err
		}
	}
	if len(args) != len(l.b.Slots) {
		return invalidf("launch of %v: it takes %d arguments (%s), got %d", l.k, len(l.b.Slots), signature(l.k.params), len(args))
	}
	for i, v := range args {
		if err := l.setAny(i, v); err != nil {
			return err
		}
	}
	return nil
}

// guessLayout derives the sizes of a kernel's unknown parameters from the arguments.
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

// Enqueue implements [Op].
func (l *Launch) Enqueue(s *Stream) error {
	if l == nil || s == nil || s.ctx != l.ctx || s.life.Closed() || l.b.Life.Closed() {
		if err := l.refuse(s); err != nil {
			return err
		}
	}
	for _, a := range l.b.Mem {
		if a != nil && a.Closed() {
			return l.closedArg()
		}
	}
	err := l.checkRestrict()
	if err != nil {
		return err
	}
	n := &l.b.Node
	if len(l.b.Attrs) == 0 {
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

// enqueueEx launches with attributes. Drivers before CUDA 11.8 support only Cooperative.
func (l *Launch) enqueueEx(s *Stream) error {
	n := &l.b.Node
	if l.cfg.Cooperative && len(l.b.Attrs) == 1 && !s.d.Has(cu.FnCuLaunchKernelEx) {
		return s.d.CuLaunchCooperativeKernel(n.Func, n.GridDimX, n.GridDimY, n.GridDimZ,
			n.BlockDimX, n.BlockDimY, n.BlockDimZ, n.SharedMemBytes, s.raw, n.KernelParams)
	}
	cfg := l.cfg.raw(l.b.Attrs)
	cfg.HStream = s.raw
	return s.d.CuLaunchKernelEx(&cfg, n.Func, n.KernelParams, nil)
}

// refuse returns an error if the launch cannot be enqueued in s. Different Contexts are no error if
// they have the same driver context.
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
	for i, s := range l.b.Slots {
		if s.Mem >= 0 && l.b.Mem[s.Mem] != nil {
			if err := l.b.Mem[s.Mem].Check(); err != nil {
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

// Uses returns the code and the memory arguments with their accesses. An access counts as a read
// and a write, unless In or Out declared it.
func (l *Launch) Uses() uses.Set {
	if l == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: l.refs, Accesses: l.uses}
}

// Block returns the part of the launch that graph nodes and batches read.
func (l *Launch) Block() *launch.Block {
	if l == nil {
		return nil
	}
	return &l.b
}

// String describes the launch.
func (l *Launch) String() string {
	if l == nil {
		return "nil launch"
	}
	return fmt.Sprintf("%v<%v, %v>", l.k, l.cfg.Grid, l.cfg.Block)
}

// setWords stores the words that a batch passes in addition to the arguments, and updates their
// stamp.
func (l *Launch) setWords() {
	n := &l.b.Node
	l.b.Words = [launch.Words]uintptr{
		uintptr(n.Func),
		uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ),
		uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ),
		uintptr(n.SharedMemBytes),
	}
	l.b.Shape = l.k.shapeOf(&l.b.Words)
}

// kernelShape is the configuration of a kernel's first launch, and its stamp.
type kernelShape struct {
	words [launch.Words]uintptr
	stamp launch.Stamp
}

// shapeOf returns the stamp of the kernel's first launch if the parameters are known and words
// matches that launch's words. Otherwise it returns a new stamp.
func (k *Kernel) shapeOf(words *[launch.Words]uintptr) launch.Stamp {
	if !k.known {
		return launch.NewStamp()
	}
	s := k.shape.Load()
	if s == nil {
		s = &kernelShape{*words, launch.NewStamp()}
		if !k.shape.CompareAndSwap(nil, s) {
			s = k.shape.Load()
		}
	}
	if s.words == *words {
		return s.stamp
	}
	return launch.NewStamp()
}

// kernelUses records the memory and the accesses of a kernel's most recently prepared launch. It
// stores Lifetimes only as addresses for comparison, so it keeps no memory alive. Any code that
// compares stamps later retains the Lifetimes, so their addresses cannot have been reused.
type kernelUses struct {
	mem   []uintptr
	uses  []Access
	stamp launch.Stamp
}

// shareAccesses makes a new launch share the stamp of the kernel's previously prepared launch if
// both have the same memory and accesses. In a list of launches that differ only in numeric
// arguments, equal stamps show that accesses need not be compared.
func (l *Launch) shareAccesses() {
	if last := l.k.uses.Load(); last != nil && last.are(l) {
		l.b.Accesses = last.stamp
		return
	}
	l.b.Accesses = launch.NewStamp()
	now := &kernelUses{make([]uintptr, len(l.b.Mem)), slices.Clone(l.uses), l.b.Accesses}
	for i, m := range l.b.Mem {
		now.mem[i] = uintptr(unsafe.Pointer(m))
	}
	l.k.uses.Store(now)
}

func (u *kernelUses) are(l *Launch) bool {
	if len(u.mem) != len(l.b.Mem) {
		return false
	}
	for i, m := range l.b.Mem {
		if u.mem[i] != uintptr(unsafe.Pointer(m)) {
			return false
		}
	}
	return slices.Equal(u.uses, l.uses)
}
