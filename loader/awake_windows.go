//go:build !static

package loader

import (
	"sync"

	"golang.org/x/sys/windows"
)

// stayAwake keeps one thread in a call that does not end. Without cgo, Go's
// runtime on Windows ends a program of which all goroutines wait, as a deadlock,
// though a thread of the driver is about to call back
// (https://go.dev/issue/55015); to that count, a thread outside of Go is at work.
var stayAwake = sync.OnceFunc(func() {
	go windows.SleepEx(windows.INFINITE, false)
})
