// Package launch stores the arguments of a kernel launch in the layout that C and package graph
// read. Package driver fills them in.
package launch

import (
	"reflect"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Block is the part of a driver.Launch that graphs and batches read. The fields needed to record a
// list of launches come first, because a long list does not fit in the caches.
type Block struct {
	// Accesses changes whenever the memory or the mode of one of the launch's accesses changes. Two
	// launches have the same value only if they use the same kernel and access the same memory in
	// the same modes.
	Accesses Stamp
	Shape    Stamp    // changes whenever Words or the layout of the arguments changes
	Store    []uint64 // the arguments' bytes
	Attrs    []cu.CUlaunchAttribute
	Slots    []Slot
	Life     *life.Lifetime // lifetime of the kernel's code
	Version  uint32         // changes whenever the references or the number of attributes change

	Node cu.CUDA_KERNEL_NODE_PARAMS // parameters of a graph node

	Ptrs   []unsafe.Pointer // kernelParams for the driver: the address of each argument
	Mem    []*life.Lifetime // lifetimes of memory arguments; nil after an argument stops being memory
	Packed []uint64         // memory that Pack allocated

	Words [Words]uintptr // arguments of cuLaunchKernel, used by Batch
}

// Attributes returns the attributes that a graph node needs in addition to its parameters. A nil
// block has none. The slice belongs to b.
func (b *Block) Attributes() []cu.CUlaunchAttribute {
	if b == nil {
		return nil
	}
	return b.Attrs
}

// Slot describes one argument.
type Slot struct {
	At   unsafe.Pointer // address in Block.Store
	Size uintptr
	Typ  Type // type of the latest argument; other values of this type need no check
	Form Form
	Mem  int     // index in Block.Mem, or -1 if there is none
	Mode uint8   // how the kernel accesses the memory; 0 if not declared
	Elem uintptr // size of an element, if the argument is a slice: see driver.Param
}

// Form is the way to convert a Go value to an argument's bytes.
type Form uint8

// FormPlain copies the value's own bytes. Package driver defines the other forms.
const FormPlain Form = 0

// WordSize is the number of bytes in a word of Store.
const WordSize = 8

// RefsOpen reports whether the kernel's code and all memory arguments are open.
func (b *Block) RefsOpen() bool {
	if b == nil || b.Life.Closed() {
		return false
	}
	for _, l := range b.Mem {
		if l != nil && l.Closed() {
			return false
		}
	}
	return true
}

// SameRefs reports whether two launches of the same context refer to the same code and memory, so
// that retaining the references of one also retains those of the other.
func (b *Block) SameRefs(of *Block) bool {
	if b == nil || of == nil || b.Life != of.Life || len(b.Mem) != len(of.Mem) {
		return false
	}
	for i, l := range b.Mem {
		if l != of.Mem[i] {
			return false
		}
	}
	return true
}

// Type is the address of a type in the Go runtime, unique for each type. Comparing two Types takes
// one instruction, fewer than comparing two reflect.Types.
type Type unsafe.Pointer

// TypeOf returns the address of a type. It is the second word of the interface value.
func TypeOf(t reflect.Type) Type {
	return Type((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// Pack moves the data that a graph node reads into one block of as few cache lines as possible. The
// data are the parameters, the addresses of the arguments, and the arguments themselves. The
// returned parameters are a snapshot. The arguments remain shared with the launch as long as only
// SetArg changes the launch.
func (b *Block) Pack() *cu.CUDA_KERNEL_NODE_PARAMS {
	if b == nil {
		return nil
	}
	const head, line = unsafe.Sizeof(b.Node) / WordSize, 64 / WordSize
	n := uintptr(len(b.Ptrs))
	// The garbage collector need not scan the block. It contains only addresses within itself, and
	// b retains it.
	words := head + n + uintptr(len(b.Store))
	block := make([]uint64, words, (words+line-1)/line*line)
	node := (*cu.CUDA_KERNEL_NODE_PARAMS)(unsafe.Pointer(&block[0]))
	*node = b.Node
	if n > 0 {
		store := block[head+n:]
		copy(store, b.Store)
		b.MoveTo(store, unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(&block[head])), n))
		node.KernelParams = unsafe.SliceData(b.Ptrs)
	}
	b.Packed = block
	return node
}

// MoveTo moves the arguments to store, which already contains a copy of them, and writes their
// addresses to ptrs.
func (b *Block) MoveTo(store []uint64, ptrs []unsafe.Pointer) {
	from, to := unsafe.Pointer(unsafe.SliceData(b.Store)), unsafe.Pointer(unsafe.SliceData(store))
	for i := range b.Slots {
		at := unsafe.Add(to, uintptr(b.Slots[i].At)-uintptr(from))
		b.Slots[i].At, ptrs[i] = at, at
	}
	b.Store, b.Ptrs = store, ptrs
	if b.Node.KernelParams != nil {
		b.Node.KernelParams = unsafe.SliceData(ptrs)
	}
}

// Plain returns the address of argument i if a T can be set by storing one word, with zeros after
// the value. Otherwise it returns nil. T must be a number of 4 or 8 bytes, and the argument must
// already have had this type. The address stays valid until another call sets the argument.
func Plain[T any](b *Block, i int) *uint64 {
	if b == nil || uint(i) >= uint(len(b.Slots)) {
		return nil
	}
	s := &b.Slots[i]
	var v T
	if s.Form != FormPlain || s.Typ != TypeOf(reflect.TypeFor[T]()) || unsafe.Sizeof(v) != s.Size || !IsWord(s.Size) {
		return nil
	}
	return (*uint64)(s.At)
}

// WordOf returns v, a value of 4 or 8 bytes, as the word to store at Plain's address.
func WordOf[T any](v T) uint64 {
	switch unsafe.Sizeof(v) {
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	case 8:
		return *(*uint64)(unsafe.Pointer(&v))
	}
	return 0
}

// IsWord reports whether an argument of the given size is stored as a word.
func IsWord(size uintptr) bool { return size == 4 || size == 8 }

// Mark is a snapshot of an argument and of the launch's references.
type Mark struct {
	at      *uint64 // nil if the argument is too large to compare
	word    uint64
	version uint32
}

// Mark returns a snapshot of argument i.
func (b *Block) Mark(i int) Mark {
	if b == nil || uint(i) >= uint(len(b.Slots)) {
		return Mark{}
	}
	m := Mark{version: b.Version}
	if s := &b.Slots[i]; s.Size > 0 && s.Size <= WordSize {
		m.at = (*uint64)(s.At)
		m.word = *m.at
	}
	return m
}

// Changed reports whether the argument's value or any reference of the launch has changed since the
// snapshot. Arguments larger than 8 bytes always count as changed.
func (b *Block) Changed(since Mark) bool {
	return b != nil && (since.at == nil || *since.at != since.word || since.version != b.Version)
}
