package emulator

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
)

// linkState is a linker: a CUlinkState. Its log buffers belong to the caller and are written until
// it is destroyed.
type linkState struct {
	handle   uintptr
	ctx      *cudaContext
	opts     jitOptions
	room     uintptr // of the error log
	log      []string
	count    int // of calls that add
	inputs   []source
	trees    []*ptx.Module
	names    linkTable
	broken   result // an input contradicted another: every later call returns this
	complete bool
	image    []byte
}

func (l *linkState) owner() *cudaContext { return l.ctx }

func (l *linkState) destroy() {}

var linkFunctions = functions{
	"cuLinkCreate_v2":  {cuLinkCreate, current},
	"cuLinkAddData_v2": {cuLinkAddData, current},
	"cuLinkAddFile_v2": {cuLinkAddFile, current},
	"cuLinkComplete":   {cuLinkComplete, current},
	"cuLinkDestroy":    {cuLinkDestroy, current},
}

func cuLinkCreate(c call) result {
	n := int(c.Uint32(0))
	options := list[cu.CUjit_option](c, 1, n)
	opts, r := readJITOptions(options, list[unsafe.Pointer](c, 2, n), n)
	switch {
	case r != success:
		return r
	case c.Ptr(3) == nil:
		return errInvalidValue
	}
	for _, o := range options {
		if o == cu.CU_JIT_FALLBACK_STRATEGY {
			return errInvalidValue
		}
	}
	l := &linkState{ctx: c.ctx, opts: opts, names: linkTable{}}
	if opts.err.size != nil {
		l.room = *opts.err.size
	}
	l.clearSizes()
	l.handle = c.e.register(l)
	return put(c, 3, l.handle)
}

// clearSizes marks the logs as empty.
func (l *linkState) clearSizes() {
	for _, size := range []*uintptr{l.opts.info.size, l.opts.err.size} {
		if size != nil {
			*size = 0
		}
	}
}

// complain adds to the error log, which grows over all calls.
func (l *linkState) complain(lines ...string) {
	l.log = append(l.log, lines...)
	if l.opts.err.size != nil {
		*l.opts.err.size = l.room
		l.opts.err.write(strings.Join(l.log, "\n"))
		if *l.opts.err.size == l.room && l.room > 0 { // cut; a linker does not count the NUL
			*l.opts.err.size--
		}
	}
}

// refuse stores the error of a contradiction between inputs, which ends the linking.
func (l *linkState) refuse(r result, lines ...string) result {
	l.broken = r
	l.complain(lines...)
	return r
}

func cuLinkAddData(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	data, size := c.Ptr(2), int(c.Uint64(3))
	if r := addOptions(c, 5); r != success {
		return r
	}
	if data == nil || size == 0 {
		return errInvalidValue
	}
	l.count++
	name, ok := c.text(4)
	if !ok {
		name = fmt.Sprintf("Input %d", l.count)
	}
	return l.add(cu.CUjitInputType(c.Uint32(1)), name, strings.Clone(unsafe.String((*byte)(data), size)))
}

func cuLinkAddFile(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	name, ok := c.text(2)
	if r := addOptions(c, 3); r != success || !ok {
		return errInvalidValue
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return cu.CUDA_ERROR_FILE_NOT_FOUND
	}
	return l.add(cu.CUjitInputType(c.Uint32(1)), name, string(data))
}

// addOptions reads the options of one input. Argument i is their number. Log buffers are options of
// the linker.
func addOptions(c call, i int) result {
	n := int(c.Uint32(i))
	opts, r := readJITOptions(list[cu.CUjit_option](c, i+1, n), list[unsafe.Pointer](c, i+2, n), n)
	if opts.info != (jitLog{}) || opts.err != (jitLog{}) {
		return errInvalidValue
	}
	return r
}

