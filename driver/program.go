package driver

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/image"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/ptx"
)

// program is code loaded into a context. A Module or Library and its kernels share one program, so
// the code stays loaded as long as any of them is reachable.
type program struct {
	life *life.Lifetime
	ctx  *Context
	sigs map[string]*ptx.Signature // kernel signatures from the PTX, keyed by kernel name
	log  string                    // the compiler's output

	needs ptx.Needs // the requirements of the PTX, for error messages

	find   func(d *Driver, name *byte) (cu.CUfunction, error)
	global func(d *Driver, ptr *CUdeviceptr, size *uintptr, name *byte) error
	list   func(d *Driver) []string // returns the kernel names, if the driver can list them

	text sync.WaitGroup // done once sigs and needs are set

	mu      sync.Mutex
	kernels map[string]*Kernel
	limits  *deviceLimits

	// Kernels and their parameters are taken from slab and params, which are allocated for several
	// kernels at a time. name holds the most recently requested name as a C string.
	slab   []Kernel
	params []Param
	name   []byte

	aggregates map[aggregate]string // type names shared by the kernels
}

func (p *program) Lifetime() *life.Lifetime { return p.life }

func newProgram(c *Context, kind string, img loadable) (*program, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	l, err := newLifetime(c, kind)
	if err != nil {
		return nil, err
	}
	p := &program{life: l, ctx: c}
	p.readMeanwhile(img)
	return p, nil
}

// longText is the smallest length in bytes at which readMeanwhile uses another goroutine. Loading a
// module of this length takes longer than reading its signatures, even if the driver has cached the code.
const longText = 8 << 10

// readMeanwhile sets sigs and needs from the PTX. It reads long PTX in the background. The
// loader must wait for p.text before it drops the image or uses sigs or needs.
func (p *program) readMeanwhile(img loadable) {
	if len(img.ptx()) < longText {
		p.sigs, p.needs = readPTX(img)
		return
	}
	p.text.Go(func() { p.sigs, p.needs = readPTX(img) })
}

// readSignatures reads the kernels' signatures. It does not validate the PTX, and it omits kernels
// that it cannot parse.
func readSignatures(img loadable) map[string]*ptx.Signature {
	sigs, _ := readPTX(img)
	return sigs
}

// readPTX returns the kernels' signatures, as readSignatures does, and the requirements of the
// text.
func readPTX(img loadable) (map[string]*ptx.Signature, ptx.Needs) {
	text := img.ptx()
	if text == nil {
		return nil, ptx.Needs{}
	}
	info, _ := ptx.Signatures(text)
	sigs := make(map[string]*ptx.Signature, len(info.Kernels))
	for i := range info.Kernels {
		sigs[info.Kernels[i].Name] = &info.Kernels[i]
	}
	return sigs, info.Needs()
}

// abandon disposes of a program that could not be loaded. It returns err, with an explanation if
// the PTX has an unmet requirement. It does not wrap err, because %+v would not print the log of a
// wrapped *Error.
func (p *program) abandon(err error) error {
	p.text.Wait()
	err = p.ctx.explainNeeds(err, p.needs)
	_ = p.life.Abandon(err)
	return err
}

func (p *program) check(kind string) error {
	if p == nil {
		return nilError(kind)
	}
	return p.life.Check()
}

// kernel returns the kernel with the given name. Every call with that name returns the same Kernel.
func (p *program) kernel(name string) (*Kernel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.kernels[name]; k != nil {
		return k, nil
	}
	symbol, err := p.symbol(name)
	if err != nil {
		return nil, err
	}
	raw, err := p.find(p.ctx.Driver(), symbol)
	if err != nil {
		return nil, p.missing(name, err)
	}
	k, err := p.newKernel(name, raw)
	if err != nil {
		return nil, err
	}
	if p.kernels == nil {
		p.kernels = make(map[string]*Kernel, len(p.sigs))
	}
	p.kernels[k.name] = k
	return k, nil
}

// symbol returns a kernel's name as a C string. The next call overwrites the result.
func (p *program) symbol(name string) (*byte, error) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return cName("kernel", name)
	}
	p.name = append(append(p.name[:0], name...), 0)
	return &p.name[0], nil
}

