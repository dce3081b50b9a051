package loader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"syscall"
)

var (
	// ErrUnsupportedPlatform matches the error if no CUDA driver exists for this operating system,
	// or if this build cannot open one.
	ErrUnsupportedPlatform = errors.New("no CUDA driver exists for this platform")
	// ErrStatic matches the error if the program was built without the dynamic loader (build tag
	// static).
	ErrStatic = errors.New("built with the tag static: no library can be opened; build without it, with CGO_ENABLED=0, to use a GPU")
	// ErrStubLibrary matches the error if the library is the CUDA toolkit's stub, which contains no
	// driver and exists only to link against.
	ErrStubLibrary = errors.New("the CUDA toolkit's stub library, which is for linking only")
)

// OpenError lists the names that were tried and why each of them failed. %v prints one line with
// the most important reason. %+v prints every name and the system's reason.
type OpenError struct {
	Tried []Attempt
}

// Attempt is one name that was tried. Err matches [fs.ErrNotExist] if no library of that name
// exists.
type Attempt struct {
	Name string
	Err  error
}

// Error names the first library that exists but cannot be used. If no library exists, it names the
// first name that was tried.
func (e *OpenError) Error() string {
	if e == nil || len(e.Tried) == 0 {
		return "no library opened"
	}
	if len(e.Tried) == 1 {
		return "no library opened: " + e.Tried[0].String()
	}
	told := max(slices.IndexFunc(e.Tried, func(a Attempt) bool { return !errors.Is(a.Err, fs.ErrNotExist) }), 0)
	return fmt.Sprintf("no library opened: %v (%d names tried, %%+v lists them)", e.Tried[told], len(e.Tried))
}

// String returns the name and the reason. It omits the name if the reason already begins with it.
func (a Attempt) String() string {
	if reason := fmt.Sprint(a.Err); strings.HasPrefix(reason, a.Name+":") {
		return reason
	}
	return fmt.Sprintf("%s: %v", a.Name, a.Err)
}

// Format implements fmt.Formatter.
func (e *OpenError) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+') && e != nil:
		_, _ = io.WriteString(s, "no library opened")
		for _, a := range e.Tried {
			fmt.Fprintf(s, "\n\t%v", a)
		}
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

// Unwrap returns the reasons for errors.Is and errors.As.
func (e *OpenError) Unwrap() []error {
	if e == nil {
		return nil
	}
	errs := make([]error, len(e.Tried))
	for i, a := range e.Tried {
		errs[i] = a.Err
	}
	return errs
}

// DynamicLibrary is a shared library of the system, such as libcuda.so.1, nvcuda.dll or cuBLAS.
type DynamicLibrary struct {
	name string

	mu     sync.Mutex
	handle uintptr // 0 after Close
}

// Open opens the first of the given names that it can. The system searches for a name without a
// path. On Windows, the search covers only System32.
func Open(names ...string) (*DynamicLibrary, error) {
	return open(names, nil, nil)
}

// open opens the first library whose name passes look and which itself passes accept. Opening a
// library runs its code, so look makes the checks that need only the file.
func open(names []string, look func(name string) error, accept func(*DynamicLibrary) error) (*DynamicLibrary, error) {
	failure := &OpenError{}
	for _, name := range names {
		if look != nil {
			if err := look(name); err != nil {
				failure.Tried = append(failure.Tried, Attempt{name, err})
				continue
			}
		}
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
		if noSuchLibrary(name, err) {
			err = missing{err}
		}
		return nil, err
	}
	return &DynamicLibrary{name: name, handle: handle}, nil
}

// missing wraps the system's error for a library that does not exist. Its text is that of the
// system's error.
type missing struct{ error }

func (m missing) Is(target error) bool { return target == fs.ErrNotExist }
func (m missing) Unwrap() error        { return m.error }

// moduleNotFound is the Windows error if a library or one of its dependencies does not exist.
const moduleNotFound = syscall.Errno(126)

// noSuchLibrary reports whether err means that there is no library of that name. If a dependency of
// the library is missing instead, the text contains the dependency's name. On Windows,
// noSuchLibrary cannot distinguish these two cases.
func noSuchLibrary(name string, err error) bool {
	reason := err.Error()
	glibc := strings.HasPrefix(reason, name+": cannot open shared object file: No such file")
	musl := strings.HasPrefix(reason, "Error loading shared library "+name+": No such file") && !strings.Contains(reason, "needed by")
	return glibc || musl || errors.Is(err, moduleNotFound)
}

// Name returns the name under which the library was opened.
func (l *DynamicLibrary) Name() string {
	if l == nil {
		return "no library"
	}
	return l.name
}

// Lookup returns the C function with the given symbol.
func (l *DynamicLibrary) Lookup(symbol string) (Proc, error) {
	if l == nil {
		return Proc{}, fmt.Errorf("%s: nil library: open one with loader.Open", symbol)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == 0 && l.name == "" {
		return Proc{}, fmt.Errorf("%s: zero library: open one with loader.Open", symbol)
	}
	if l.handle == 0 {
		return Proc{}, fmt.Errorf("%s: %s: the library is closed", l.name, symbol)
	}
	addr, err := dlsym(l.handle, symbol)
	if err != nil || addr == 0 {
		return Proc{}, fmt.Errorf("%s: %s: %w", l.name, symbol, ErrSymbolNotFound)
	}
	return AddrProc(addr), nil
}

// Close unloads the library. A second Close does nothing.
func (l *DynamicLibrary) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == 0 {
		return nil
	}
	handle := l.handle
	l.handle = 0
	return dlclose(handle)
}
