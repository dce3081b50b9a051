package driver

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/ptx"
)

// Kernel is a launchable function of a module or library. It keeps the code loaded.
type Kernel struct {
	code   *program
	raw    CUfunction
	name   string
	params []Param
	known  bool           // params is what the kernel takes; else nothing is known
	sig    *ptx.Signature // from the PTX; nil for binaries

	mu      sync.Mutex
	info    *KernelInfo // nil until first requested
	scratch sync.Pool   // of *Launch, for Kernel.Launch
	shape   atomic.Pointer[kernelShape]
	uses    atomic.Pointer[kernelUses]
}

// newKernel creates a kernel; the caller holds p.mu. Kernels from PTX are allocated from arrays
// that a module shares, because the module keeps all of them anyway.
func (p *program) newKernel(name string, raw CUfunction) (*Kernel, error) {
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

// BorrowKernel returns a Kernel for a function that other code loaded into this context. The owner
// must keep the code loaded while the Kernel, or a graph that refers to it, is in use. The name is
// known since CUDA 12.3, the parameters since CUDA 12.4. Before that, launches do not check
// arguments.
func (c *Context) BorrowKernel(raw CUfunction) (*Kernel, error) {
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

// mostKernels is the largest number of kernels allocated at once.
const mostKernels = 32

// paramsOf queries sizes and offsets, which the driver returns since CUDA 12.4. An index beyond the
// last parameter is an invalid value.
func paramsOf(d *Driver, f CUfunction) (params []Param, known bool, err error) {
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

// Name returns the name that the kernel was requested by.
func (k *Kernel) Name() string {
	if k == nil {
		return ""
	}
	return k.name
}

// Raw returns the driver's handle, 0 for a nil kernel.
func (k *Kernel) Raw() CUfunction {
	if k == nil {
		return 0
	}
	return k.raw
}

// Context returns the context the kernel runs in.
func (k *Kernel) Context() *Context {
	if k == nil || k.code == nil {
		return nil
	}
	return k.code.ctx
}

// Params returns the parameters: with names and types if the kernel came from PTX, else with sizes
// if the driver returns them (since CUDA 12.4). If ok is false, nothing is known about the
// parameters, and launches do not check arguments.
func (k *Kernel) Params() (params []Param, ok bool) {
	if k == nil {
		return nil, false
	}
	return slices.Clone(k.params), k.known
}

// Signature returns the parameters and launch bounds that the PTX declares. ok is false for a
// kernel loaded as binary.
func (k *Kernel) Signature() (sig ptx.Signature, ok bool) {
	if k == nil || k.sig == nil {
		return ptx.Signature{}, false
	}
	return *k.sig, true
}

// Ref keeps the code loaded.
func (k *Kernel) Ref() life.Ref {
	if k == nil || k.code == nil {
		return nil
	}
	return k.code
}

// String describes the kernel for messages.
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
// 11.7). Otherwise the first launch does, which then takes long and may fail in a stream capture.
// Prepare calls Load.
func (k *Kernel) Load() error {
	_, err := k.Info()
	return err
}

// load makes Load's driver call. It is guarded because loading allocates.
func (k *Kernel) load(d *Driver) error {
	if d.Has(cu.FnCuFuncLoad) {
		return d.CuFuncLoad(k.raw)
	}
	var registers int32 // any query loads the function
	return d.CuFuncGetAttribute(&registers, cu.CU_FUNC_ATTRIBUTE_NUM_REGS, k.raw)
}

// Launch prepares the kernel with the given arguments and enqueues it in s. It does not wait. It
// allocates: for repeated launches, use Prepare and Stream.Do.
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
	if k.known { // else l believes that all launches are like this one
		k.scratch.Put(l)
	}
	runtime.KeepAlive(args)
	return err
}
