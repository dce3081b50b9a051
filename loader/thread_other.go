//go:build !linux && !windows

package loader

import (
	"bytes"
	"runtime"
	"strconv"
)

// ThreadID identifies what stands for a thread: here the goroutine, because
// the operating system's thread is out of reach without C. An emulated driver
// then has one current context per goroutine, which is what a locked
// goroutine would see.
func ThreadID() uint64 {
	var buf [64]byte
	head := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("loader: a goroutine without a number: " + string(head))
	}
	return id
}
