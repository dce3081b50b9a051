package emulator

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

// jitOptions are the load options that have an effect here: the buffers for the compiler's
// messages. They are used only during the call.
type jitOptions struct {
	info, err jitLog
	wallTime  *float32
}

// jitLog is a log buffer of the caller. The size is replaced by the number of bytes written.
type jitLog struct {
	buf  unsafe.Pointer
	size *uintptr
}

// readJITOptions reads parallel arrays of options and values. A value is a pointer, or a number
// stored as a pointer.
func readJITOptions(options []cu.CUjit_option, values []unsafe.Pointer, n int) (jitOptions, result) {
	var o jitOptions
	if n > 0 && (options == nil || values == nil) {
		return o, errInvalidValue
	}
	for i, option := range options {
		number := (*uintptr)(unsafe.Pointer(&values[i]))
		switch option {
		case cu.CU_JIT_INFO_LOG_BUFFER:
			o.info.buf = values[i]
		case cu.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
			o.info.size = number
		case cu.CU_JIT_ERROR_LOG_BUFFER:
			o.err.buf = values[i]
		case cu.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			o.err.size = number
		case cu.CU_JIT_WALL_TIME:
			o.wallTime = (*float32)(unsafe.Pointer(&values[i]))
		default:
			if option >= cu.CU_JIT_NUM_OPTIONS {
				return o, errInvalidValue
			}
		}
	}
	return o, success
}

// write writes text into the caller's buffer, cut to its size.
func (l *jitLog) write(text string) {
	if l.buf == nil || l.size == nil || *l.size == 0 {
		return
	}
	dst := unsafe.Slice((*byte)(l.buf), uint32(*l.size))
	text = strings.TrimRight(text, "\n")
	n := copy(dst[:len(dst)-1], text)
	dst[n] = 0
	if n == len(text) { // otherwise the log is cut and the buffer is full
		*l.size = uintptr(n)
	}
}

// readImage copies what a load function was given, if it is PTX, plain, in a fat binary or linked
// here. Everything else needs a GPU.
func (e *Emulator) readImage(image rawImage, o *jitOptions) ([]source, result) {
	const (
		elf        = 0x464c457f
		fatbin     = 0xba55ed50
		fatWrapper = 0x466243b1
	)
	switch image.magic() {
	case elf:
		if sources := linkedSources(image); sources != nil {
			return sources, success
		}
		return nil, e.refuseImage(o, "a cubin holds machine code of a GPU")
	case fatbin:
		sources, err := fatbinSource(image, e.compileOptions(e.devices[0]).ComputeCapability)
		if err != nil {
			return nil, e.refuseImage(o, err.Error())
		}
		return sources, success
	case fatWrapper:
		return nil, e.refuseImage(o, "this is the C wrapper of a fat binary, not the fat binary")
	}
	text, ok := image.text()
	if !ok {
		return nil, errInvalidImage
	}
	return plainSource(text), success
}

func (e *Emulator) refuseImage(o *jitOptions, why string) result {
	msg := why + ": the emulator executes PTX text only; compile with nvcc -ptx or keep the PTX"
	o.err.write(msg)
	e.say(slog.LevelError, "module refused", "reason", msg)
	return cu.CUDA_ERROR_NO_BINARY_FOR_GPU
}

// compile compiles sources for the context. Compiling takes time, so the lock is released
// meanwhile.
func (ctx *cudaContext) compile(sources []source, o *jitOptions) (code *vm.Module, r result) {
	e := ctx.e
	var err error
	options := e.compileOptions(ctx.dev)
	e.unlocked(func() {
		var trees []*ptx.Module
		if trees, r, err = parseAll(sources); err == nil {
			r, err = e.accepts(trees...)
		}
		if err == nil {
			err = vm.CheckNumbers(options, trees...)
			r = compileResult(err)
		}
		if err == nil {
			r, err = checkISA(trees, e.cfg.ComputeCapability)
		}
		if err == nil {
			code, err = vm.Compile(options, trees...)
			r = compileResult(err)
		}
	})
	if err == nil {
		return code, success
	}
	log := jitText(err)
	o.err.write(log)
	e.say(slog.LevelError, "module refused", "result", uint32(r), "log", log)
	return nil, r
}

func (e *Emulator) compileOptions(d *device) vm.CompileOptions {
	return vm.CompileOptions{
		Memory:            e.mem,
		Device:            d.ordinal,
		ComputeCapability: e.cfg.ComputeCapability[0]*10 + e.cfg.ComputeCapability[1],
		Externs:           map[string]vm.Extern{"cudaGraphSetConditional": setConditional},
		Tag:               "a module's variable",
		MemoryLimit:       max(d.left(), 1),
		VariableLimit:     e.cfg.Limits.Variables,
	}
}

// parsePTX parses the text. If the text is invalid, the result is the code that a driver would
// return.
func parsePTX(name, source string) (*ptx.Module, result, error) {
	if !strings.Contains(source, ".version") {
		return nil, errInvalidImage, errors.New("the image is neither PTX (there is no .version) nor a binary")
	} else if err := asciiOnly(source); err != nil {
		return nil, cu.CUDA_ERROR_INVALID_PTX, err
	}
	tree, err := ptx.Parse(name, []byte(source))
	if err != nil {
		return nil, cu.CUDA_ERROR_INVALID_PTX, err
	}
	return tree, success, nil
}

// checkISA rejects what NVIDIA's compiler would reject, even in functions that are never called.
func checkISA(trees []*ptx.Module, capability [2]int) (result, error) {
	arch := fmt.Sprintf("sm_%d%d", capability[0], capability[1])
	for _, tree := range trees {
		if err := isa.CheckFor(tree, arch); err != nil {
			return cu.CUDA_ERROR_INVALID_PTX, err
		}
	}
	return success, nil
}

// compileResult returns the code for the first compile error.
func compileResult(err error) result {
	var all vm.CompileErrors
	switch {
	case err == nil:
		return success
	case !errors.As(err, &all) || len(all) == 0:
		return cu.CUDA_ERROR_INVALID_PTX
	}
	switch all[0].Kind {
	case vm.CompileMemory:
		return errOutOfMemory
	case vm.CompileUnsupported:
		return errNotSupported
	}
	return cu.CUDA_ERROR_INVALID_PTX
}

// jitText formats errors the way ptxas does, so that tools that parse a JIT log find the line.
func jitText(err error) string {
	var b strings.Builder
	line := func(n int, msg string) {
		if n > 0 {
			fmt.Fprintf(&b, "ptxas application ptx input, line %d; error   : %s\n", n, msg)
		} else {
			fmt.Fprintf(&b, "ptxas fatal   : %s\n", msg)
		}
	}
	var syntax ptx.Errors
	var compile vm.CompileErrors
	var rules isa.Errors
	switch {
	case errors.As(err, &rules):
		for _, e := range rules {
			line(int(e.Pos.Line), e.Problem)
		}
	case errors.As(err, &syntax):
		for _, e := range syntax {
			line(int(e.Pos.Line), syntaxText(e))
		}
	case errors.As(err, &compile):
		for _, e := range compile {
			line(e.Line, e.Msg)
		}
	default:
		line(0, err.Error())
		return b.String()
	}
	b.WriteString("ptxas fatal   : Ptx assembly aborted due to errors\n")
	return b.String()
}

func syntaxText(e *ptx.Error) string {
	if e.Problem != "" {
		return e.Problem
	}
	return fmt.Sprintf("expected %s, found %s", e.Expected, e.Found)
}
