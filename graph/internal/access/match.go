package access

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

func (p *Sets) Declare(i uint32, list []driver.Access) {
	if p.declared == nil {
		p.declared = make(map[uint32][]driver.Access)
	}
	p.declared[i] = append(p.declared[i], list...)
}

// Covers reports whether the set has an access to a nonzero address in argument i.
func (f Found) Covers(i int) bool {
	for _, s := range f.uses() {
		if int(s.arg) == i && s.addr != 0 {
			return true
		}
	}
	return false
}

// Argument reads argument i, which has 8 bytes, from the driver's copy.
func Argument(p *cu.CUDA_KERNEL_NODE_PARAMS, i int) uint64 {
	at := unsafe.Slice(p.KernelParams, i+1)[i]
	return binary.NativeEndian.Uint64(unsafe.Slice((*byte)(at), 8))
}

// Order is a topological order: each vertex comes after the vertices that it runs after.
type Order struct {
	List  []int // vertices in order
	Place []int // for each vertex, its index in List
	after [][]int
}

// NewOrder returns an Order, or nil if there is a cycle.
func NewOrder(after [][]int) *Order {
	o := &Order{Place: make([]int, len(after)), after: after}
	before := make([][]int, len(after))
	missing := make([]int, len(after))
	for v, list := range after {
		missing[v] = len(list)
		for _, a := range list {
			before[a] = append(before[a], v)
		}
		if len(list) == 0 {
			o.List = append(o.List, v)
		}
	}
	for i := 0; i < len(o.List); i++ {
		v := o.List[i]
		o.Place[v] = i
		for _, next := range before[v] {
			if missing[next]--; missing[next] == 0 {
				o.List = append(o.List, next)
			}
		}
	}
	if len(o.List) < len(after) {
		return nil
	}
	return o
}

// BlockSize is the number of vertices in a block of Reached.
const BlockSize = 64 * 64

// Reached returns a bit set for each vertex whose place is at least block. Bit i of the set is 1 if
// the vertex at place block+i is that vertex itself or has a path to it.
func (o *Order) Reached(block int) [][BlockSize / 64]uint64 {
	from := make([][BlockSize / 64]uint64, len(o.List)-block)
	for i := range from {
		row := &from[i]
		for _, a := range o.after[o.List[block+i]] {
			if at := o.Place[a] - block; at >= 0 {
				for w, b := range from[at] {
					row[w] |= b
				}
			}
		}
		if i < BlockSize {
			row[i/64] |= 1 << (i % 64)
		}
	}
	return from
}

// Fits reports whether p has the kernel of the set and, in each argument with a nonempty access,
// the address of that access.
func (f Found) Fits(p *cu.CUDA_KERNEL_NODE_PARAMS) bool {
	if p.Func != f.Kernel.Raw() {
		return false
	}
	for _, s := range f.uses() {
		if s.bytes > 0 && (p.KernelParams == nil || Argument(p, int(s.arg)) != s.addr) {
			return false
		}
	}
	return true
}

// Same reports whether two sets have equal accesses. It does not compare their kernels.
func (f Found) Same(o Found) bool {
	return slices.Equal(f.uses(), o.uses())
}

// CommonArgs returns, for each kernel in all, the arguments that have a nonempty access in every
// set of the kernel, in ascending order.
func CommonArgs(all []Found) map[cu.CUfunction][]int32 {
	common := make(map[cu.CUfunction][]int32)
	for _, f := range all {
		var args []int32
		for _, s := range f.uses() {
			if s.bytes > 0 {
				args = append(args, s.arg)
			}
		}
		slices.Sort(args)
		raw := f.Kernel.Raw()
		if had, ok := common[raw]; ok {
			args = slices.DeleteFunc(args, func(a int32) bool { return !slices.Contains(had, a) })
		}
		common[raw] = args
	}
	return common
}

// Key returns a string that is equal for all sets of one kernel with the same addresses in args.
func (f Found) Key(args []int32) string {
	key := binary.NativeEndian.AppendUint64(nil, uint64(f.Kernel.Raw()))
	for _, a := range args {
		for _, s := range f.uses() {
			if s.arg == a {
				key = binary.NativeEndian.AppendUint64(key, s.addr)
			}
		}
	}
	return string(key)
}

// NodeKey returns the Key of a node with parameters p. It returns "" if p has no arguments but args
// is not empty.
func NodeKey(p *cu.CUDA_KERNEL_NODE_PARAMS, args []int32) string {
	key := binary.NativeEndian.AppendUint64(nil, uint64(p.Func))
	for _, a := range args {
		if p.KernelParams == nil {
			return ""
		}
		key = binary.NativeEndian.AppendUint64(key, Argument(p, int(a)))
	}
	return string(key)
}
