package nvrtc

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/purecuda/cuda/loader"
)

var (
	// ErrNotInstalled matches an error of Open if no NVRTC library was found. It does not
	// match if PURECUDA_NVRTC or WithLibrary names a library that cannot be opened.
	ErrNotInstalled = errors.New("NVRTC is not installed")
	// ErrClosed matches the errors of calls on a closed compiler.
	ErrClosed = errors.New("the compiler is closed")
)

// Error is a failed NVRTC call. errors.Is matches it with its code. Error and %v return
// one line with the first compiler message. %+v adds the whole log, with the source lines
// to which it refers.
type Error struct {
	Func    string // name of the C function that failed
	Code    Code
	Program string // name of the program that was compiled, if any
	Hint    string // the first compiler message, or a suggestion
	Log     string // everything that the compiler printed
}

// Error returns one line.
func (e *Error) Error() string {
	if e == nil {
		return "nil NVRTC error"
	}
	var b strings.Builder
	b.WriteString("nvrtc: ")
	if e.Program != "" {
		fmt.Fprintf(&b, "cannot compile %s: ", e.Program)
	}
	fmt.Fprintf(&b, "%s: %v", e.Func, e.Code)
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// Unwrap returns the code.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Code
}

// Format implements %v and %s (one line), %+v (with the log) and %q.
func (e *Error) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+') && e.Log != "":
		_, _ = io.WriteString(s, e.Error()+"\n"+strings.TrimRight(e.Log, "\n"))
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

// NotInstalledError reports that there is no NVRTC library and suggests how to install
// one. With %+v it also lists every name that was tried, with the system's error.
type NotInstalledError struct {
	Cause error // a *loader.OpenError
}

// Error returns one line.
func (e *NotInstalledError) Error() string {
	if e == nil {
		return ErrNotInstalled.Error()
	}
	switch {
	case errors.Is(e.Cause, loader.ErrStatic):
		return "NVRTC cannot be used here: this program was " + loader.ErrStatic.Error()
	case errors.Is(e.Cause, loader.ErrUnsupportedPlatform):
		return "NVRTC cannot be used here: it exists for Linux and Windows only"
	}
	var newer *newerError
	if errors.As(e.Cause, &newer) {
		return fmt.Sprintf("NVRTC is not installed in a version up to CUDA %s: there is %s, whose PTX a driver of that version refuses; "+
			"update the driver, install an older NVRTC, or omit UpTo and compile to a cubin", release(newer.upTo), release(newer.version))
	}
	return ErrNotInstalled.Error() + ": " + advice
}

// newerError makes the search skip a library that is too new.
type newerError struct{ version, upTo int }

func (e *newerError) Error() string {
	return fmt.Sprintf("NVRTC %s is newer than CUDA %s", release(e.version), release(e.upTo))
}

const advice = "install the CUDA toolkit, or the library alone (pip: nvidia-cuda-nvrtc, conda: cuda-nvrtc, " +
	"Debian: libnvrtc11.2); if it is still not found, set CUDA_PATH to the toolkit's folder or " + LibraryVariable + " to the library"

// Is matches ErrNotInstalled.
func (e *NotInstalledError) Is(target error) bool { return target == ErrNotInstalled }

// Unwrap returns the errors that prevented opening a library.
func (e *NotInstalledError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Format implements %v and %s (one line), %+v (with the names tried) and %q.
func (e *NotInstalledError) Format(s fmt.State, verb rune) {
	switch {
	case verb == 'q':
		fmt.Fprintf(s, "%q", e.Error())
	case verb == 'v' && s.Flag('+'):
		_, _ = fmt.Fprintf(s, "%s\n%v", e.Error(), e.Cause)
	default:
		_, _ = io.WriteString(s, e.Error())
	}
}

func invalidf(format string, args ...any) error {
	return fmt.Errorf("nvrtc: "+format, args...)
}
