package driver

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/ptx"
)

// Kernel is a function in a module or library. It keeps that code loaded.
type Kernel struct {
	code   *program
	raw    cu.CUfunction
	name   string
	params []Param
	known  bool           // params is complete; if false, the parameters are unknown
	sig    *ptx.Signature // from the PTX; nil for binaries

	mu      sync.Mutex
	info    *KernelInfo   // nil until first requested
	scratch sync.Pool     // of *Launch, for Kernel.Launch
	alone   atomic.Uint64 // bit i is set if argument i is restrict
	shape   atomic.Pointer[kernelShape]
	uses    atomic.Pointer[kernelUses]
	label   atomic.Pointer[labelFunc]
}

// newKernel creates a kernel. The caller must hold p.mu. Kernels from PTX are allocated several at
// a time, because the module keeps all of them alive anyway.
func (p *program) newKernel(name string, raw cu.CUfunction) (*Kernel, error) {
	if sig := p.sigs[name]; sig != nil {
		if len(p.slab) == 0 {
			p.slab = make([]Kernel, min(len(p.kernels)+1, len(p.sigs), mostKernels))
		}
		k := &p.slab[0]
		p.slab = p.slab[1:]
		k.code, k.raw, k.name, k.sig, k.known = p, raw, sig.Name, sig, true
		k.params = p.paramsFrom(sig)
		return k, nil
	}
	k := &Kernel{code: p, raw: raw, name: name}
	var err error
	if k.params, k.known, err = paramsOf(p.ctx.Guarded(), raw); err != nil {
		return nil, fmt.Errorf("parameters of %v: %w", k, err)
	}
	return k, nil
}

// BorrowKernel returns a Kernel for a function that other code loaded into this context. The
// function must stay loaded while the Kernel or a graph uses it. Before CUDA 12.3, the Kernel's
// name is its handle. Before CUDA 12.4, launches do not check arguments.
func (c *Context) BorrowKernel(raw cu.CUfunction) (*Kernel, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if raw == 0 {
		return nil, invalidf("no kernel to borrow in %v: the handle is 0", c)
	}
	name := fmt.Sprintf("%#x", uintptr(raw))
	if d := c.core.guarded; d.Has(cu.FnCuFuncGetName) {
		var text *byte
		if err := d.CuFuncGetName(&text, raw); err != nil {
			return nil, fmt.Errorf("cannot borrow kernel %s: %w", name, err)
		}
		name = textAt(text)
	}
	return (&program{life: &c.core.life, ctx: c}).newKernel(name, raw)
}

// mostKernels is the largest number of kernels that one slab holds.
const mostKernels = 32

