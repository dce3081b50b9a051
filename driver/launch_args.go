package driver

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/launch"
)

// SetArg sets argument i of a prepared launch. The first argument is 0. SetArg checks v as Prepare
// does. If T is any, it checks the dynamic type of v. It does not allocate if the previous value
// also had type T.
func SetArg[T any](l *Launch, i int, v T) error {
	if l == nil || uint(i) >= uint(len(l.b.Slots)) || l.b.Slots[i].Typ != launch.TypeOf(reflect.TypeFor[T]()) {
		return l.setArg(i, v)
	}
	if s := &l.b.Slots[i]; s.Form == formPlain && launch.IsWord(unsafe.Sizeof(v)) {
		*(*uint64)(s.At) = launch.WordOf(v) // the same conversion as in copyArg
		return nil
	} else if l.setFast(s, unsafe.Pointer(&v)) {
		return nil
	}
	return l.setArg(i, v)
}

func (l *Launch) setArg(i int, v any) error {
	if err := l.check(); err != nil {
		return err
	}
	if i < 0 || i >= len(l.b.Slots) {
		return invalidf("launch of %v: there is no argument %d, it takes %d (%s)", l.k, i, len(l.b.Slots), signature(l.k.params))
	}
	return l.setAny(i, v)
}

// setFast stores a value whose type was already checked. It returns false if the value needs
// further checks.
func (l *Launch) setFast(s *launch.Slot, v unsafe.Pointer) bool {
	switch s.Form {
	case formPlain:
		copyArg(s.At, v, s.Size)
		return true
	case formView:
		return l.setSpan(s, (*span)(v))
	case formBuffer:
		p := *(**span)(v)
		return p != nil && l.setSpan(s, p)
	case formMarked:
		return l.setDeclared(s, (*Declared)(v))
	}
	return false
}

// copyArg copies the common sizes in a single store. An argument occupies whole words. A 4-byte
// argument is stored as a whole word because later copies read words, and a read that is wider than
// a recent store stalls the processor.
func copyArg(to, from unsafe.Pointer, size uintptr) {
	switch size {
	case 4:
		*(*uint64)(to) = uint64(*(*uint32)(from))
	case 8:
		*(*[8]byte)(to) = *(*[8]byte)(from)
	default:
		copy(unsafe.Slice((*byte)(to), size), unsafe.Slice((*byte)(from), size))
	}
}

// setSpan stores memory that is open and belongs to the launch's own Context. For any other memory,
// it returns false.
func (l *Launch) setSpan(s *launch.Slot, m *span) bool {
	a := m.a
	if a == nil || a.ctx != l.ctx || a.life.Closed() {
		return false
	}
	l.hold(s, m)
	return true
}

// hold stores the address of m, its reference and its access.
func (l *Launch) hold(s *launch.Slot, m *span) {
	if s.Mem < 0 {
		l.holdMore(s)
	}
	*(*CUdeviceptr)(s.At) = m.ptr
	if s.Size > addressSize {
		storeLen(s, uint64(m.bytes/s.Elem))
	}
	if l.b.Mem[s.Mem] != m.a.life {
		l.b.Mem[s.Mem], l.refs[s.Mem+1] = m.a.life, m.a
		l.b.Version++
		l.b.Accesses.Change()
	}
	use := &l.uses[s.Mem]
	if use.Addr != uint64(m.ptr) || use.Bytes != uint64(m.bytes) {
		use.Addr, use.Bytes = uint64(m.ptr), uint64(m.bytes)
		l.b.Accesses.Change()
	}
}

// storeLen stores the length and capacity of a slice after its address: see Param.holdsSlice.
func storeLen(s *launch.Slot, n uint64) {
	*(*uint64)(unsafe.Add(s.At, addressSize)) = n
	if s.Size == sliceSize {
		*(*uint64)(unsafe.Add(s.At, 2*addressSize)) = n
	}
}

func (l *Launch) holdMore(s *launch.Slot) {
	s.Mem = len(l.b.Mem)
	l.b.Mem = append(l.b.Mem, nil)
	l.refs = append(l.refs, l.k.code)
	i := l.indexOf(s)
	l.uses = append(l.uses, Access{Mode: ReadsWrites, Arg: int32(i), What: l.k.ArgName(i)})
	if s.Mode != 0 {
		l.uses[s.Mem].Mode = AccessMode(s.Mode)
	}
	l.b.Accesses.Change()
}

func (l *Launch) indexOf(s *launch.Slot) int {
	for i := range l.b.Slots {
		if s == &l.b.Slots[i] {
			return i
		}
	}
	return -1
}

// ArgName returns the name of argument i for messages: the parameter's name if known, and otherwise
// the argument's number.
func (k *Kernel) ArgName(i int) string {
	if k != nil && uint(i) < uint(len(k.params)) && k.params[i].Name != "" {
		return k.params[i].Name
	}
	return fmt.Sprintf("argument %d", i)
}

