package cu

import (
	"fmt"
	"io"

	"github.com/purecuda/cuda/loader"
)

// systemLibrary is the installed driver. The library exports each ABI of a function under its own
// symbol. Functions are looked up with cuGetProcAddress, which takes a base name and a CUDA version
// and returns the ABI that this version's header declares.
type systemLibrary struct {
	lib     *loader.DynamicLibrary
	version int
	getProc loader.Proc
	query   bool // whether getProc is cuGetProcAddress_v2, which has a fifth parameter
}

// SystemLibrary opens the system's CUDA driver. An empty path means the library that
// loader.OpenCUDA finds.
func SystemLibrary(path string) (loader.Library, error) {
	dynamic, err := loader.OpenCUDA(path)
	if err != nil {
		return nil, &noLibraryError{err}
	}
	lib, err := newSystemLibrary(dynamic)
	if err != nil {
		_ = dynamic.Close() // err is the error to report, not the one from Close
		return nil, err
	}
	return lib, nil
}

// noLibraryError is a failure to open the driver. It prints one line. %+v also prints every name
// that was tried.
type noLibraryError struct{ err error }

func (e *noLibraryError) Error() string { return "no CUDA driver: " + e.err.Error() }
func (e *noLibraryError) Unwrap() error { return e.err }

// Format implements fmt.Formatter.
func (e *noLibraryError) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+'):
		fmt.Fprintf(s, "no CUDA driver: %+v", e.err)
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

func newSystemLibrary(dynamic *loader.DynamicLibrary) (*systemLibrary, error) {
	l := &systemLibrary{lib: dynamic}
	version, err := libraryVersion(dynamic)
	if err != nil {
		return nil, err
	}
	l.version = version
	// Only these two functions are looked up by exported symbol. Drivers before CUDA 12.0 have only
	// the older function.
	if l.getProc, err = dynamic.Lookup(FnCuGetProcAddress.Symbol()); err == nil {
		l.query = true
		return l, nil
	}
	if l.getProc, err = dynamic.Lookup(FnCuGetProcAddress_v11030.Symbol()); err != nil {
		return nil, fmt.Errorf("%s has no cuGetProcAddress: %w: %w", dynamic.Name(), ErrDriverTooOld, err)
	}
	return l, nil
}

// Name returns the name or path under which the library was found.
func (l *systemLibrary) Name() string { return l.lib.Name() }

// Lookup returns the function with the ABI that symbol denotes. A symbol that is not in cuda.h is
// looked up in the library's own exports.
func (l *systemLibrary) Lookup(symbol string) (loader.Proc, error) {
	f, ok := FunctionBySymbol(symbol)
	if !ok {
		return l.lib.Lookup(symbol)
	}
	p := l.lookupFunction(f)
	if p.IsZero() {
		return p, fmt.Errorf("%s: %s: %w (it came with CUDA %s, this driver has %s)",
			l.Name(), symbol, loader.ErrSymbolNotFound, cudaVersion(f.Since()), cudaVersion(l.version))
	}
	return p, nil
}

func (l *systemLibrary) lookupFunction(f Function) loader.Proc {
	info := &functionTable[f]
	if int(info.since) > l.version {
		return loader.Proc{}
	}
	if addr := l.procAddress(info); addr != 0 {
		return loader.AddrProc(addr)
	}
	// This fallback is safe because the symbol determines the ABI.
	p, err := l.lib.Lookup(trimNUL(info.symbol))
	if err != nil {
		return loader.Proc{}
	}
	return p
}

// Close does nothing, because the driver runs its own threads and cannot be unloaded.
func (l *systemLibrary) Close() error { return nil }
