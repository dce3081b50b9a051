package driver

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
)

// typeWord is the address of a type in the Go runtime, unique for each type. Comparing two takes
// one instruction, unlike comparing two reflect.Types.
type typeWord unsafe.Pointer

// wordOf returns the second word of the interface value, which is that address.
func wordOf(t reflect.Type) typeWord {
	return typeWord((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// Clone returns an independent launch with the same kernel, configuration and arguments, nil for a
// nil launch.
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

// Pack moves what a graph node reads of the launch into one block with as few cache lines as
// possible: the parameters, the addresses of the arguments and the arguments. The returned
// parameters are a snapshot. The arguments stay those of the launch as long as only SetArg changes
// it.
func (l *Launch) Pack() *cu.CUDA_KERNEL_NODE_PARAMS {
	if l == nil {
		return nil
	}
	const head, line = unsafe.Sizeof(l.node) / wordSize, 64 / wordSize
	n := uintptr(len(l.ptrs))
	// The collector need not follow anything in the block: it only contains addresses into itself,
	// and l retains it.
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

// moveTo makes store, which already has a copy of the arguments, their new place, and writes their
// addresses to ptrs.
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

// ArgIndex returns the index of the argument for the named parameter. Names are known if the kernel
// came from PTX. Otherwise it returns an error.
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

// checkArg returns an error if argument i cannot be a value of type t.
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

// ChangeArg is SetArg, and reports whether the argument changed: to another number, another address
// or other memory. Arguments larger than 8 bytes always count as changed.
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

// PlainArg returns the address of argument i if setting it to a T is just a store of a word, with
// zeros after the value. Otherwise it returns nil. This requires that T is a number of at most 8
// bytes and that the argument has been a T before. The address stays valid until another call sets
// the argument.
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

// WordOf returns v, of at most 8 bytes, as the word to store at PlainArg's address.
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
