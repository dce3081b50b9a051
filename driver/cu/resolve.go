package cu

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/loader"
)

// libraryVersion returns the CUDA version that a library supports. It returns an error if the
// version is too old.
func libraryVersion(lib loader.Library) (int, error) {
	p, err := lib.Lookup(FnCuDriverGetVersion.Symbol())
	if err != nil {
		return 0, fmt.Errorf("%s is not a CUDA driver: %w", lib.Name(), err)
	}
	return procVersion(lib.Name(), p)
}

// procVersion calls cuDriverGetVersion, which is allowed before cuInit.
func procVersion(library string, p loader.Proc) (int, error) {
	var version int32
	a := struct {
		c       loader.Call
		version *int32
		_       [7]uintptr
	}{c: loader.Call{Proc: &p, N: 1}, version: &version}
	if code := CUresult(uint32(loader.Invoke(&a.c))); code != CUDA_SUCCESS {
		return 0, fmt.Errorf("cannot use %s: %w", library, &Error{
			Func: FnCuDriverGetVersion, Result: code, Hint: initHint(code),
		})
	}
	if version < MinVersion {
		return 0, fmt.Errorf("%s is too old: it supports CUDA %s, and %s (NVIDIA's driver 470) is needed; install a newer driver: %w",
			library, cudaVersion(int(version)), cudaVersion(MinVersion), ErrDriverTooOld)
	}
	return int(version), nil
}

// directLibrary is a Library that looks up a Function directly, not by its symbol. For a function
// that it does not have, it returns a zero Proc.
type directLibrary interface {
	lookupFunction(f Function) loader.Proc
}

// resolve fills the table. It omits functions that are newer than the library's reported version,
// even if the library returns an address for them. If asked for a CUDA version newer than itself, a
// driver returns the newest ABI that it has. A call would then pass the wrong arguments.
func (t *functions) resolve(lib loader.Library, version int) error {
	direct, _ := lib.(directLibrary)
	table := t.slice()
	for f := range Function(functionCount) {
		if int(functionTable[f].since) > version {
			continue
		}
		if direct != nil {
			table[f] = direct.lookupFunction(f)
			continue
		}
		p, err := lib.Lookup(f.Symbol())
		if err != nil && !errors.Is(err, loader.ErrSymbolNotFound) {
			return fmt.Errorf("%s: %w", lib.Name(), err)
		}
		if err == nil {
			table[f] = p
		}
	}
	return nil
}