// letGo drops the reference to an argument's memory and empties its access.
func (l *Launch) letGo(s *launch.Slot) {
	if s.Mem >= 0 && l.b.Mem[s.Mem] != nil {
		l.b.Mem[s.Mem], l.refs[s.Mem+1] = nil, l.k.code
		l.b.Version++
		l.uses[s.Mem].Addr, l.uses[s.Mem].Bytes = 0, 0
		l.b.Accesses.Change()
	}
}

// drop drops all references to memory, so that a launch kept for reuse retains no memory.
func (l *Launch) drop() {
	for i := range l.b.Slots {
		l.letGo(&l.b.Slots[i])
	}
}

var errNilArg = errors.New("it is nil; for a null pointer pass driver.CUdeviceptr(0)")

func (l *Launch) setAny(i int, v any) error {
	if v == nil {
		return l.argError(i, errNilArg)
	}
	s := &l.b.Slots[i]
	form := s.Form
	if t := reflect.TypeOf(v); launch.TypeOf(t) != s.Typ {
		a := argTypeOf(t)
		if err := l.accepts(i, a); err != nil {
			return l.argError(i, err)
		}
		form = a.form
	}
	if form == formPlain {
		l.letGo(s)
		storePlain(s.At, v)
	} else if form == formWord {
		l.letGo(s)
		*(*uint64)(s.At) = v.(ArgWord).ArgWord()
	} else if err := l.setMemory(s, v.(Memory)); err != nil {
		return l.argError(i, err)
	}
	s.Typ, s.Form = launch.TypeOf(reflect.TypeOf(v)), form
	return nil
}

// accepts checks type t against parameter i. If the parameters are unknown, it only compares the
// size of t with the size of the argument's first value.
func (l *Launch) accepts(i int, t *argType) error {
	if l.k.known {
		return l.k.params[i].accepts(t)
	}
	p := Param{Size: l.b.Slots[i].Size}
	return p.accepts(t)
}

func (l *Launch) setMemory(s *launch.Slot, m Memory) error {
	mem, err := spanOf(m)
	if err != nil {
		return err
	}
	if err := l.ctx.canReach(mem); err != nil {
		return err
	}
	if d, ok := m.(Declared); ok {
		l.declare(s, d.mode)
	}
	if s.Size > addressSize {
		s.Elem = m.elemSize()
	}
	l.hold(s, &mem)
	return nil
}

// canReach returns nil if kernels of the context can access m, if m is empty, or if the driver
// lacks the query. EnablePeerAccess and MemPool.SetAccess allow access from another context.
func (c *Context) canReach(m span) error {
	if c.sameAs(m.a.ctx) || m.bytes == 0 {
		return nil
	}
	if err := c.sameDriver(m.a.ctx, m); err != nil {
		return err
	}
	var here CUdeviceptr
	err := c.Guarded().CuPointerGetAttribute(unsafe.Pointer(&here), cu.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, m.ptr)
	switch {
	case err == nil || errors.Is(err, ErrNotSupported):
		return nil
	case !errors.Is(err, CUDA_ERROR_INVALID_VALUE): // INVALID_VALUE: kernels cannot access m
		return fmt.Errorf("%v of %v: cannot determine whether %v can access it: %w", m, m.a.ctx, c, err)
	}
	return &invalidError{fmt.Sprintf("%v belongs to %v and cannot be reached from %v; call EnablePeerAccess, or SetAccess of its pool (%v)",
		m, m.a.ctx, c, err)}
}

func storePlain(at unsafe.Pointer, v any) {
	switch v := v.(type) {
	case int32:
		*(*int32)(at) = v
	case uint32:
		*(*uint32)(at) = v
	case float32:
		*(*float32)(at) = v
	case int64:
		*(*int64)(at) = v
	case uint64:
		*(*uint64)(at) = v
	case float64:
		*(*float64)(at) = v
	case CUdeviceptr:
		*(*CUdeviceptr)(at) = v
	default:
		// v must be copied as bytes: it may be a View of package gpu, which contains a pointer, and
		// the memory at the address at must not contain Go pointers.
		t := reflect.New(reflect.TypeOf(v))
		t.Elem().Set(reflect.ValueOf(v))
		copyArg(at, t.UnsafePointer(), t.Elem().Type().Size())
	}
}

func (l *Launch) argError(i int, err error) error {
	name := ""
	if i < len(l.k.params) && l.k.params[i].Name != "" {
		name = fmt.Sprintf(" (%s)", l.k.params[i].Name)
	}
	return &argError{text: fmt.Sprintf("launch of %v: argument %d%s: %v", l.k, i, name, err), cause: err}
}

// argError reports an argument that was rejected before the launch. If a driver query about the
// argument failed, argError matches that query's error. Otherwise it matches
// CUDA_ERROR_INVALID_VALUE.
type argError struct {
	text  string
	cause error
}

func (e *argError) Error() string { return e.text }
func (e *argError) Unwrap() error { return e.cause }
func (e *argError) Is(target error) bool {
	var answer *Error
	return target == error(CUDA_ERROR_INVALID_VALUE) && !errors.As(e.cause, &answer)
}