// paramsOf queries the sizes and offsets of parameters, which the driver reports since CUDA 12.4.
// For an index beyond the last parameter, the driver returns CUDA_ERROR_INVALID_VALUE.
func paramsOf(d *Driver, f cu.CUfunction) (params []Param, known bool, err error) {
	if !d.Has(cu.FnCuFuncGetParamInfo) {
		return nil, false, nil
	}
	for {
		var p Param
		err := d.CuFuncGetParamInfo(f, uintptr(len(params)), &p.Offset, &p.Size)
		if isResult(err, CUDA_ERROR_INVALID_VALUE) {
			return params, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		params = append(params, p)
	}
}

// Name returns the name by which the kernel was requested.
func (k *Kernel) Name() string {
	if k == nil {
		return ""
	}
	return k.name
}

type labelFunc func(kernel string, args []unsafe.Pointer) string

// SetLabel is for packages built on this one. If an argument of the kernel selects an operation, label
// returns its name for drawings and errors of graphs, or "" to keep the kernel's name. It receives
// the kernel's name and the addresses of the arguments. The first label remains.
func (k *Kernel) SetLabel(label func(kernel string, args []unsafe.Pointer) string) {
	if k != nil && label != nil && k.label.Load() == nil {
		first := labelFunc(label) // only this copy is on the heap
		k.label.CompareAndSwap(nil, &first)
	}
}

// Label is for packages built on this one. It returns the name of what the kernel does with
// arguments at the given addresses: the name by SetLabel, or the kernel's name. args belongs to a
// kernel node, or is nil.
func (k *Kernel) Label(args *unsafe.Pointer) string {
	if k == nil {
		return ""
	}
	label := k.label.Load()
	if label == nil || args == nil || !k.known {
		return k.name
	}
	return cmp.Or((*label)(k.name, unsafe.Slice(args, len(k.params))), k.name)
}

// Raw returns the driver's handle.
func (k *Kernel) Raw() cu.CUfunction {
	if k == nil {
		return 0
	}
	return k.raw
}

// Context returns the context in which the kernel runs.
func (k *Kernel) Context() *Context {
	if k == nil || k.code == nil {
		return nil
	}
	return k.code.ctx
}

// Params returns the parameters. They have names and types if the kernel came from PTX, and only
// sizes and offsets otherwise (CUDA 12.4). If ok is false, the parameters are unknown and launches
// do not check arguments.
func (k *Kernel) Params() (params []Param, ok bool) {
	if k == nil {
		return nil, false
	}
	return slices.Clone(k.params), k.known
}

// Signature returns the parameters and launch bounds that the PTX declares. For a kernel loaded
// from a binary, ok is false.
func (k *Kernel) Signature() (sig ptx.Signature, ok bool) {
	if k == nil || k.sig == nil {
		return ptx.Signature{}, false
	}
	return *k.sig, true
}

// Ref returns a reference that keeps the code loaded.
func (k *Kernel) Ref() life.Ref {
	if k == nil || k.code == nil {
		return nil
	}
	return k.code
}

// String describes the kernel.
func (k *Kernel) String() string {
	if k == nil {
		return "nil kernel"
	}
	return "kernel " + k.name
}

func (k *Kernel) check() error {
	if k == nil || k.code == nil {
		return absentError(k == nil, "kernel")
	}
	if err := k.code.life.Check(); err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	return nil
}

// Load loads the kernel onto the device if the driver deferred that (lazy loading, since CUDA
// 11.7). Prepare calls Load. Without Load, the first launch loads the kernel, which is slow and may
// fail in a stream capture.
func (k *Kernel) Load() error {
	_, err := k.Info()
	return err
}

// load makes the driver call of Load. d must be guarded because loading allocates memory.
func (k *Kernel) load(d *Driver) error {
	if d.Has(cu.FnCuFuncLoad) {
		return d.CuFuncLoad(k.raw)
	}
	var registers int32 // any attribute query loads the function
	return d.CuFuncGetAttribute(&registers, cu.CU_FUNC_ATTRIBUTE_NUM_REGS, k.raw)
}

// Launch prepares the kernel with the given arguments and enqueues it in s. It allocates: for
// repeated launches, use Prepare and [Stream.Do].
func (k *Kernel) Launch(s *Stream, cfg LaunchConfig, args ...any) error {
	if err := k.check(); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		return err
	}
	l, _ := k.scratch.Get().(*Launch)
	if l == nil {
		l = newLaunch(k)
	}
	err := l.prepare(cfg, args)
	if err == nil {
		err = l.Enqueue(s)
	}
	l.drop()
	// If the parameters are unknown, l would check the next call's arguments against the current
	// ones.
	if k.known {
		k.scratch.Put(l)
	}
	runtime.KeepAlive(args)
	return err
}

// KernelInfo holds the properties that the compiler determined. [Kernel.Attribute] returns other
// attributes.
type KernelInfo struct {
	Registers          int // per thread
	MaxThreadsPerBlock int // limited by registers and .maxntid
	SharedStatic       int // static shared memory of a block, in bytes
	MaxSharedDynamic   int // limit of dynamic shared memory, in bytes; Prepare raises it if necessary
	Local              int // local memory of a thread, in bytes
	Const              int // constant memory, in bytes
	PTXVersion         int // PTX version that the code was compiled from: 80 for 8.0
	BinaryVersion      int // 90 for sm_90 machine code
	ClusterRequired    bool
	RequiredCluster    Dim3 // zero unless the code fixes the size
	NonPortableCluster bool // clusters of more than 8 blocks are allowed
}

