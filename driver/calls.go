package driver

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/launch"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/loader"
)

// Doer runs or records operations: a *Stream, or a scope of package graph.
type Doer interface{ Do(ops ...Op) error }

// Calls launches one kernel repeatedly with new arguments and without allocating. The launchers
// that ptx2go generates use it. Calls keeps the code reachable. It also keeps the memory passed to
// recent calls reachable until the garbage collector has run twice with no call in between.
type Calls struct {
	latch loader.Latch // guards used, first and idle
	used  bool         // whether Do was called since the last garbage collection
	first call
	spare sync.Pool // of *call; used for Doers that are not streams and while the latch is held
	k     *Kernel
	modes []AccessMode
	idle  *idle // nil while a finalizer is set
}

// NewCalls creates the Calls of a kernel. modes has one entry per parameter, which says how the
// kernel accesses the argument's memory. The entry is 0 if the argument is not memory or declares
// its own mode. If the kernel's parameters are unknown, NewCalls returns an error: see
// [Kernel.Params].
func NewCalls(k *Kernel, modes ...AccessMode) (*Calls, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	if !k.known {
		return nil, fmt.Errorf("calls of %v: this driver does not report its parameters (CUDA 12.4 does): %w", k, ErrNotSupported)
	}
	if len(k.params) != len(modes) {
		return nil, invalidf("calls of %v: it takes %d arguments (%s), not %d", k, len(k.params), signature(k.params), len(modes))
	}
	c := &Calls{k: k, modes: modes}
	c.idle = &idle{weak.Make(c)}
	return c, nil
}

// Kernel returns the kernel, or nil for nil Calls.
func (c *Calls) Kernel() *Kernel {
	if c == nil {
		return nil
	}
	return c.k
}

// Do launches the kernel with the given configuration. args points to a struct with one field for
// each argument, in order. The type of a field is Memory or a type that Prepare accepts. Do checks
// the values at each call. It checks the types only when the struct type differs from the previous
// call's.
func (c *Calls) Do(on Doer, cfg *LaunchConfig, args any) error {
	if c == nil || c.k == nil {
		return nilError("kernel") // if c is nil, the generated launcher was not loaded
	}
	s, ok := on.(*Stream)
	if !ok || !c.latch.TryLock() {
		return c.doSpare(on, cfg, args)
	}
	c.used = true
	err := c.first.set(c, cfg, args)
	if err == nil {
		err = c.first.send(s)
	}
	c.latch.Unlock()
	return err
}

// doSpare is like Do, but launches with a call that is in no concurrent use. It serves goroutines
// that find c.first in use and Doers that are not streams, because such a Doer may change the
// launch.
func (c *Calls) doSpare(on Doer, cfg *LaunchConfig, args any) error {
	spare, _ := c.spare.Get().(*call)
	if spare == nil {
		spare = new(call)
	}
	err := spare.set(c, cfg, args)
	if err == nil {
		err = spare.give(on)
	}
	c.spare.Put(spare)
	return err
}

// idle detects garbage collections through its own finalizer. After two collections with no call in
// between, Calls.first drops its references to memory. Spare calls need no idle, because sync.Pool
// drops them.
type idle struct{ of weak.Pointer[Calls] }

// watch sets idle's finalizer if it is not already set. The caller must hold the latch.
func (c *Calls) watch() {
	if i := c.idle; i != nil {
		c.idle = nil
		runtime.SetFinalizer(i, (*idle).collected)
	}
}

func (i *idle) collected() {
	c := i.of.Value()
	if c == nil {
		return
	}
	if !c.latch.TryLock() {
		runtime.SetFinalizer(i, (*idle).collected)
		return
	}
	c.idle = i
	if c.used {
		c.used = false
		c.watch()
	} else {
		c.first.forget()
	}
	c.latch.Unlock()
}

// String describes the calls.
func (c *Calls) String() string { return fmt.Sprintf("calls of %v", c.Kernel()) }

// call is a launch that is reused for one kernel. One goroutine at a time may use it.
//
// Between two launches the driver evicts most other data from the nearest caches. The cost
// therefore depends on how many cache lines of memory and code a launch touches. For that reason,
// the argument words of the driver call stay in place between launches, and new arguments are
// compared with the copies in this struct, not with those in Launch. Launches in a stream have a
// code path of their own.
type call struct {
	typ    launch.Type // type of the argument pointer; nil if the next call must set every argument
	fields []field
	store  unsafe.Pointer // the launch's argument words
	kept   []keptMemory   // one for each fieldSpan, in the order of the arguments
	block  launchBlock
	ctx    *Context
	life   *life.Lifetime // lifetime of the kernel's code
	direct bool           // the launch has no attributes
	alone  bool           // at least one argument is declared restrict
	d      *Driver        // the driver that block.c was prepared for
	args   reflect.Type   // type of the caller's argument struct
	l      *Launch
	one    [1]Op // holds l, so that passing it to another Doer as a slice does not allocate
}

type field struct {
	from uint32 // offset in the caller's struct, in bytes
	to   uint16 // offset in store, in words
	kind fieldKind
}

