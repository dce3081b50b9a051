package kernels

import (
	"io/fs"
	"math"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/ptx/kernels/internal"
	"github.com/purecuda/cuda/ptx/kernels/internal/conv"
	"github.com/purecuda/cuda/ptx/kernels/internal/variant"
)

// source is an embedded PTX file. Its kernels are compiled one by one, for the values of some of their arguments: see
// constant.
type source = *variant.Code

// kernelName is the name of a kernel in parts. Comparing the parts with a name does not
// allocate, but joining them would.
type kernelName [5]string

func (n *kernelName) String() string { return n[0] + n[1] + n[2] + n[3] + n[4] }

func (n *kernelName) is(name string) bool {
	for _, part := range n {
		if !strings.HasPrefix(name, part) {
			return false
		}
		name = name[len(part):]
	}
	return name == ""
}

// maker creates the operation that launches a kernel. If the field again is a launch of the same
// kernel, maker changes that launch and returns it instead.
type maker struct {
	source  source
	context *driver.Context
	kernel  kernelName
	again   *driver.Launch
}

func reused(again []*driver.Launch) *driver.Launch {
	if len(again) == 0 {
		return nil
	}
	return again[0]
}

func (m *maker) prepare(cfg *driver.LaunchConfig, args ...arg) (*driver.Launch, error) {
	key := m.variant(args)
	return m.prepareVariant(&key, cfg, args)
}

// prepareVariant is like prepare. The caller has chosen the variant.
func (m *maker) prepareVariant(key *variant.Key, cfg *driver.LaunchConfig, args []arg) (*driver.Launch, error) {
	code, err := m.source.Module(m.context, key)
	if err != nil {
		return nil, err
	}
	if l := m.again; l != nil && l.Context() == m.context && m.kernel.is(l.Kernel().Name()) && sameNulls(l, args) {
		// Compare the kernels too. Variants have the same name, and a program may have its own
		// kernel with that name.
		if k, err := code.Kernel(l.Kernel().Name()); err == nil && k == l.Kernel() {
			return l, change(l, cfg, args)
		}
	}
	k, err := code.Kernel(m.kernel.String())
	if err != nil {
		return nil, err
	}
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].value()
	}
	return k.Prepare(*cfg, values...)
}

// variant returns the kernel and the arguments that are constants.
func (m *maker) variant(args []arg) variant.Key {
	key, n := variant.Key{Kernel: m.kernel}, 0
	for i := range args {
		if args[i].constant {
			key.Constants[n] = variant.Constant{Number: uint8(i + 1), Value: uint32(args[i].bits)}
			n++
		}
	}
	return key
}

// sameNulls reports whether absent operands of a launch are absent again. An argument that was a null
// pointer declares no access, and change could not declare one without an allocation.
func sameNulls(l *driver.Launch, args []arg) bool {
	values := unsafe.Slice(l.Block().Node.KernelParams, len(args))
	for i := range args {
		null := *(*uint64)(values[i]) == 0
		if a := &args[i]; (a.mem != nil && null && a.mem.n > 0) || (a.isNull() && !null) {
			return false
		}
	}
	return true
}

// change sets the configuration and arguments of a launch. It does not allocate if the
// new arguments have the types of the previous ones.
func change(l *driver.Launch, cfg *driver.LaunchConfig, args []arg) error {
	if err := l.SetConfig(*cfg); err != nil {
		return err
	}
	for i := range args {
		if err := args[i].set(l, i); err != nil {
			return err
		}
	}
	return nil
}

// threads is the number of threads per block that the kernel sources assume.
const threads = 256

// cover returns a grid with at least the given number of threads, but not more than 2^31-1 blocks.
// If there is more work, each thread loops. If each thread has little work, such a grid is up to 10
// % faster on an H200 than a grid that only fills the device and whose threads loop.
func cover(busy uint64) driver.LaunchConfig {
	blocks := min(max(1, (busy+threads-1)/threads), math.MaxInt32)
	return driver.LaunchConfig{Grid: driver.D1(int(blocks)), Block: driver.D1(threads)}
}

// turns is how often a thread loops if there is much work.
type turns uint32

const (
	once turns = 1
	// several is for kernels with many instructions. On an H200, more turns of their threads take less time than more
	// blocks, which must be started.
	several turns = 4
)

// fewBlocks is the number of blocks per multiprocessor below which threads do not get more turns. It is several times as
// many as run at a time. With fewer, some multiprocessors would be idle while others work on the last ones.
const fewBlocks = 64

// elementwise prepares a kernel for n elements. Each thread processes "each" elements at
// a time, or fewer at both ends: see package pack.
func (m *maker) elementwise(often turns, n, each uint64, args ...arg) (*driver.Launch, error) {
	cfg, err := m.grid(often, n, each)
	if err != nil {
		return nil, err
	}
	return m.prepare(&cfg, args...)
}

