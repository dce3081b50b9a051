package driver

import "github.com/purecuda/cuda/loader"

// Ready is nil if the stream can take work from this goroutine: it exists, it
// is open, the caller is not a host function, and no host function that was
// sent to it panicked since it was asked last. It is for packages that send
// work by raw calls.
func (s *Stream) Ready() error { return s.ready() }

// Open reports whether the stream exists and is open, which is part of Ready.
func (s *Stream) Open() bool { return s.open() }

// ThreadID names the OS thread that the calling goroutine runs on now, for
// packages that hold goroutines to threads as CUDA wants it.
func ThreadID() uint64 { return loader.ThreadID() }
