package emulator

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"unsafe"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/jit"
)

// linkState is a linker: a CUlinkState.
type linkState struct {
	*jit.Linker
	handle uintptr
	ctx    *cudaContext
	count  int // of calls that add
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
	opts, r := jit.ReadOptions(options, list[unsafe.Pointer](c, 2, n), n)
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
	l := &linkState{Linker: jit.NewLinker(opts), ctx: c.ctx}
	l.handle = c.e.register(l)
	return put(c, 3, l.handle)
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
	return l.Add(l.target(), cu.CUjitInputType(c.Uint32(1)), name, strings.Clone(unsafe.String((*byte)(data), size)))
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
	return l.Add(l.target(), cu.CUjitInputType(c.Uint32(1)), name, string(data))
}

// addOptions reads the options of one input. Argument i is their number. Log buffers are options of
// the linker.
func addOptions(c call, i int) result {
	n := int(c.Uint32(i))
	opts, r := jit.ReadOptions(list[cu.CUjit_option](c, i+1, n), list[unsafe.Pointer](c, i+2, n), n)
	if opts.HasLogs() {
		return errInvalidValue
	}
	return r
}

// target returns what the linker compiles for.
func (l *linkState) target() jit.LinkTarget {
	e := l.ctx.e
	return jit.LinkTarget{
		Target: e.target(l.ctx.dev),
		Slowly: e.unlocked,
		Refused: func(input, reason string) {
			e.say(slog.LevelError, "input refused", "input", input, "reason", reason)
		},
	}
}

func cuLinkComplete(c call) result {
	l := handleAt[linkState](c, 0)
	switch {
	case l == nil:
		return errInvalidHandle
	case c.Ptr(1) == nil:
		return errInvalidValue
	}
	image, r := l.Complete(l.target())
	if r != success {
		return r
	}
	if size := at[uintptr](c, 2); size != nil {
		*size = uintptr(len(image))
	}
	return put(c, 1, unsafe.Pointer(&image[0]))
}

func cuLinkDestroy(c call) result {
	l := handleAt[linkState](c, 0)
	if l == nil {
		return errInvalidHandle
	}
	c.e.forget(l.handle)
	return success
}
