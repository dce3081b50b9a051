package driver

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/ptx"
)

// Linker links images that use each other's extern symbols. It accepts relocatable cubins, fat
// binaries, object files, archives and PTX.
type Linker struct {
	ctx  *Context
	opts []JITOption

	mu     sync.Mutex
	inputs []linkInput
	image  []byte // the linked image, once Complete has run
	log    string
	closed bool
}

// NewLinker creates a linker for the context's device or WithTarget's. The options apply to all
// inputs, and must not include CU_JIT_FALLBACK_STRATEGY.
func (c *Context) NewLinker(opts ...JITOption) (*Linker, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("cannot make a linker: %w", err)
	}
	if err := checkLinkOptions(opts); err != nil {
		return nil, fmt.Errorf("cannot make a linker: %w", err)
	}
	return &Linker{ctx: c, opts: slices.Clone(opts)}, nil
}

func checkLinkOptions(opts []JITOption) error {
	var j jit
	if err := j.apply(opts); err != nil {
		return err
	}
	if j.has(cu.CU_JIT_FALLBACK_STRATEGY) {
		return invalidf("a linker does not take CU_JIT_FALLBACK_STRATEGY: it needs code for exactly its target")
	}
	return nil
}

// Add adds an input, detects its kind and checks its headers. Do not change data until Complete has
// compiled it. Messages refer to the input by name, or by number if name is "". The options apply
// only to this input, in addition to the linker's options. They do not apply to the linking step.
func (l *Linker) Add(name string, data []byte, opts ...JITOption) error {
	if l == nil {
		return nilError("linker")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	if name == "" {
		name = fmt.Sprintf("input %d", len(l.inputs)+1)
	}
	in, err := newLinkInput(name, data, opts)
	if err != nil {
		return fmt.Errorf("cannot link %q: %w", name, err)
	}
	l.inputs, l.image = append(l.inputs, in), nil
	return nil
}

// Complete compiles the inputs, links them and returns the image, a cubin that the caller must not
// change. Later calls return the same image until an input is added. On failure, the [*Error] holds
// the log. It lists PTX that does not compile and symbols that are undefined, duplicate or
// inconsistent.
func (l *Linker) Complete() ([]byte, error) {
	if l == nil {
		return nil, nilError("linker")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(); err != nil {
		return nil, err
	}
	if l.image != nil {
		return l.image, nil
	}
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	if err := l.ctx.core.life.Retain(); err != nil {
		return nil, err
	}
	defer l.ctx.core.life.Done()
	var err error
	l.image, l.log, err = l.onThread()
	return l.image, err
}

// Load calls Complete and loads the image. If all inputs were PTX, the kernels keep the names and
// types of their parameters.
func (l *Linker) Load(opts ...JITOption) (*Module, error) {
	data, err := l.Complete()
	if err != nil {
		return nil, err
	}
	img, err := newLoadable(data)
	if err != nil {
		return nil, fmt.Errorf("the linked output is not an image: %w", err)
	}
	m, err := l.ctx.loadModule(l.ctx.Driver(), img, opts)
	if err != nil {
		return nil, err
	}
	m.code.sigs = l.signatures()
	return m, nil
}

// signatures returns the signatures that the inputs' PTX declares. If any input is not PTX, it
// returns nil.
func (l *Linker) signatures() map[string]*ptx.Signature {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]*ptx.Signature)
	for _, in := range l.inputs {
		if in.code.kind != image.PTX {
			return nil
		}
		for name, s := range readSignatures(in.code) {
			all[name] = s
		}
	}
	return all
}

// Log returns the driver's output from the latest link, "" if it failed.
func (l *Linker) Log() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log
}

// Close releases the inputs. Images that Complete returned stay valid.
func (l *Linker) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.inputs, l.image = true, nil, nil
	return nil
}

func (l *Linker) check() error {
	if l.closed {
		return fmt.Errorf("linker: %w", ErrClosed)
	}
	return l.ctx.check()
}

// onThread links on a dedicated OS thread, which ends afterwards. The driver's linker has
// thread-local state. On driver 580, after PTX that did not compile, a later link on the same
// thread returns 999 instead of 300. After PTX that was too new, it returns success although
// symbols are undefined. If the calls of one link are made on several threads, a later load on one
// of them can crash the process. All calls of a link must therefore be made on one thread. The
// thread must then end, because a failure leaves its state there.
func (l *Linker) onThread() (linked []byte, log string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked, so that the thread ends
		linked, log, err = l.link()
	}()
	<-done
	return linked, log, err
}