type fieldKind uint8

const (
	fieldAny    fieldKind = iota // an interface other than Memory
	fieldMemory                  // a Memory interface
	fieldOther                   // any other type, set by SetArg
	fieldSpan                    // a View
	fieldWord                    // an 8-byte number
	fieldHalf                    // a 4-byte number
)

// keptMemory is a memory argument that belongs to the launch's context. If the next call passes the
// same memory, the call only checks that the memory is open.
type keptMemory struct {
	a     *allocation
	bytes uintptr
}

// launchBlock is the argument block of cuLaunchKernel. C reads the words after c in this order.
type launchBlock struct {
	c              loader.Call
	f              uintptr
	grid           [3]uintptr
	block          [3]uintptr
	sharedMemBytes uintptr
	stream         uintptr
	kernelParams   *unsafe.Pointer
	extra          *unsafe.Pointer //lint:ignore U1000 C reads it: always nil
}

// set sets the configuration and the arguments. After an error, the next call sets all of them
// again.
func (x *call) set(c *Calls, cfg *LaunchConfig, args any) error {
	typ, at := wordsOf(&args)
	var err error
	if typ == x.typ && at != nil {
		err = x.setAgain(cfg, at)
	} else {
		err = x.setAnew(c, cfg, typ, at)
	}
	if err != nil {
		x.typ = nil
	}
	return err
}

// wordsOf returns the two words of an interface value: its type and its data pointer. It hides the
// pointer from escape analysis, which is safe because only copies of the arguments are kept.
//
//go:nosplit
func wordsOf(v *any) (launch.Type, unsafe.Pointer) {
	w := (*[2]uintptr)(unsafe.Pointer(v))
	typ, at := w[0], w[1]
	return *(*launch.Type)(unsafe.Pointer(&typ)), *(*unsafe.Pointer)(unsafe.Pointer(&at))
}