// missing returns the error for a failed look-up. If the kernel does not exist, the error lists the
// kernels that do.
func (p *program) missing(name string, err error) error {
	if !isResult(err, CUDA_ERROR_NOT_FOUND) {
		return p.late(name, p.ctx.explainNeeds(err, p.needs))
	}
	names := p.names()
	if len(names) == 0 {
		return fmt.Errorf("%v has no kernel %q: %w", p.life, name, err)
	}
	if near := similar(name, names); near != "" {
		return fmt.Errorf("%v has no kernel %q, did you mean %q? It has %s: %w", p.life, name, near, listed(names), err)
	}
	return fmt.Errorf("%v has no kernel %q, it has %s: %w", p.life, name, listed(names), err)
}

// late adds the kernel's name to the error from a failed look-up, during which the driver may have
// compiled the library. If err is an *Error, so is the result, because an *Error holds the log.
func (p *program) late(name string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		return fmt.Errorf("kernel %q of %v: %w", name, p.life, err)
	}
	late := *e
	late.Hint = fmt.Sprintf("kernel %q of %v: %s", name, p.life, e.Hint)
	return &late
}

// names returns the sorted kernel names. They come from the PTX if possible, and otherwise from the
// driver.
func (p *program) names() []string {
	names := make([]string, 0, len(p.sigs))
	for n := range p.sigs {
		names = append(names, n)
	}
	if len(names) == 0 {
		names = p.list(p.ctx.Guarded())
	}
	slices.Sort(names)
	return names
}

func listed(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// similar returns a kernel name that is a mangled form of the requested name, or that differs only
// in case.
func similar(name string, names []string) string {
	for _, n := range names {
		if strings.EqualFold(n, name) || strings.Contains(n, name) && strings.HasPrefix(n, "_Z") {
			return n
		}
	}
	return ""
}

func (p *program) variable(name string) (View[byte], error) {
	symbol, err := cName("variable", name)
	if err != nil {
		return View[byte]{}, err
	}
	a := &allocation{life: p.life, ctx: p.ctx, owner: p}
	if err := p.global(p.ctx.Driver(), &a.ptr, &a.bytes, symbol); err != nil {
		return View[byte]{}, fmt.Errorf("variable %q of %v: %w", name, p.life, err)
	}
	return View[byte]{span{a, a.ptr, a.bytes}}, nil
}

// loadable is code in the form that the driver loads. Its headers have been checked.
type loadable struct {
	kind image.Kind
	data []byte // if PTX, ends with a NUL
}

// newLoadable checks data. The check is necessary because the driver does not receive a length: it
// reads PTX up to a NUL, and binaries according to their headers.
func newLoadable(data []byte) (loadable, error) { return newLoadableIn(new([]byte), data) }

// newLoadableIn is like newLoadable, but copies PTX to room. The caller can reuse room.
func newLoadableIn(room *[]byte, data []byte) (loadable, error) {
	kind, err := image.Check(data)
	if err != nil {
		return loadable{}, invalidImage(err)
	}
	return terminated(room, kind, data), nil
}

// terminated prepares code of a known kind. It truncates PTX after the first NUL. If PTX has no
// NUL, terminated copies it to room and appends one.
func terminated(room *[]byte, kind image.Kind, data []byte) loadable {
	if kind != image.PTX {
		return loadable{kind, data}
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return loadable{kind, data[:i+1]}
	}
	*room = append(append((*room)[:0], data...), 0)
	return loadable{kind, *room}
}

func loadableOf(i *image.Image) loadable {
	return terminated(new([]byte), i.Kind(), i.Bytes())
}

func (l loadable) ptr() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(l.data)) }

// mayFault reports whether the code may contain kernels that record faults.
func (l loadable) mayFault() bool { return kernelfault.Possible(l.data, l.kind == image.Fatbin) }

// mostUnpacked is the maximum size in bytes to which code is decompressed to look for vprintf.
const mostUnpacked = 4 << 20

// text records that an image was loaded if its kernels may print. If a fat binary's code for the
// device cannot be read, or is compressed and large, text assumes that it prints.
func (c *Context) text(img loadable) *kernelfault.Text {
	return c.core.home.Faults.Text(img.prints(c.core.dev))
}

