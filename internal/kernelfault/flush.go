package kernelfault

import (
	"errors"
	"sync"

	"github.com/purecuda/cuda/loader"
)

// flush writes the contents of the buffer of C's standard output. Unless the output is a terminal,
// C keeps text in that buffer, and a Go program ends without writing it. Tests replace flush.
var flush = func() error { return standardOutput().flush() }

// Flush writes the text that the driver printed when it destroyed a context.
func Flush() error { return flush() }

// standardOutput returns C's standard output, which it opens when text is first printed. Without a
// C library, no driver written in C can be loaded, so there is nothing to flush.
var standardOutput = sync.OnceValue(openStandardOutput)

// file is a C FILE and the function that flushes it. fflush(NULL) would also flush it, but it locks
// every FILE. It would therefore wait for a C thread that is reading from its standard input.
type file struct {
	fflush loader.Proc // zero if there is no C library
	at     func() uintptr
}

func (f *file) flush() error {
	if f.fflush.IsZero() {
		return nil
	}
	block := struct {
		call loader.Call
		file uintptr
		_    [7]uintptr
	}{call: loader.Call{Proc: &f.fflush, N: 1}, file: f.at()}
	if int32(loader.Invoke(&block.call)) != 0 {
		return errors.New("fflush(stdout) of the C library failed")
	}
	return nil
}