// link makes the driver calls of one link. If a log was truncated, it repeats all of them with
// larger buffers.
func (l *Linker) link() (linked []byte, log string, err error) {
	var failing failedInput // the input that the driver rejected, if any
	j, err := withLogs(l.opts, func() []byte { return failing.ptx }, func(j *jit) error {
		failing = failedInput{}
		linked, err = l.linkOnce(j, &failing)
		return err
	})
	if err != nil {
		return nil, "", l.explainNeeds(err, failing)
	}
	defer j.close()
	return linked, cString(j.info), nil
}

// failedInput is the input that the driver rejected. For a binary, ptx is nil.
type failedInput struct {
	name string
	ptx  []byte
}

// explainNeeds adds to err the driver version or device that the rejected PTX needs. For a binary,
// it returns err unchanged.
func (l *Linker) explainNeeds(err error, in failedInput) error {
	if in.ptx == nil {
		return err
	}
	info, _ := ptx.Signatures(in.ptx)
	explained, ok := l.ctx.explainNeeds(err, info.Needs()).(*Error)
	if !ok || explained == err {
		return err
	}
	explained.Hint = withInput(in.name, explained.Hint)
	return explained
}

func (l *Linker) linkOnce(j *jit, failing *failedInput) (linked []byte, err error) {
	d := l.ctx.Driver()
	var state cu.CUlinkState
	if err := d.CuLinkCreate(j.count(), j.optionList(), j.valueList(), &state); err != nil {
		return nil, err
	}
	defer func() {
		if e := d.CuLinkDestroy(state); e != nil {
			err = errors.Join(err, e)
		}
	}()
	for _, in := range l.inputs {
		if err := in.add(d, state); err != nil {
			*failing = failedInput{in.name, in.code.ptx()}
			j.input = in.name
			return nil, j.linkFault(err)
		}
	}
	var at unsafe.Pointer
	var size uintptr
	if err := j.linkFault(d.CuLinkComplete(state, &at, &size)); err != nil {
		return nil, err
	}
	// Copied because state owns the image returned by the driver.
	return append([]byte{}, unsafe.Slice((*byte)(at), size)...), nil
}

// linkFault corrects the result of a linker call if the log reports an error. After an earlier
// failure on the thread, the driver may return CUDA_ERROR_UNKNOWN or success instead of
// CUDA_ERROR_INVALID_SOURCE.
func (j *jit) linkFault(err error) error {
	log := cString(j.err)
	if !strings.Contains(log, "error   : ") {
		return err
	}
	if err == nil {
		return &Error{Func: cu.FnCuLinkComplete, Result: CUDA_ERROR_INVALID_SOURCE}
	}
	if e, ok := err.(*Error); ok && e.Result == CUDA_ERROR_UNKNOWN {
		known := *e
		known.Result = CUDA_ERROR_INVALID_SOURCE
		return &known
	}
	return err
}

type linkInput struct {
	name   string
	symbol *byte // name, as a C string
	kind   cu.CUjitInputType
	code   loadable
	opts   []JITOption
}

func newLinkInput(name string, data []byte, opts []JITOption) (linkInput, error) {
	if err := checkLinkOptions(opts); err != nil {
		return linkInput{}, err
	}
	symbol, err := cName("linker's input", name)
	if err != nil {
		return linkInput{}, err
	}
	kind, err := image.CheckInput(data)
	if err != nil {
		return linkInput{}, invalidImage(err)
	}
	return linkInput{name, symbol, inputKind(kind), terminated(new([]byte), kind, data), slices.Clone(opts)}, nil
}

// add passes the input to the driver. The driver keeps no reference to the input's data.
func (in *linkInput) add(d *Driver, state cu.CUlinkState) error {
	var j jit
	if err := j.apply(in.opts); err != nil {
		return err
	}
	err := d.CuLinkAddData(state, in.kind, in.code.ptr(), uintptr(len(in.code.data)), in.symbol,
		j.count(), j.optionList(), j.valueList())
	j.answered()
	return err
}

func inputKind(k image.Kind) cu.CUjitInputType {
	switch k {
	case image.Cubin:
		return cu.CU_JIT_INPUT_CUBIN
	case image.Fatbin:
		return cu.CU_JIT_INPUT_FATBINARY
	case image.Object:
		return cu.CU_JIT_INPUT_OBJECT
	case image.Archive:
		return cu.CU_JIT_INPUT_LIBRARY
	}
	return cu.CU_JIT_INPUT_PTX
}
