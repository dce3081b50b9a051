// Package launch holds the arguments of a kernel launch, laid out as C and package graph read them.
// Package driver fills them in.
package launch

import (
	"reflect"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
)

// Block is the part of a driver.Launch that graphs and batches read. Its first fields are what
// recording a list of launches needs: a long list does not fit the caches.
type Block struct {
	// Accesses changes whenever the accesses of the launch or their memory do. Two launches have the
	// same number only if they are of one kernel and access the same memory in the same way.
	Accesses Stamp
	Shape    Stamp    // changes whenever Words or the places of the arguments do
	Store    []uint64 // the arguments' bytes
	Attrs    []cu.CUlaunchAttribute
	Slots    []Slot
	Life     *life.Lifetime // of the code
	Version  uint32         // changes whenever the references or the number of attributes do

	Node cu.CUDA_KERNEL_NODE_PARAMS // of a graph node

	Ptrs   []unsafe.Pointer // what the driver takes: the address of each argument
	Mem    []*life.Lifetime // of memory among the arguments; nil where it no longer is
	Packed []uint64         // see Pack

	Words [Words]uintptr // see Batch
}

// Attributes returns the attributes that a graph node needs in addition to its parameters, none for
// a nil block. The slice belongs to b.
func (b *Block) Attributes() []cu.CUlaunchAttribute {
	if b == nil {
		return nil
	}
	return b.Attrs
}

// Slot stores one argument.
type Slot struct {
	At   unsafe.Pointer // into Block.Store
	Size uintptr
	Typ  Type // of the latest argument: the same type needs no check
	Form Form
	Mem  int   // index in Block.Mem; -1: none yet
	Mode uint8 // what the kernel does to the memory; 0: not declared
}

// Form says how to get an argument's bytes from a Go value.
type Form uint8

// FormPlain is the value's own bytes. Package driver has the other forms.
const FormPlain Form = 0

// WordSize is the size of a word of Store in bytes.
const WordSize = 8

// RefsOpen reports whether everything that the launch refers to is open.
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

// SameRefs reports whether two launches of the same context refer to the same things, so that
// retaining one launch's references retains the other's.
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

// Type is the address of a type in the Go runtime, unique for each type. Comparing two takes
// one instruction, unlike comparing two reflect.Types.
type Type unsafe.Pointer

// TypeOf returns the second word of the interface value, which is that address.
func TypeOf(t reflect.Type) Type {
	return Type((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// Pack moves what a graph node reads of the launch into one block with as few cache lines as
// possible: the parameters, the addresses of the arguments and the arguments. The returned
// parameters are a snapshot. The arguments stay those of the launch as long as only SetArg changes
// it.
func (b *Block) Pack() *cu.CUDA_KERNEL_NODE_PARAMS {
	if b == nil {
		return nil
	}
	const head, line = unsafe.Sizeof(b.Node) / WordSize, 64 / WordSize
	n := uintptr(len(b.Ptrs))
	// The collector need not follow anything in the block: it only contains addresses into itself,
	// and b retains it.
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

// MoveTo makes store, which already has a copy of the arguments, their new place, and writes their
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

// Plain returns the address of argument i if setting it to a T is just a store of a word, with
// zeros after the value. Otherwise it returns nil. This requires that T is a number of at most 8
// bytes and that the argument has been a T before. The address stays valid until another call sets
// the argument.
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

// WordOf returns v, of at most 8 bytes, as the word to store at Plain's address.
func WordOf[T any](v T) uint64 {
	switch unsafe.Sizeof(v) {
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	case 8:
		return *(*uint64)(unsafe.Pointer(&v))
	}
	return 0
}

// IsWord reports whether an argument of that size is stored as a word.
func IsWord(size uintptr) bool { return size == 4 || size == 8 }

// Mark is the state of an argument and of what the launch refers to.
type Mark struct {
	at      *uint64 // nil: too large to be compared
	word    uint64
	version uint32
}

// Mark returns the state of argument i.
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

// Changed reports whether the argument has changed since: to another number, another address or
// other memory. Arguments larger than 8 bytes always count as changed.
func (b *Block) Changed(since Mark) bool {
	return b != nil && (since.at == nil || *since.at != since.word || since.version != b.Version)
}