// Info returns the kernel's properties. The first call loads the kernel.
func (k *Kernel) Info() (KernelInfo, error) {
	if err := k.check(); err != nil {
		return KernelInfo{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.readInfo(); err != nil {
		return KernelInfo{}, err
	}
	return *k.info, nil
}

// readInfo sets k.info. The caller must hold k.mu.
func (k *Kernel) readInfo() error {
	if k.info != nil {
		return nil
	}
	if err := k.load(k.code.ctx.Guarded()); err != nil {
		return fmt.Errorf("cannot load %v: %w", k, err)
	}
	info := new(KernelInfo)
	if err := info.read(k.code.ctx.Driver(), k.raw); err != nil {
		return fmt.Errorf("attributes of %v: %w", k, err)
	}
	k.info = info
	runtime.KeepAlive(k)
	return nil
}

// read queries the attributes. ClusterRequired and the fields after it exist since CUDA 11.8. An
// older driver returns CUDA_ERROR_INVALID_VALUE and does not support clusters.
func (i *KernelInfo) read(d *Driver, f cu.CUfunction) error {
	var must, x, y, z, nonPortable int
	for _, a := range []struct {
		attribute cu.CUfunction_attribute
		to        *int
	}{
		{cu.CU_FUNC_ATTRIBUTE_NUM_REGS, &i.Registers},
		{cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &i.MaxThreadsPerBlock},
		{cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &i.SharedStatic},
		{cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &i.MaxSharedDynamic},
		{cu.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &i.Local},
		{cu.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &i.Const},
		{cu.CU_FUNC_ATTRIBUTE_PTX_VERSION, &i.PTXVersion},
		{cu.CU_FUNC_ATTRIBUTE_BINARY_VERSION, &i.BinaryVersion},
		{cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &must},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &x},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &y},
		{cu.CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &z},
		{cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &nonPortable},
	} {
		var v int32
		err := d.CuFuncGetAttribute(&v, a.attribute, f)
		if err != nil && (a.attribute < cu.CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET || !isResult(err, CUDA_ERROR_INVALID_VALUE)) {
			return fmt.Errorf("%v: %w", a.attribute, err)
		}
		*a.to = int(v)
	}
	i.ClusterRequired, i.NonPortableCluster = must != 0, nonPortable != 0
	i.RequiredCluster = Dim3{uint32(x), uint32(y), uint32(z)}
	return nil
}

// Attribute returns one attribute of the kernel.
func (k *Kernel) Attribute(a cu.CUfunction_attribute) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	var v int32
	err := k.code.ctx.Driver().CuFuncGetAttribute(&v, a, k.raw)
	runtime.KeepAlive(k)
	if err != nil {
		return 0, fmt.Errorf("%v: attribute %v: %w", k, a, err)
	}
	return int(v), nil
}

// SetAttribute changes one attribute of the kernel for all later launches. Prepare already raises
// the limit of dynamic shared memory if necessary.
func (k *Kernel) SetAttribute(a cu.CUfunction_attribute, v int) error {
	if err := k.check(); err != nil {
		return err
	}
	if int(int32(v)) != v {
		return invalidf("%v: attribute %v: %d does not fit 32 bits", k, a, v)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.code.ctx.Driver().CuFuncSetAttribute(k.raw, a, int32(v))
	runtime.KeepAlive(k)
	if err != nil {
		return fmt.Errorf("%v: attribute %v = %d: %w", k, a, v, err)
	}
	k.info = nil // must be queried again
	return nil
}

// SetCacheConfig sets whether the kernel prefers shared memory or L1 cache.
func (k *Kernel) SetCacheConfig(c cu.CUfunc_cache) error {
	if err := k.check(); err != nil {
		return err
	}
	err := k.code.ctx.Driver().CuFuncSetCacheConfig(k.raw, c)
	runtime.KeepAlive(k)
	if err != nil {
		return fmt.Errorf("%v: cache configuration %v: %w", k, c, err)
	}
	return nil
}

// MaxActiveBlocks returns how many blocks of the given size can be resident on one multiprocessor.
// sharedMem is dynamic shared memory per block in bytes.
func (k *Kernel) MaxActiveBlocks(threads int, sharedMem uintptr) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	if threads <= 0 || int(int32(threads)) != threads {
		return 0, invalidf("%v: %d threads per block", k, threads)
	}
	n, err := k.activeBlocks(k.code.ctx.Driver(), threads, sharedMem)
	runtime.KeepAlive(k)
	return n, err
}

