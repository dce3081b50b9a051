package driver

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/ptx"
)

// Kernel is a function of a module or library that can be launched. It keeps
// the code loaded.
type Kernel struct {
	code   *program
	raw    CUfunction
	name   string
	params []Param
	known  bool           // params is what the kernel takes; else nothing is known
	sig    *ptx.Signature // from the PTX; nil for binaries

	mu      sync.Mutex
	info    *KernelInfo // nil until it was asked for
	scratch sync.Pool   // of *Launch, for Kernel.Launch
	shape   atomic.Pointer[kernelShape]
}

func newKernel(p *program, name string, raw CUfunction) (*Kernel, error) {
	k := &Kernel{code: p, raw: raw, name: name}
	if k.sig = p.sigs[name]; k.sig != nil {
		k.params, k.known = paramsFrom(k.sig), true
		return k, nil
	}
	var err error
	if k.params, k.known, err = paramsOf(p.ctx.Guarded(), raw); err != nil {
		return nil, fmt.Errorf("parameters of %v: %w", k, err)
	}
	return k, nil
}

// paramsOf asks the driver for sizes and offsets, which it can tell since CUDA
// 12.4. Indices beyond the last parameter are invalid values.
func paramsOf(d *Driver, f CUfunction) (params []Param, known bool, err error) {
	if !d.Has(FnCuFuncGetParamInfo) {
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

// Name is the kernel's name as it was asked for.
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

// Params lists the parameters: with names and types if the kernel came from
// PTX, with sizes where the driver can tell them (since CUDA 12.4). ok is
// false if nothing is known; then launches check nothing about arguments.
func (k *Kernel) Params() (params []Param, ok bool) {
	if k == nil {
		return nil, false
	}
	return slices.Clone(k.params), k.known
}

// Signature is what the PTX says about the kernel: parameters and launch
// bounds. There is none for a kernel loaded as binary.
func (k *Kernel) Signature() (sig ptx.Signature, ok bool) {
	if k == nil || k.sig == nil {
		return ptx.Signature{}, false
	}
	return *k.sig, true
}

// Ref keeps the code loaded.
func (k *Kernel) Ref() Ref {
	if k == nil || k.code == nil {
		return nil
	}
	return k.code
}

// String names the kernel for messages.
func (k *Kernel) String() string {
	if k == nil {
		return "nil kernel"
	}
	return "kernel " + k.name
}

func (k *Kernel) check() error {
	if k == nil || k.code == nil {
		return nilError("kernel")
	}
	if err := k.code.life.Check(); err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	return nil
}

// Load brings the kernel to the device if the driver put that off (it loads
// lazily since CUDA 11.7). A first launch does so too, but then the launch
// takes long, and inside a stream capture the driver may refuse. Prepare calls
// it.
func (k *Kernel) Load() error {
	_, err := k.Info()
	return err
}

// load is the driver's part of Load. It runs guarded, because loading allocates.
func (k *Kernel) load(d *Driver) error {
	if d.Has(FnCuFuncLoad) {
		return d.CuFuncLoad(k.raw)
	}
	var registers int32 // asking for anything loads the function
	return d.CuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, k.raw)
}

// Launch prepares the kernel with the given arguments, sends it to s and
// forgets it: the convenient form of Prepare and Stream.Do. It does not wait, and
// it allocates: what is launched again and again is prepared once.
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
