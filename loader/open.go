package loader

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

var (
	// ErrUnsupportedPlatform is matched when this operating system has no CUDA
	// driver, or this build no way to open one.
	ErrUnsupportedPlatform = errors.New("no CUDA driver exists for this platform")
	// ErrStatic is matched when the build tag static left the dynamic loader
	// out.
	ErrStatic = errors.New("built with the tag static: no library can be opened; build without it, with CGO_ENABLED=0, to use a GPU")
	// ErrStubLibrary is matched when the library found is the CUDA toolkit's
	// stub, which exists to link against and has no driver in it.
	ErrStubLibrary = errors.New("the CUDA toolkit's stub library, which is for linking only")
)

// OpenError says which names were tried and why none of them opened.
type OpenError struct {
	Tried []Attempt
}

// Attempt is one name that was tried.
type Attempt struct {
	Name string
	Err  error
}

// Error lists every name with the system's reason.
func (e *OpenError) Error() string {
	var b strings.Builder
	b.WriteString("no library opened")
	for i, a := range e.Tried {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %v", sep, a.Name, a.Err)
	}
	return b.String()
}

// Unwrap returns the reasons, for errors.Is and errors.As.
func (e *OpenError) Unwrap() []error {
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// DynamicLibrary is a shared library of the system: libcuda.so.1, nvcuda.dll,
// or another one such as cuBLAS.
type DynamicLibrary struct {
	name string

	mu     sync.Mutex
	handle uintptr // 0 once closed
}

// Open opens the first of the given names that the system finds. A name
// without a separator is searched as the system searches; on Windows only in
// the system's own directory.
func Open(names ...string) (*DynamicLibrary, error) {
	return open(names, nil)
}

// open opens the first name whose library accept has no objection to.
func open(names []string, accept func(*DynamicLibrary) error) (*DynamicLibrary, error) {
	failure := &OpenError{}
	for _, name := range names {
		l, err := openOne(name)
		if err == nil && accept != nil {
			if err = accept(l); err != nil {
				err = errors.Join(err, l.Close())
			}
		}
		if err == nil {
			return l, nil
		}
		failure.Tried = append(failure.Tried, Attempt{name, err})
	}
	return nil, failure
}

func openOne(name string) (*DynamicLibrary, error) {
	handle, err := dlopen(name)
	if err != nil {
		return nil, err
	}
	return &DynamicLibrary{name: name, handle: handle}, nil
}

// Name returns the name under which the library was opened.
func (l *DynamicLibrary) Name() string { return l.name }

// Lookup returns the C function behind a symbol.
func (l *DynamicLibrary) Lookup(symbol string) (Proc, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == 0 {
		return Proc{}, fmt.Errorf("%s: %s: the library is closed", l.name, symbol)
	}
	addr, err := dlsym(l.handle, symbol)
	if err != nil || addr == 0 {
		return Proc{}, fmt.Errorf("%s: %s: %w", l.name, symbol, ErrSymbolNotFound)
	}
	return AddrProc(addr), nil
}

// Close gives the library back to the system. Closing twice is fine.
func (l *DynamicLibrary) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == 0 {
		return nil
	}
	handle := l.handle
	l.handle = 0
	return dlclose(handle)
}
