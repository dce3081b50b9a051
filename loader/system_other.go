//go:build !linux && !windows

package loader

import (
	"os"
	"runtime"
	"sync"
)

// FileOf returns "", because no library can be opened on this platform.
func FileOf(Proc) string { return "" }

// ThreadID returns an identifier of the goroutine, because the operating system thread cannot be
// queried without C. An emulated driver therefore has one current context per goroutine. On other
// platforms, this is so only for a goroutine that is locked to its thread.
func ThreadID() uint64 {
	buf := heads.Get().(*[len(goroutine) + 20]byte)
	defer heads.Put(buf)
	n := runtime.Stack(buf[:], false)
	if n < len(goroutine) || string(buf[:len(goroutine)]) != goroutine {
		panic("loader: a goroutine without a number: " + string(buf[:n]))
	}
	var id uint64
	for _, c := range buf[len(goroutine):n] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}

// goroutine is the start of a goroutine's stack trace. The goroutine's number follows it.
const goroutine = "goroutine "

// heads pools buffers, because ThreadID must not allocate.
var heads = sync.Pool{New: func() any { return new([len(goroutine) + 20]byte) }}

// cudaNames has a single entry, which appears in the error message.
var cudaNames = []string{"CUDA driver for " + runtime.GOOS + "/" + runtime.GOARCH}

// privileged reports whether the process has more rights than its user.
func privileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

func refuseStub(*DynamicLibrary) error { return nil }

func refuseStubFile(string) error { return nil }

// patterns returns a single entry, which appears in the error message.
func (t Toolkit) patterns() []string { return []string{"CUDA toolkit for this platform"} }

var librarySubfolders []string

func toolkitRoots() []string { return nil }

func libraryFolders() []string { return nil }
