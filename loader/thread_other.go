//go:build !linux && !windows

package loader

import (
	"runtime"
	"sync"
)

// ThreadID returns an identifier of the goroutine, because the operating system's thread cannot
// be queried without C. An emulated driver then has one current context per goroutine, as a
// locked goroutine would see on other platforms.
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

// goroutine is the beginning of a goroutine's stack trace. The goroutine's number follows.
const goroutine = "goroutine "

// heads is a pool because a call must not allocate.
var heads = sync.Pool{New: func() any { return new([len(goroutine) + 20]byte) }}
