package driver

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// typeWord is a type as the runtime has it, one address for each. To compare two
// of them is one instruction, which for two reflect.Types it is not.
type typeWord unsafe.Pointer

// wordOf takes the address out of the interface value, its second word.
func wordOf(t reflect.Type) typeWord {
	return typeWord((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// Clone returns a launch like l, with the same kernel, configuration and
// arguments, that changes by itself. It is nil for a nil launch.
func (l *Launch) Clone() *Launch {
	if l == nil {
		return nil
	}
	c := new(Launch)
	*c = *l
	c.accesses = newStamp()
	c.attrs, c.packed = slices.Clone(l.attrs), nil
	c.mem, c.refs, c.uses = slices.Clone(l.mem), slices.Clone(l.refs), slices.Clone(l.uses)
	c.slots = slices.Clone(l.slots)
	c.moveTo(slices.Clone(l.store), make([]unsafe.Pointer, len(l.ptrs)))
	return c
}

// Pack moves what the driver reads of a launch as a graph node into a block of
// its own: the parameters, the addresses of the arguments and the arguments, in
// as few cache lines as there can be. The parameters are those of this moment;
// the arguments are still the launch's, for as long as only SetArg changes it.
func (l *Launch) Pack() *cu.CUDA_KERNEL_NODE_PARAMS {
	if l == nil {
		return nil
	}
	const head, line = unsafe.Sizeof(l.node) / wordSize, 64 / wordSize
	n := uintptr(len(l.ptrs))
	// Nothing in it is followed by the collector: the addresses are those of the
	// block itself, which l keeps.
	words := head + n + uintptr(len(l.store))
	block := make([]uint64, words, (words+line-1)/line*line)
	node := (*cu.CUDA_KERNEL_NODE_PARAMS)(unsafe.Pointer(&block[0]))
	*node = l.node
	if n > 0 {
		store := block[head+n:]
		copy(store, l.store)
		l.moveTo(store, unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(&block[head])), n))
		node.KernelParams = unsafe.SliceData(l.ptrs)
	}
	l.packed = block
	return node
}

// moveTo has the arguments be in store, which has them already, and their
// addresses in ptrs.
func (l *Launch) moveTo(store []uint64, ptrs []unsafe.Pointer) {
	from, to := unsafe.Pointer(unsafe.SliceData(l.store)), unsafe.Pointer(unsafe.SliceData(store))
	for i := range l.slots {
		at := unsafe.Add(to, uintptr(l.slots[i].at)-uintptr(from))
		l.slots[i].at, ptrs[i] = at, at
	}
	l.store, l.ptrs = store, ptrs
	if l.node.KernelParams != nil {
		l.node.KernelParams = unsafe.SliceData(ptrs)
	}
}

// ArgIndex returns which argument the parameter of that name is. Names are
// known where the kernel came from PTX.
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
	return 0, invalidf("launch of %v: there is no parameter %q, it takes %d (%s)", l.k, name, len(l.slots), signature(l.k.params))
}

// checkArg reports why argument i takes no values of type t.
func (l *Launch) checkArg(i int, t reflect.Type) error {
	if err := l.check(); err != nil {
		return err
	}
	if i < 0 || i >= len(l.slots) {
		return invalidf("launch of %v: there is no argument %d, it takes %d (%s)", l.k, i, len(l.slots), signature(l.k.params))
	}
	if t.Kind() == reflect.Interface {
		return l.argError(i, fmt.Errorf("%v says nothing about the argument, name its type", t))
	}
	if err := l.accepts(i, argTypeOf(t)); err != nil {
		return l.argError(i, err)
	}
	return nil
}

// ChangeArg is SetArg, and reports whether the argument is another one now: a
// number of other value, another address or other memory.
func ChangeArg[T any](l *Launch, i int, v T) (changed bool, err error) {
	if l == nil || uint(i) >= uint(len(l.slots)) {
		return false, SetArg(l, i, v)
	}
	s := &l.slots[i]
	if s.size == 0 || s.size > unsafe.Sizeof(uint64(0)) { // not compared
		return true, SetArg(l, i, v)
	}
	was, version := *(*uint64)(s.at), l.version
	err = SetArg(l, i, v)
	return was != *(*uint64)(s.at) || version != l.version, err
}

// PlainArg returns where a launch keeps argument i if to set it to a T is no
// more than to store a word there, zero behind the value; else nil. So it is when
// T is a number of at most a word and the argument has been a T before. It holds
// as long as the argument is set by nobody else.
func PlainArg[T any](l *Launch, i int) *uint64 {
	if l == nil || uint(i) >= uint(len(l.slots)) {
		return nil
	}
	s := &l.slots[i]
	var v T
	if s.form != formPlain || s.typ != wordOf(reflect.TypeFor[T]()) || unsafe.Sizeof(v) != s.size || !isWord(s.size) {
		return nil
	}
	return (*uint64)(s.at)
}

// WordOf returns a value of at most a word as it is stored where PlainArg says.
func WordOf[T any](v T) uint64 {
	switch unsafe.Sizeof(v) {
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	case 8:
		return *(*uint64)(unsafe.Pointer(&v))
	}
	return 0
}

func isWord(size uintptr) bool { return size == 4 || size == 8 }
