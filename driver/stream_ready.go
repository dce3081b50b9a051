package driver

import "github.com/purecuda/cuda/loader"

// Ready returns nil if the stream can take work from this goroutine: it exists, it is open, the
// caller is not a host function, and no host function in it has panicked since the last report. It
// is for packages that make raw calls.
func (s *Stream) Ready() error { return s.ready() }

// Open reports whether the stream exists and is open, which Ready also checks.
func (s *Stream) Open() bool { return s.open() }

// ThreadID returns the ID of the OS thread that the calling goroutine runs on now. It is for
// packages that lock goroutines to threads, as CUDA sometimes requires.
func ThreadID() uint64 { return loader.ThreadID() }
