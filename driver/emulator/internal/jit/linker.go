package jit

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

// Linker is the state of a CUlinkState. The caller owns the log buffers, and the linker writes to
// them until it is destroyed. Methods must not be called concurrently, except while one of them is
// in LinkTarget.Slowly.
type Linker struct {
	opts     Options
	room     uintptr // size of the error log's buffer, in bytes
	log      []string
	inputs   []Source
	trees    []*ptx.Module
	names    symbols
	broken   result // set if inputs contradict each other; every later call then returns it
	complete bool
	image    []byte
}

// LinkTarget describes the target for which the inputs of a linker are compiled.
type LinkTarget struct {
	Target
	Slowly  func(func())               // runs a slow function with the caller's lock released
	Refused func(input, reason string) // called for each input that needs a GPU
}

// NewLinker returns a linker that writes its messages into the buffers of opts.
func NewLinker(opts Options) *Linker {
	l := &Linker{opts: opts, names: symbols{}}
	if opts.err.size != nil {
		l.room = *opts.err.size
	}
	l.clearSizes()
	return l
}

func (l *Linker) clearSizes() {
	for _, size := range []*uintptr{l.opts.info.size, l.opts.err.size} {
		if size != nil {
			*size = 0
		}
	}
}

// complain appends to the error log, which accumulates the messages from all calls.
func (l *Linker) complain(lines ...string) {
	l.log = append(l.log, lines...)
	if l.opts.err.size != nil {
		*l.opts.err.size = l.room
		l.opts.err.write(strings.Join(l.log, "\n"))
		if *l.opts.err.size == l.room && l.room > 0 { // the text was truncated; a linker does not count the NUL
			*l.opts.err.size--
		}
	}
}

// refuse records that inputs contradict each other. All later calls then return the same error.
func (l *Linker) refuse(r result, lines ...string) result {
	l.broken = r
	l.complain(lines...)
	return r
}

// Add adds an input. Add leaves out an input that is invalid on its own. If an input contradicts
// other inputs, all later calls fail. Driver 580 behaves in the same way.
func (l *Linker) Add(t LinkTarget, kind cu.CUjitInputType, name, data string) result {
	switch {
	case l.complete:
		return errInvalidValue
	case l.broken != success:
		return l.broken
	}
	switch kind {
	case cu.CU_JIT_INPUT_PTX:
		text, _, _ := strings.Cut(data, "\x00")
		return l.addSource(t, Source{name, text})
	case cu.CU_JIT_INPUT_CUBIN:
		return l.addCubin(data)
	case cu.CU_JIT_INPUT_FATBINARY:
		return l.addFatbin(t, name, data)
	case cu.CU_JIT_INPUT_OBJECT, cu.CU_JIT_INPUT_LIBRARY:
		t.Refused(name, "the emulator links PTX only")
		return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
	case cu.CU_JIT_INPUT_NVVM:
		return l.refuse(cu.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
	}
	return errInvalidValue
}

// addCubin rejects every cubin. Machine code does not run on this device, and the output of a
// linker cannot be linked again.
func (l *Linker) addCubin(data string) result {
	if !strings.HasPrefix(data, "\x7fELF") {
		return l.refuse(errInvalidImage)
	}
	return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
}

func (l *Linker) addFatbin(t LinkTarget, name, data string) result {
	if len(data) < 16 {
		return l.refuse(errInvalidImage)
	}
	sources, err := fatbinSource(Sized(unsafe.Slice(unsafe.StringData(data), len(data))), t.Engine.ComputeCapability)
	if err != nil {
		t.Refused(name, err.Error())
		return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
	}
	return l.addSource(t, Source{name, sources[0].Text})
}

func (l *Linker) addSource(t LinkTarget, s Source) result {
	tree, r := l.check(t, s)
	if r != success {
		return r
	}
	if wrong := l.names.add(s.Name, tree); len(wrong) > 0 {
		return l.refuse(errInvalidSource, wrong...)
	}
	l.inputs, l.trees = append(l.inputs, s), append(l.trees, tree)
	return success
}

// check compiles an input on its own. It ignores undefined names, because other inputs must define
// them.
func (l *Linker) check(t LinkTarget, s Source) (tree *ptx.Module, r result) {
	var err error
	t.Slowly(func() {
		if tree, r, err = parsePTX("ptx input", s.Text); err == nil {
			r, err = t.accepts(tree)
		}
		if err == nil {
			err = compileAlone(t.Engine, tree)
			r = compileResult(err)
		}
	})
	if err == nil {
		return tree, success
	}
	l.complain(strings.TrimRight(Text(err), "\n"))
	return nil, r
}

// compileAlone returns only errors that do not depend on other inputs.
func compileAlone(opts vm.CompileOptions, tree *ptx.Module) error {
	code, err := vm.Compile(opts, tree)
	if err == nil {
		return code.Close()
	}
	var all, own vm.CompileErrors
	if !errors.As(err, &all) {
		return err
	}
	for _, e := range all {
		if e.Kind != vm.CompileUnresolved {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return own
}

// Complete links the inputs and returns the linked image and the result code.
func (l *Linker) Complete(t LinkTarget) ([]byte, cu.CUresult) {
	switch {
	case l.complete:
		return nil, errInvalidHandle
	case l.broken != success:
		return nil, l.broken
	}
	r := l.link(t)
	return l.image, r
}

// link checks that all referenced names are defined and compiles all inputs together.
func (l *Linker) link(t LinkTarget) result {
	var missing []string
	for i, s := range l.inputs {
		missing = append(missing, l.names.undefined(s.Name, l.trees[i], t.Engine.Externs)...)
	}
	if len(missing) > 0 {
		return l.refuse(errInvalidSource, missing...)
	}
	var err error
	t.Slowly(func() {
		var code *vm.Module
		if code, err = vm.Compile(t.Engine, l.trees...); err == nil {
			err = code.Close()
		}
	})
	if err != nil {
		return l.refuse(compileResult(err), strings.TrimRight(Text(err), "\n"))
	}
	l.complete, l.image = true, writeImage(t.Engine.ComputeCapability, l.inputs)
	return success
}