func (k *Kernel) activeBlocks(d *Driver, threads int, sharedMem uintptr) (int, error) {
	var n int32
	err := d.CuOccupancyMaxActiveBlocksPerMultiprocessor(&n, k.raw, int32(threads), sharedMem)
	if err != nil {
		return 0, fmt.Errorf("occupancy of %v: %w", k, err)
	}
	return int(n), nil
}

// BlockSize is the result of [Kernel.MaxPotentialBlockSize].
type BlockSize struct {
	Block   int // threads per block
	MinGrid int // smallest grid that fills the device, in blocks
}

// MaxPotentialBlockSize returns the block size with the highest occupancy. If limit is positive,
// the size is at most limit. sharedMem returns the dynamic shared memory of a block in bytes. A nil
// sharedMem means none.
func (k *Kernel) MaxPotentialBlockSize(sharedMem func(threads int) uintptr, limit int) (BlockSize, error) {
	info, err := k.Info()
	if err != nil {
		return BlockSize{}, err
	}
	l, err := k.code.deviceLimits()
	if err != nil {
		return BlockSize{}, err
	}
	most := min(info.MaxThreadsPerBlock, l.threads)
	if limit > 0 {
		most = min(most, limit)
	}
	best, err := k.bestBlock(most, sharedMem)
	runtime.KeepAlive(k)
	best.MinGrid *= l.multiprocessors
	return best, err
}

// warp is the step between candidate block sizes, in threads.
const warp = 32

// bestBlock tries block sizes from the largest down, as the driver's own function does. It does not
// call that function, which would have to call back into Go for sharedMem. In the result, MinGrid
// is the number of blocks per multiprocessor.
func (k *Kernel) bestBlock(most int, sharedMem func(int) uintptr) (BlockSize, error) {
	var best BlockSize
	d := k.code.ctx.Driver()
	for threads := most; threads > 0; threads = (threads - 1) / warp * warp {
		var shared uintptr
		if sharedMem != nil {
			shared = sharedMem(threads)
		}
		n, err := k.activeBlocks(d, threads, shared)
		if err != nil {
			return BlockSize{}, err
		}
		if n*threads > best.MinGrid*best.Block {
			best = BlockSize{Block: threads, MinGrid: n}
		}
	}
	return best, nil
}

// MaxPotentialClusterSize returns the largest cluster, in blocks, that a launch with this
// configuration can have (CUDA 11.8).
func (k *Kernel) MaxPotentialClusterSize(cfg LaunchConfig) (int, error) {
	return k.clusters(&cfg, false)
}

// MaxActiveClusters returns how many clusters fit on the device (CUDA 11.8).
func (k *Kernel) MaxActiveClusters(cfg LaunchConfig) (int, error) {
	return k.clusters(&cfg, true)
}

// clusters returns the number of resident clusters, or the largest cluster size if active is false.
func (k *Kernel) clusters(cfg *LaunchConfig, active bool) (int, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	var room [4]cu.CUlaunchAttribute
	attrs := cfg.attributes(room[:0])
	raw := cfg.raw(attrs)
	var n int32
	var err error
	if d := k.code.ctx.Driver(); active {
		err = d.CuOccupancyMaxActiveClusters(&n, k.raw, &raw)
	} else {
		err = d.CuOccupancyMaxPotentialClusterSize(&n, k.raw, &raw)
	}
	if err != nil {
		return 0, fmt.Errorf("clusters of %v: %w", k, err)
	}
	runtime.KeepAlive(attrs)
	runtime.KeepAlive(k)
	return int(n), nil
}

// AvailableSharedMem returns how many bytes of dynamic shared memory a block can use if the given
// number of blocks, with the given number of threads each, must fit on one multiprocessor.
func (k *Kernel) AvailableSharedMem(blocks, threads int) (uintptr, error) {
	if err := k.check(); err != nil {
		return 0, err
	}
	if int(int32(blocks)) != blocks || int(int32(threads)) != threads {
		return 0, invalidf("%v: %d blocks of %d threads", k, blocks, threads)
	}
	var n uintptr
	err := k.code.ctx.Driver().CuOccupancyAvailableDynamicSMemPerBlock(&n, k.raw, int32(blocks), int32(threads))
	runtime.KeepAlive(k)
	if err != nil {
		return 0, fmt.Errorf("shared memory of %v: %w", k, err)
	}
	return n, nil
}
