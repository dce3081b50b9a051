//go:build !static

package loader

import (
	"sync"

	"golang.org/x/sys/windows"
)

// stayAwake keeps one thread in a call that does not end. Without cgo, Go's runtime on Windows
// reports a deadlock when all goroutines wait, even if a thread of the driver is about to call
// back (https://go.dev/issue/55015). The runtime counts a thread outside of Go as running.
var stayAwake = sync.OnceFunc(func() {
	go windows.SleepEx(windows.INFINITE, false)
})