// setAgain sets arguments of the same types as in the previous call.
func (x *call) setAgain(cfg *LaunchConfig, args unsafe.Pointer) error {
	if !x.configured(cfg) {
		if err := x.configure(cfg); err != nil {
			return err
		}
	}
	spans := 0
	for i, f := range x.fields {
		from, to := unsafe.Add(args, f.from), unsafe.Add(x.store, uintptr(f.to)*wordSize)
		switch f.kind {
		case fieldWord:
			*(*uint64)(to) = *(*uint64)(from)
		case fieldHalf:
			*(*uint64)(to) = uint64(*(*uint32)(from)) // the same conversion as in copyArg
		case fieldSpan:
			m, k := (*span)(from), &x.kept[spans]
			spans++
			if !k.is(m, *(*CUdeviceptr)(to)) {
				if err := x.setSpan(i, m, k); err != nil {
					return err
				}
			}
		default:
			if err := x.setOther(i, f.kind, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// is reports whether m is the kept memory: it has the same allocation, address and size, and is
// still open.
func (k *keptMemory) is(m *span, ptr CUdeviceptr) bool {
	return k.a != nil && m.a == k.a && m.bytes == k.bytes && m.ptr == ptr && !k.a.life.Closed()
}

// setSpan sets a memory argument that differs from the previous one. If the memory belongs to
// another context, every call checks it.
func (x *call) setSpan(i int, m *span, k *keptMemory) error {
	if x.l.setSpan(&x.l.b.Slots[i], m) {
		*k = keptMemory{m.a, m.bytes}
		return nil
	}
	*k = keptMemory{}
	return x.setAny(i, unsafe.Pointer(m))
}

func (x *call) setOther(i int, kind fieldKind, from unsafe.Pointer) error {
	s := &x.l.b.Slots[i]
	switch kind {
	case fieldMemory:
		m := *(*Memory)(from)
		if _, declared := m.(Declared); m != nil && !declared && s.Size == addressSize {
			if span := m.span(); x.l.setSpan(s, &span) {
				return nil
			}
		}
	case fieldOther:
		if x.l.setFast(s, from) {
			return nil
		}
	}
	return x.setAny(i, from)
}

func (x *call) setAny(i int, from unsafe.Pointer) error {
	return x.l.setAny(i, reflect.NewAt(x.args.Field(i).Type, from).Elem().Interface())
}

// setAnew sets the configuration and all arguments, and stores what setAgain needs.
func (x *call) setAnew(c *Calls, cfg *LaunchConfig, typ launch.Type, args unsafe.Pointer) error {
	if x.l == nil {
		x.prepare(c)
	}
	if x == &c.first {
		c.watch()
	}
	if err := x.configure(cfg); err != nil {
		return err
	}
	t, err := x.l.argsType(typ, args)
	if err != nil {
		return err
	}
	x.args, x.fields, x.kept = t, x.fields[:0], x.kept[:0]
	for i := range x.l.b.Slots {
		f := t.Field(i)
		from := unsafe.Add(args, f.Offset)
		if err := x.setAny(i, from); err != nil {
			return err
		}
		x.note(i, f, from)
	}
	x.point()
	x.typ = typ
	return nil
}

func (x *call) prepare(c *Calls) {
	l := newLaunch(c.k)
	for i, mode := range c.modes {
		if mode != 0 {
			l.b.Slots[i].Mode = uint8(mode)
		}
	}
	x.l, x.ctx, x.life, x.alone = l, l.ctx, l.b.Life, l.alone != 0
}

// argsType returns the struct type that typ points to. It requires one field for each argument.
func (l *Launch) argsType(typ launch.Type, args unsafe.Pointer) (reflect.Type, error) {
	if args == nil {
		return nil, invalidf("launch of %v: the arguments are nil", l.k)
	}
	var v any
	*(*launch.Type)(unsafe.Pointer(&v)) = typ
	t := reflect.TypeOf(v)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, invalidf("launch of %v: the arguments are a %v, not a pointer to a struct", l.k, t)
	}
	if n := t.Elem().NumField(); n != len(l.b.Slots) {
		return nil, invalidf("launch of %v: it takes %d arguments (%s), got %d", l.k, len(l.b.Slots), signature(l.k.params), n)
	}
	return t.Elem(), nil
}

// note records how setAgain must set argument i. The caller must already have set the argument.
func (x *call) note(i int, t reflect.StructField, from unsafe.Pointer) {
	s := &x.l.b.Slots[i]
	f := field{from: uint32(t.Offset), to: uint16((uintptr(s.At) - uintptr(unsafe.Pointer(unsafe.SliceData(x.l.b.Store)))) / wordSize)}
	switch {
	case t.Type == memoryType:
		f.kind = fieldMemory
	case t.Type.Kind() == reflect.Interface:
	case s.Form == formView:
		f.kind = fieldSpan
		k, m := keptMemory{}, (*span)(from)
		if m.a.ctx == x.ctx {
			k = keptMemory{m.a, m.bytes}
		}
		x.kept = append(x.kept, k)
	case s.Form == formPlain && s.Size == 8:
		f.kind = fieldWord
	case s.Form == formPlain && s.Size == 4:
		f.kind = fieldHalf
	default:
		f.kind = fieldOther
	}
	x.fields = append(x.fields, f)
}

// configured reports whether the launch already has this configuration. It returns false if there
// are attributes, because only configure compares those.
func (x *call) configured(cfg *LaunchConfig) bool {
	b := &x.block
	return uintptr(cfg.Grid.X) == b.grid[0] && uintptr(cfg.Grid.Y) == b.grid[1] && uintptr(cfg.Grid.Z) == b.grid[2] &&
		uintptr(cfg.Block.X) == b.block[0] && uintptr(cfg.Block.Y) == b.block[1] && uintptr(cfg.Block.Z) == b.block[2] &&
		uintptr(cfg.SharedMem) == b.sharedMemBytes && x.direct && cfg.plain()
}

func (x *call) configure(cfg *LaunchConfig) error {
	if err := x.l.SetConfig(*cfg); err != nil {
		return err
	}
	n := &x.l.b.Node
	x.block.f = uintptr(n.Func)
	x.block.grid = [3]uintptr{uintptr(n.GridDimX), uintptr(n.GridDimY), uintptr(n.GridDimZ)}
	x.block.block = [3]uintptr{uintptr(n.BlockDimX), uintptr(n.BlockDimY), uintptr(n.BlockDimZ)}
	x.block.sharedMemBytes = uintptr(n.SharedMemBytes)
	x.direct = len(x.l.b.Attrs) == 0
	return nil
}

// point caches the address of the launch's arguments, because a Doer may have moved them.
func (x *call) point() {
	x.store = unsafe.Pointer(unsafe.SliceData(x.l.b.Store))
	x.block.kernelParams = x.l.b.Node.KernelParams
}

// send is like Stream.Do, with a fast path.
func (x *call) send(s *Stream) error {
	if x.alone {
		if err := x.l.checkRestrict(); err != nil {
			return err
		}
	}
	if x.direct && s.quiet() && s.ctx == x.ctx && !x.life.Closed() {
		return x.launch(s)
	}
	return s.Do(x.l)
}

func (x *call) launch(s *Stream) error {
	b := &x.block
	if x.d != s.d {
		x.d = s.d
		b.c.Proc, b.c.Scope, b.c.N = s.d.Proc(cu.FnCuLaunchKernel), s.d.Scope(), launch.Words
	}
	b.stream = uintptr(s.raw)
	code := loader.Invoke(&b.c)
	runtime.KeepAlive(s)
	if uint32(code) == 0 { // compared here, because Result would not be inlined
		return nil
	}
	return x.l.failed(s.d.Result(cu.FnCuLaunchKernel, code))
}

// give passes the launch to a Doer. The Doer may change it.
func (x *call) give(on Doer) error {
	if on == nil {
		return nilError("stream")
	}
	was := x.l.b.Accesses
	x.one[0] = x.l
	err := on.Do(x.one[:]...)
	if x.l.b.Accesses != was {
		x.typ = nil
	}
	x.point()
	return err
}

func (x *call) forget() {
	x.typ = nil
	clear(x.kept)
	x.l.drop()
}