// Arg is one argument of a launch that changes repeatedly, such as a step number. Its type is
// checked only once, when the Arg is created. An Arg is a small value, and its copies refer to the
// same argument.
type Arg[T any] struct {
	l     *Launch
	i     int
	s     *launch.Slot // where to store a number; nil if Set must use SetArg
	shape launch.Stamp // s is valid while the launch has this shape
}

// ArgOf returns argument i of a launch for values of type T. The first argument is 0. If the
// parameter does not accept T, ArgOf returns an error.
func ArgOf[T any](l *Launch, i int) (Arg[T], error) {
	if err := l.checkArg(i, reflect.TypeFor[T]()); err != nil {
		return Arg[T]{}, err
	}
	a := Arg[T]{l: l, i: i}
	if launch.Plain[T](&l.b, i) != nil {
		a.s, a.shape = &l.b.Slots[i], l.b.Shape
	}
	return a, nil
}

// Set sets the argument, as SetArg does.
func (a Arg[T]) Set(v T) error {
	if s := a.s; s != nil && a.l.b.Shape == a.shape && s.Form == formPlain {
		*(*uint64)(s.At) = launch.WordOf(v)
		return nil
	}
	return SetArg(a.l, a.i, v)
}

// Clone returns an independent copy of the launch, or nil for a nil launch.
func (l *Launch) Clone() *Launch {
	if l == nil {
		return nil
	}
	c := new(Launch)
	*c = *l
	c.b.Accesses = launch.NewStamp()
	c.b.Attrs, c.b.Packed = slices.Clone(l.b.Attrs), nil
	c.b.Mem, c.refs, c.uses = slices.Clone(l.b.Mem), slices.Clone(l.refs), slices.Clone(l.uses)
	c.b.Slots = slices.Clone(l.b.Slots)
	c.b.MoveTo(slices.Clone(l.b.Store), make([]unsafe.Pointer, len(l.b.Ptrs)))
	return c
}

// ArgIndex returns the index of the argument for the named parameter. Names are known only if the
// kernel came from PTX.
func (l *Launch) ArgIndex(name string) (int, error) {
	if err := l.check(); err != nil {
		return 0, err
	}
	if name != "" {
		for i, p := range l.k.params {
			if p.Name == name {
				return i, nil
			}
		}
	}
	return 0, invalidf("launch of %v: there is no parameter %q, it takes %d (%s)", l.k, name, len(l.b.Slots), signature(l.k.params))
}

// checkArg returns an error if t is an interface type or argument i does not accept values of type
// t.
func (l *Launch) checkArg(i int, t reflect.Type) error {
	if err := l.check(); err != nil {
		return err
	}
	if i < 0 || i >= len(l.b.Slots) {
		return invalidf("launch of %v: there is no argument %d, it takes %d (%s)", l.k, i, len(l.b.Slots), signature(l.k.params))
	}
	if t.Kind() == reflect.Interface {
		return l.argError(i, fmt.Errorf("%v does not give the type of the argument; name a concrete type", t))
	}
	if err := l.accepts(i, argTypeOf(t)); err != nil {
		return l.argError(i, err)
	}
	return nil
}

// Restrict declares that the kernel was compiled on the assumption that the memory of some
// arguments does not overlap the memory of any other argument. It takes the numbers of these
// arguments. The first argument is 0. A launch whose arguments overlap is refused, unless the
// kernel only reads both. It applies to later launches. Generated launchers call Restrict.
func (k *Kernel) Restrict(args ...int) error {
	if err := k.check(); err != nil {
		return err
	}
	for _, i := range args {
		if i < 0 || i >= 64 || k.known && i >= len(k.params) {
			return invalidf("restrict of %v: there is no argument %d that can be restrict", k, i)
		}
		k.alone.Or(1 << i)
	}
	return nil
}

// checkRestrict returns an error if the memory of a restrict argument overlaps that of another
// argument.
func (l *Launch) checkRestrict() error {
	if l.alone == 0 || atomic.LoadUint64(&l.apart) == uint64(l.b.Accesses) {
		return nil
	}
	for i := range l.uses {
		for j := range l.uses[:i] {
			a, b := &l.uses[j], &l.uses[i]
			if (l.alone>>a.Arg|l.alone>>b.Arg)&1 != 0 && a.Overlaps(*b) {
				return l.argError(int(b.Arg), invalidf("its memory overlaps that of argument %d (%s); the kernel was compiled with restrict, so they must not overlap",
					a.Arg, l.k.ArgName(int(a.Arg))))
			}
		}
	}
	atomic.StoreUint64(&l.apart, uint64(l.b.Accesses))
	return nil
}

// CheckRestrict returns the error with which Enqueue refuses arguments that overlap: see
// Kernel.Restrict. Package graph calls it for nodes and bindings.
func (l *Launch) CheckRestrict() error {
	if l == nil || l.k == nil {
		return absentError(l == nil, "launch")
	}
	return l.checkRestrict()
}
