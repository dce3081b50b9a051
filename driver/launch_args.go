package driver

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// SetArg sets argument i of a prepared launch, counted from 0. It checks v as Prepare does, by its
// dynamic type if T is any. It does not allocate if the previous value had the same type T.
func SetArg[T any](l *Launch, i int, v T) error {
	if l == nil || uint(i) >= uint(len(l.slots)) || l.slots[i].typ != wordOf(reflect.TypeFor[T]()) {
		return l.setArg(i, v)
	}
	if s := &l.slots[i]; s.form == formPlain && isWord(unsafe.Sizeof(v)) {
		*(*uint64)(s.at) = WordOf(v) // as copyArg does
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
	if i < 0 || i >= len(l.slots) {
		return invalidf("launch of %v: there is no argument %d, it takes %d (%s)", l.k, i, len(l.slots), signature(l.k.params))
	}
	return l.setAny(i, v)
}

// setFast stores a value whose type was checked before. It returns false if more than the type must
// be checked.
func (l *Launch) setFast(s *slot, v unsafe.Pointer) bool {
	switch s.form {
	case formPlain:
		copyArg(s.at, v, s.size)
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

// copyArg copies the common sizes in one store. An argument occupies whole words, and one of four
// bytes is stored as a word: later copies read words, and a read that is wider than a recent store
// stalls.
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

// setSpan stores memory of the kernel's own context.
func (l *Launch) setSpan(s *slot, m *span) bool {
	a := m.a
	if a == nil || a.ctx != l.ctx || a.life.Closed() {
		return false
	}
	l.hold(s, m)
	return true
}

// hold stores the address of memory and adds a reference to it.
func (l *Launch) hold(s *slot, m *span) {
	if s.mem < 0 {
		l.holdMore(s)
	}
	*(*CUdeviceptr)(s.at) = m.ptr
	if l.mem[s.mem] != m.a {
		l.mem[s.mem], l.refs[s.mem+1] = m.a, m.a
		l.version++
		l.accesses.change()
	}
	use := &l.uses[s.mem]
	if use.Addr != uint64(m.ptr) || use.Bytes != uint64(m.bytes) {
		use.Addr, use.Bytes = uint64(m.ptr), uint64(m.bytes)
		l.accesses.change()
	}
}

// holdMore adds room for another memory argument.
func (l *Launch) holdMore(s *slot) {
	s.mem = len(l.mem)
	l.mem = append(l.mem, nil)
	l.refs = append(l.refs, l.k.code)
	i := l.indexOf(s)
	l.uses = append(l.uses, Access{Mode: ReadsWrites, Arg: int32(i), What: l.k.ArgName(i)})
	if s.mode != 0 {
		l.uses[s.mem].Mode = s.mode
	}
	l.accesses.change()
}

func (l *Launch) indexOf(s *slot) int {
	for i := range l.slots {
		if s == &l.slots[i] {
			return i
		}
	}
	return -1
}

// ArgName returns how messages call argument i: by its parameter's name, if known.
func (k *Kernel) ArgName(i int) string {
	if k != nil && uint(i) < uint(len(k.params)) && k.params[i].Name != "" {
		return k.params[i].Name
	}
	return fmt.Sprintf("argument %d", i)
}

// letGo drops the reference to memory of an argument that is now a number.
func (l *Launch) letGo(s *slot) {
	if s.mem >= 0 && l.mem[s.mem] != nil {
		l.mem[s.mem], l.refs[s.mem+1] = nil, l.k.code
		l.version++
		l.uses[s.mem].Addr, l.uses[s.mem].Bytes = 0, 0
		l.accesses.change()
	}
}

// drop drops the references to all memory, so that a launch kept for reuse retains nothing.
func (l *Launch) drop() {
	for i := range l.slots {
		l.letGo(&l.slots[i])
	}
}

var errNilArg = errors.New("it is nil; for a null pointer pass driver.CUdeviceptr(0)")

// setAny checks an argument in full and stores it.
func (l *Launch) setAny(i int, v any) error {
	if v == nil {
		return l.argError(i, errNilArg)
	}
	s := &l.slots[i]
	form := s.form
	if t := reflect.TypeOf(v); wordOf(t) != s.typ {
		a := argTypeOf(t)
		if err := l.accepts(i, a); err != nil {
			return l.argError(i, err)
		}
		form = a.form
	}
	if form == formPlain {
		l.letGo(s)
		storePlain(s.at, v)
	} else if form == formWord {
		l.letGo(s)
		*(*uint64)(s.at) = v.(ArgWord).ArgWord()
	} else if err := l.setMemory(s, v.(Memory)); err != nil {
		return l.argError(i, err)
	}
	s.typ, s.form = wordOf(reflect.TypeOf(v)), form
	return nil
}

// accepts compares the type with the parameter. If the parameters are unknown, it compares the size
// with that of the first argument set.
func (l *Launch) accepts(i int, t *argType) error {
	if l.k.known {
		return l.k.params[i].accepts(t)
	}
	p := Param{Size: l.slots[i].size}
	return p.accepts(t)
}

func (l *Launch) setMemory(s *slot, m Memory) error {
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
	l.hold(s, &mem)
	return nil
}

// canReach reports whether kernels of the context can use the memory: it belongs to the context, or
// the driver gave access to it (EnablePeerAccess or MemPool.SetAccess).
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
	case !errors.Is(err, CUDA_ERROR_INVALID_VALUE): // returned for memory that cannot be reached
		return fmt.Errorf("%v of %v: cannot find out whether %v reaches it: %w", m, m.a.ctx, c, err)
	}
	return &invalidError{fmt.Sprintf("%v belongs to %v and cannot be reached from %v; call EnablePeerAccess, or SetAccess of its pool (%v)",
		m, m.a.ctx, c, err)}
}

// storePlain copies the bytes of a pointer-free value.
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
		t := reflect.TypeOf(v)
		reflect.NewAt(t, at).Elem().Set(reflect.ValueOf(v))
	}
}

// argError names the argument by its position, its parameter and the kernel.
func (l *Launch) argError(i int, err error) error {
	name := ""
	if i < len(l.k.params) && l.k.params[i].Name != "" {
		name = fmt.Sprintf(" (%s)", l.k.params[i].Name)
	}
	return &argError{text: fmt.Sprintf("launch of %v: argument %d%s: %v", l.k, i, name, err), cause: err}
}

// argError is an argument that was rejected before the launch. It matches CUDA_ERROR_INVALID_VALUE,
// unless a driver query about the argument failed: then it matches that error.
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

// Accesses returns the accesses to the memory among the arguments. The mode is read and write
// unless In or Out around the argument declared another.
func (l *Launch) Accesses() []Access {
	if l == nil {
		return nil
	}
	return l.uses
}
