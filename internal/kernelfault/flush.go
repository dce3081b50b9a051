package kernelfault

import (
	"errors"
	"sync"

	"github.com/purecuda/cuda/loader"
)

// flush writes what C's standard output has in its buffer. C keeps text there unless the output is a
// terminal, and a Go program ends without writing it. Tests replace flush.
var flush = func() error { return standardOutput().flush() }

// Flush writes the text that the driver printed when it destroyed a context.
func Flush() error { return flush() }

// standardOutput is opened with the first text. Without a C library there is no driver in C either,
// so there is nothing to flush.
var standardOutput = sync.OnceValue(openStandardOutput)

// file is a FILE of C and the function that flushes it. fflush(NULL) would flush it, too. But it
// locks every FILE, and so would wait for a thread of C that reads from its standard input.
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
		return errors.New("C's fflush(stdout) failed")
	}
	return nil
}
