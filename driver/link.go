package driver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/purecuda/cuda/ptx"
)

// linkerLog is for all inputs of a linker together: unlike a load, linking
// cannot be repeated when a log was cut, because inputs are not kept.
var linkerLog = logSize{info: 64 << 10, err: 256 << 10}

// Linker joins several images into one: what one of them declares extern is
// found in another. It takes PTX, which it compiles, relocatable cubins, fat
// binaries, object files and archives. Complete gives the image; Close ends the
// Linker, which holds memory of the driver until then.
//
// Its methods may be called by several goroutines; one call is made at a time.
type Linker struct {
	life *Lifetime
	ctx  *Context
	raw  CUlinkState
	jit  *jit // its logs are written as long as the state exists

	mu     sync.Mutex
	inputs int
	sigs   map[string]*ptx.Signature
	binary bool  // an input is no PTX: sigs has not all kernels
	broken error // of the first input that was refused
	image  []byte
}

// NewLinker makes a linker for the context's device, or with JITTarget for
// another. Options hold for all inputs. JITFallback is none of a linker's.
func (c *Context) NewLinker(opts ...JITOption) (*Linker, error) {
	if err := notInCallback(); err != nil {
		return nil, err
	}
	life, err := NewLifetime(c, "linker")
	if err != nil {
		return nil, err
	}
	j, err := newJIT(opts, linkerLog)
	if err != nil {
		return nil, life.Abandon(err)
	}
	if j.has(CU_JIT_FALLBACK_STRATEGY) {
		j.close()
		return nil, life.Abandon(invalidf("JITFallback is no option of a linker, which takes code for exactly its target"))
	}
	l := &Linker{life: life, ctx: c, jit: j, sigs: make(map[string]*ptx.Signature)}
	err = c.Driver().CuLinkCreate(j.count(), j.optionList(), j.valueList(), &l.raw)
	if err != nil {
		j.close()
		return nil, life.Abandon(err)
	}
	raw := l.raw
	Own(l, life, uint64(raw), func(d *Driver) error {
		defer j.close()
		return d.CuLinkDestroy(raw)
	})
	return l, nil
}

// Add compiles or reads an input, whose kind it recognises: PTX, a cubin, a fat
// binary, an object file or an archive. The name stands for the input in the
// log; with "" it is numbered. Options hold for this input besides the
// linker's own; they take no part in linking.
//
// What the input defines must not be defined by another one. An error is an
// [*Error] with the log, or one of the checks that NewImage makes too. After it
// the linker takes and gives nothing more: a driver would leave the input out.
func (l *Linker) Add(name string, data []byte, opts ...JITOption) error {
	if err := l.hold(); err != nil {
		return err
	}
	defer l.life.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return err
	}
	l.inputs++
	if name == "" {
		name = fmt.Sprintf("input %d", l.inputs)
	}
	err := l.add(name, data, opts)
	if err != nil {
		l.broken = err
	}
	return err
}

// AddFile is Add with the contents of a file and its name.
func (l *Linker) AddFile(file string, opts ...JITOption) error {
	if err := l.check(); err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot link: %w", err)
	}
	return l.Add(filepath.Base(file), data, opts...)
}

// AddImage is Add with an image.
func (l *Linker) AddImage(i *Image, opts ...JITOption) error {
	if i == nil {
		return nilError("image")
	}
	return l.Add(i.name, i.code.data, opts...)
}

// open refuses inputs where they come too late.
func (l *Linker) open() error {
	switch {
	case l.broken != nil:
		return fmt.Errorf("%v has refused an input before: %w", l.life, l.broken)
	case l.image != nil:
		return invalidf("%v is complete and takes no more inputs; make another one", l.life)
	}
	return nil
}

func (l *Linker) add(name string, data []byte, opts []JITOption) error {
	in, err := newLinkInput(data)
	if err != nil {
		return fmt.Errorf("cannot link %q: %w", name, err)
	}
	symbol, err := cName("linker's input", name)
	if err != nil {
		return err
	}
	own := &jit{}
	if err := own.apply(opts); err != nil {
		return fmt.Errorf("cannot link %q: %w", name, err)
	}
	err = l.ctx.Driver().CuLinkAddData(l.raw, in.kind, in.code.ptr(), uintptr(len(in.code.data)),
		symbol, own.count(), own.optionList(), own.valueList())
	runtime.KeepAlive(own)
	own.answered()
	if err != nil {
		return l.explain(err, name, in.code.ptx())
	}
	l.learn(in)
	return nil
}

// learn keeps what the PTX says about its kernels.
func (l *Linker) learn(in linkInput) {
	if in.code.format != formatPTX {
		l.binary = true
		return
	}
	for name, s := range readSignatures(in.code) {
		l.sigs[name] = s
	}
}

// explain adds the log to an error, and the input's name where it lacks it.
func (l *Linker) explain(err error, name string, text []byte) error {
	err = l.jit.explain(err, text)
	e, ok := err.(*Error)
	if !ok || name == "" || strings.Contains(e.Hint, "'"+name+"'") {
		return err
	}
	named := *e
	named.Hint = name + ": " + e.Hint
	return &named
}

// Complete links the inputs and returns the image, a cubin. It may be called
// again and returns the same bytes. What no input defines is an error whose log
// names it.
func (l *Linker) Complete() ([]byte, error) {
	if err := l.hold(); err != nil {
		return nil, err
	}
	defer l.life.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.image != nil {
		return l.image, nil
	}
	if l.broken != nil {
		return nil, l.open()
	}
	var at unsafe.Pointer
	var size uintptr
	if err := l.ctx.Driver().CuLinkComplete(l.raw, &at, &size); err != nil {
		l.broken = l.explain(err, "", nil)
		return nil, l.broken
	}
	l.jit.answered()
	l.image = append([]byte{}, unsafe.Slice((*byte)(at), size)...) // the state owns the driver's
	return l.image, nil
}

// Load completes the linking and loads the result. Kernels that came from PTX
// keep the names and types of their parameters if all inputs were PTX.
func (l *Linker) Load(opts ...JITOption) (*Module, error) {
	data, err := l.Complete()
	if err != nil {
		return nil, err
	}
	img, err := newImage(data)
	if err != nil {
		return nil, fmt.Errorf("what was linked is no image: %w", err)
	}
	m, err := l.ctx.loadModule(l.ctx.Driver(), img, opts)
	if err == nil && !l.binary {
		m.code.sigs = l.sigs
	}
	return m, err
}

// Log is what compiler and linker printed without failing: warnings, and with
// JITVerbose the registers and memory of each kernel.
func (l *Linker) Log() string {
	if l == nil || l.life == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return cString(l.jit.info)
}

// Raw returns the driver's handle, 0 for a nil linker.
func (l *Linker) Raw() CUlinkState {
	if l == nil {
		return 0
	}
	return l.raw
}

// Close gives the linker's memory back. The image stays valid.
func (l *Linker) Close() error {
	if l == nil || l.life == nil {
		return nil
	}
	err := l.life.Close()
	runtime.KeepAlive(l)
	return err
}

// String names the linker.
func (l *Linker) String() string {
	if l == nil || l.life == nil {
		return "nil linker"
	}
	return l.life.String()
}

// hold keeps the driver's state for a call that may take long.
func (l *Linker) hold() error {
	if err := l.check(); err != nil {
		return err
	}
	return l.life.Retain()
}

func (l *Linker) check() error {
	if l == nil || l.life == nil {
		return nilError("linker")
	}
	return l.life.Check()
}