// add takes an input of the linker. An input that is invalid on its own is left out. One that
// contradicts other inputs ends the linking. Driver 580 does both.
func (l *linkState) add(kind cu.CUjitInputType, name, data string) result {
	switch {
	case l.complete:
		return errInvalidValue
	case l.broken != success:
		return l.broken
	}
	switch kind {
	case cu.CU_JIT_INPUT_PTX:
		text, _, _ := strings.Cut(data, "\x00")
		return l.addSource(source{name, text})
	case cu.CU_JIT_INPUT_CUBIN:
		return l.addCubin(data)
	case cu.CU_JIT_INPUT_FATBINARY:
		return l.addFatbin(name, data)
	case cu.CU_JIT_INPUT_OBJECT, cu.CU_JIT_INPUT_LIBRARY:
		l.ctx.e.say(slog.LevelError, "input refused", "input", name, "reason", "the emulator links PTX only")
		return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
	case cu.CU_JIT_INPUT_NVVM:
		return l.refuse(cu.CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
	}
	return errInvalidValue
}

// addCubin rejects cubins. There is no machine code for this device, and the output of a linker
// cannot be linked again.
func (l *linkState) addCubin(data string) result {
	if !strings.HasPrefix(data, "\x7fELF") {
		return l.refuse(errInvalidImage)
	}
	return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
}

func (l *linkState) addFatbin(name, data string) result {
	if len(data) < 16 {
		return l.refuse(errInvalidImage)
	}
	sources, err := fatbinSource(sizedImage(unsafe.Slice(unsafe.StringData(data), len(data))), l.ctx.e.compileOptions(l.ctx.dev).ComputeCapability)
	if err != nil {
		l.ctx.e.say(slog.LevelError, "input refused", "input", name, "reason", err.Error())
		return l.refuse(cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
	}
	return l.addSource(source{name, sources[0].text})
}

func (l *linkState) addSource(s source) result {
	tree, r := l.check(s)
	if r != success {
		return r
	}
	if wrong := l.names.add(s.name, tree); len(wrong) > 0 {
		return l.refuse(errInvalidSource, wrong...)
	}
	l.inputs, l.trees = append(l.inputs, s), append(l.trees, tree)
	return success
}

// check compiles an input on its own, except for what it needs from others.
func (l *linkState) check(s source) (tree *ptx.Module, r result) {
	e := l.ctx.e
	var err error
	opts := e.compileOptions(l.ctx.dev)
	e.unlocked(func() {
		if tree, r, err = parsePTX("ptx input", s.text); err == nil {
			r, err = e.accepts(tree)
		}
		if err == nil {
			err = compileAlone(opts, tree)
			r = compileResult(err)
		}
	})
	if err == nil {
		return tree, success
	}
	l.complain(strings.TrimRight(jitText(err), "\n"))
	return nil, r
}

// compileAlone returns the errors that do not depend on other inputs.
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

func cuLinkComplete(c call) result {
	l := handleAt[linkState](c, 0)
	switch {
	case l == nil:
		return errInvalidHandle
	case c.Ptr(1) == nil:
		return errInvalidValue
	case l.complete:
		return errInvalidHandle
	case l.broken != success:
		return l.broken
	}
	if r := l.link(); r != success {
		return r
	}
	if size := at[uintptr](c, 2); size != nil {
		*size = uintptr(len(l.image))
	}
	return put(c, 1, unsafe.Pointer(&l.image[0]))
}

// link checks that everything is defined and compiles all inputs together.
func (l *linkState) link() result {
	e := l.ctx.e
	opts := e.compileOptions(l.ctx.dev)
	var missing []string
	for i, s := range l.inputs {
		missing = append(missing, l.names.undefined(s.name, l.trees[i], opts.Externs)...)
	}
	if len(missing) > 0 {
		return l.refuse(errInvalidSource, missing...)
	}
	var err error
	e.unlocked(func() {
		var code *vm.Module
		if code, err = vm.Compile(opts, l.trees...); err == nil {
			err = code.Close()
		}
	})
	if err != nil {
		return l.refuse(compileResult(err), strings.TrimRight(jitText(err), "\n"))
	}
	l.complete, l.image = true, writeImage(opts.ComputeCapability, l.inputs)
	return success
}

func cuLinkDestroy(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	c.e.forget(l.handle)
	return success
}