// grid returns the launch of elementwise.
func (m *maker) grid(often turns, n, each uint64) (driver.LaunchConfig, error) {
	cfg := cover(n/each + 1)
	if often > once {
		d, err := deviceOf(m.context)
		if err != nil {
			return cfg, err
		}
		all := uint64(cfg.Grid.X)
		part := (all + uint64(often) - 1) / uint64(often)
		cfg.Grid.X = uint32(max(part, min(all, d.multiprocessors*fewBlocks)))
	}
	return cfg, nil
}

// pack returns the number of elements of a given size in one 16-byte access.
func pack(size uintptr) uint64 { return uint64(16 / size) }

// arg is an argument of a kernel: memory, a number, a Strided or the shape of a convolution.
type arg struct {
	mem      *operand
	mode     driver.AccessMode // how the kernel accesses mem
	kind     elementType       // type of a number; noType for a null pointer
	bits     uint64            // bits of the number
	constant bool              // whether the kernel is compiled for the number
	copy     *Strided
	conv     *conv.Shape
}

func in(o *operand) arg    { return arg{mem: o, mode: driver.Reads} }
func out(o *operand) arg   { return arg{mem: o, mode: driver.Writes} }
func inOut(o *operand) arg { return arg{mem: o, mode: driver.ReadsWrites} }

func number[T Element](v T) arg {
	a := arg{kind: typeOf[T]()}
	*(*T)(unsafe.Pointer(&a.bits)) = v
	return a
}

func u64(n uint64) arg  { return arg{kind: typeU64, bits: n} }
func u32(n uint32) arg  { return number(n) }
func f32(v float32) arg { return number(v) }

// constant passes a number for which the kernel is compiled.
func constant(n uint32) arg {
	a := u32(n)
	a.constant = true
	return a
}

func (a *arg) isNull() bool {
	return a.mem == nil && a.copy == nil && a.conv == nil && a.kind == noType
}

// as returns the number that the argument holds, which must have type T.
func as[T Element](a *arg) T { return *(*T)(unsafe.Pointer(&a.bits)) }

func (a *arg) set(l *driver.Launch, i int) error {
	switch {
	case a.mem != nil:
		return driver.SetArg(l, i, a.mem.mem)
	case a.copy != nil:
		return driver.SetArg(l, i, *a.copy)
	case a.conv != nil:
		return driver.SetArg(l, i, *a.conv)
	}
	switch a.kind {
	case typeU64:
		return driver.SetArg(l, i, a.bits)
	case typeI64:
		return driver.SetArg(l, i, as[int64](a))
	case typeF64:
		return driver.SetArg(l, i, as[float64](a))
	case typeU32:
		return driver.SetArg(l, i, as[uint32](a))
	case typeI32:
		return driver.SetArg(l, i, as[int32](a))
	case typeF32:
		return driver.SetArg(l, i, as[float32](a))
	case typeU16:
		return driver.SetArg(l, i, as[uint16](a))
	case typeI16:
		return driver.SetArg(l, i, as[int16](a))
	case typeF16:
		return driver.SetArg(l, i, as[F16](a))
	case typeBF16:
		return driver.SetArg(l, i, as[BF16](a))
	case typeU8:
		return driver.SetArg(l, i, as[uint8](a))
	case typeI8:
		return driver.SetArg(l, i, as[int8](a))
	}
	return driver.SetArg(l, i, driver.CUdeviceptr(0))
}

// value returns the argument in the form that Prepare accepts.
func (a *arg) value() any {
	switch {
	case a.mem != nil:
		return declared(a.mem.mem, a.mode)
	case a.copy != nil:
		return *a.copy
	case a.conv != nil:
		return *a.conv
	}
	switch a.kind {
	case typeU64:
		return a.bits
	case typeI64:
		return as[int64](a)
	case typeF64:
		return as[float64](a)
	case typeU32:
		return as[uint32](a)
	case typeI32:
		return as[int32](a)
	case typeF32:
		return as[float32](a)
	case typeU16:
		return as[uint16](a)
	case typeI16:
		return as[int16](a)
	case typeF16:
		return as[F16](a)
	case typeBF16:
		return as[BF16](a)
	case typeU8:
		return as[uint8](a)
	case typeI8:
		return as[int8](a)
	}
	return driver.CUdeviceptr(0)
}

func declared(m driver.Memory, mode driver.AccessMode) driver.Declared {
	switch mode {
	case driver.Reads:
		return driver.In(m)
	case driver.Writes:
		return driver.Out(m)
	}
	return driver.InOut(m)
}

// Texts returns the PTX files of all kernels, for programs that load them differently. The files of
// each family are in a folder. Many kernels in the files serve several types, which their arguments select, and are therefore
// slower than those of operations. A program that calls Texts contains all of the files.
func Texts() fs.FS { return internal.Texts }
