// Package jit is the emulated driver's JIT compiler and linker. Package vm executes the compiled
// code. Package jit finds the PTX in an image, rejects code that NVIDIA's compiler rejects, and
// writes the same messages.
package jit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator/internal/vm"
	"github.com/purecuda/cuda/ptx"
	"github.com/purecuda/cuda/ptx/isa"
)

type result = cu.CUresult

const (
	success          = cu.CUDA_SUCCESS
	errInvalidValue  = cu.CUDA_ERROR_INVALID_VALUE
	errInvalidHandle = cu.CUDA_ERROR_INVALID_HANDLE
	errInvalidImage  = cu.CUDA_ERROR_INVALID_IMAGE
	errInvalidSource = cu.CUDA_ERROR_INVALID_SOURCE
	errInvalidPTX    = cu.CUDA_ERROR_INVALID_PTX
)

// Target is the driver version and the device for which code is compiled.
type Target struct {
	DriverVersion int
	Capability    [2]int // major and minor version
	Engine        vm.CompileOptions
}

// Compile compiles the sources of a module. If it fails, it also returns the result code that a
// driver would return.
func (t Target) Compile(sources []Source) (*vm.Module, cu.CUresult, error) {
	trees, r, err := parseAll(sources)
	if err == nil {
		r, err = t.accepts(trees...)
	}
	if err == nil {
		err = vm.CheckNumbers(t.Engine, trees...)
		r = compileResult(err)
	}
	if err == nil {
		r, err = t.checkISA(trees)
	}
	if err != nil {
		return nil, r, err
	}
	code, err := vm.Compile(t.Engine, trees...)
	return code, compileResult(err), err
}

func parseAll(sources []Source) ([]*ptx.Module, result, error) {
	trees := make([]*ptx.Module, len(sources))
	for i, s := range sources {
		tree, r, err := parsePTX(s.Name, s.Text)
		if err != nil {
			return nil, r, err
		}
		trees[i] = tree
	}
	return trees, success, nil
}

// parsePTX parses PTX. If the PTX is invalid, it also returns the result code that a driver
// would return.
func parsePTX(name, source string) (*ptx.Module, result, error) {
	if !strings.Contains(source, ".version") {
		return nil, errInvalidImage, errors.New("the image is neither PTX (there is no .version) nor a binary")
	} else if err := asciiOnly(source); err != nil {
		return nil, errInvalidPTX, err
	}
	tree, err := ptx.Parse(name, []byte(source))
	if err != nil {
		return nil, errInvalidPTX, err
	}
	return tree, success, nil
}

// checkISA rejects code that NVIDIA's compiler would reject, even in functions that are never
// called.
func (t Target) checkISA(trees []*ptx.Module) (result, error) {
	arch := fmt.Sprintf("sm_%d%d", t.Capability[0], t.Capability[1])
	for _, tree := range trees {
		if err := isa.CheckFor(tree, arch); err != nil {
			return errInvalidPTX, err
		}
	}
	return success, nil
}

// compileResult returns the result code that corresponds to the first compile error.
func compileResult(err error) result {
	var all vm.CompileErrors
	switch {
	case err == nil:
		return success
	case !errors.As(err, &all) || len(all) == 0:
		return errInvalidPTX
	}
	switch all[0].Kind {
	case vm.CompileMemory:
		return cu.CUDA_ERROR_OUT_OF_MEMORY
	case vm.CompileUnsupported:
		return cu.CUDA_ERROR_NOT_SUPPORTED
	}
	return errInvalidPTX
}

// Text formats errors as ptxas does, so that tools that parse a JIT log find the line.
func Text(err error) string {
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

// accepts checks the headers of modules. A driver accepts PTX versions up to the newest one that it
// supports, and targets whose code the device can run.
func (t Target) accepts(trees ...*ptx.Module) (result, error) {
	for _, tree := range trees {
		err := tree.Needs().Check(t.DriverVersion, t.Capability[0], t.Capability[1])
		var unmet *ptx.UnmetError
		switch {
		case !errors.As(err, &unmet):
		case unmet.Kind == ptx.UnmetVersion:
			return cu.CUDA_ERROR_UNSUPPORTED_PTX_VERSION, err
		default:
			return errInvalidPTX, err
		}
	}
	return success, nil
}

// asciiOnly rejects non-ASCII characters, even in comments, as driver 580 does. ptxas 11.8 accepts
// them in comments.
func asciiOnly(source string) error {
	at := strings.IndexFunc(source, func(r rune) bool { return r >= 0x80 })
	if at < 0 {
		return nil
	}
	//lint:ignore ST1005 the words of the driver
	return fmt.Errorf("Unexpected non-ASCII character encountered on line %d", 1+strings.Count(source[:at], "\n"))
}