func (l loadable) prints(dev Device) bool {
	if l.kind != image.Fatbin {
		return kernelfault.Prints(l.data)
	}
	arch, err := dev.Arch()
	if err != nil {
		return true
	}
	i, err := image.Parse("", l.data)
	if err != nil {
		return true
	}
	p, err := i.Part(arch)
	if err != nil || p.Compressed && p.Size() > mostUnpacked {
		return true
	}
	code, err := p.Bytes()
	return err != nil || kernelfault.Prints(code)
}

// ptx returns the PTX without its NUL, or nil for binaries.
func (l loadable) ptx() []byte {
	if l.kind != image.PTX {
		return nil
	}
	return l.data[:len(l.data)-1]
}

// imageError is an error from package image that also matches a driver code.
type imageError struct {
	error
	code CUresult
}

func (e *imageError) Unwrap() []error { return []error{e.error, e.code} }

// invalidImage makes an error that matches image.ErrInvalid also match CUDA_ERROR_INVALID_VALUE.
func invalidImage(err error) error {
	if errors.Is(err, image.ErrInvalid) {
		return &imageError{err, CUDA_ERROR_INVALID_VALUE}
	}
	return err
}

// cName returns name as a C string. Its errors name the kind of object, such as "kernel".
func cName(what, name string) (*byte, error) {
	if name == "" {
		return nil, invalidf("empty name of a %s", what)
	}
	b := make([]byte, len(name)+1)
	copy(b, name)
	if bytes.IndexByte(b, 0) != len(name) {
		return nil, invalidf("name of a %s %q contains a NUL", what, name)
	}
	return &b[0], nil
}

func textAt(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CanLoad checks whether the installed driver accepts PTX text for the context's device. It
// compares the version and target in the PTX header and does not load it. If the driver would
// reject the PTX, the error is a [*ptx.UnmetError] with the reason and the remedy. It matches the
// code that the driver would return. For a cubin or fat binary, CanLoad only makes the checks that
// a load makes before it calls the driver. Loads do not call CanLoad, because a newer driver may
// accept more. If the driver rejects a load, the error contains the same explanation.
func (c *Context) CanLoad(data []byte) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("cannot tell whether the image loads: %w", err)
	}
	img, err := newLoadable(data)
	if err != nil {
		return fmt.Errorf("cannot be loaded: %w", err)
	}
	if img.kind != image.PTX {
		return nil
	}
	unmet, err := c.unmet(imageNeeds(img))
	if err != nil {
		return fmt.Errorf("cannot tell whether the image loads: %w", err)
	}
	if unmet != nil {
		return fmt.Errorf("%v cannot load this PTX: %w (%w)", c, unmet, refusal(unmet))
	}
	return nil
}

// imageNeeds reads the requirements in the header. It does not validate the rest of the PTX.
func imageNeeds(img loadable) ptx.Needs {
	info, _ := ptx.Signatures(img.ptx())
	return info.Needs()
}

// unmet returns the requirement that the driver or the device does not meet, or nil.
func (c *Context) unmet(n ptx.Needs) (*ptx.UnmetError, error) {
	major, minor, err := c.Device().ComputeCapability()
	if err != nil {
		return nil, err
	}
	var unmet *ptx.UnmetError
	errors.As(n.Check(c.Driver().Version(), major, minor), &unmet)
	return unmet, nil
}

// refusal returns the code with which drivers reject PTX because of this unmet requirement.
func refusal(e *ptx.UnmetError) CUresult {
	if e.Kind == ptx.UnmetVersion {
		return CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	}
	return CUDA_ERROR_INVALID_PTX
}

// explainNeeds replaces the hint in the error of a rejected load with the unmet requirement, if
// that requirement can explain the driver's code. It keeps the driver's log.
func (c *Context) explainNeeds(err error, n ptx.Needs) error {
	var e *Error
	if !errors.As(err, &e) || e.Missing || n == (ptx.Needs{}) { // binaries have no requirements
		return err
	}
	switch e.Result {
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU:
	default:
		return err
	}
	unmet, _ := c.unmet(n)
	if unmet == nil {
		return err
	}
	explained := *e
	explained.Hint = unmet.Error()
	return &explained
}
