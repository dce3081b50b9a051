package clock

import (
	"syscall"
	"time"
	"unsafe"
)

// Go's clock on Windows advances in steps of half a millisecond or more, which is too coarse for
// short kernels.
var (
	kernel32    = syscall.NewLazyDLL("kernel32.dll")
	counter     = kernel32.NewProc("QueryPerformanceCounter")
	frequency   = kernel32.NewProc("QueryPerformanceFrequency")
	ticksPerSec = ticks(frequency)
)

func ticks(of *syscall.LazyProc) int64 {
	var n int64
	_, _, _ = of.Call(uintptr(unsafe.Pointer(&n))) // both functions always succeed
	return n
}

// Now returns the time elapsed since a fixed moment in the past.
func Now() time.Duration {
	t := ticks(counter)
	return time.Duration(t/ticksPerSec)*time.Second + time.Duration(t%ticksPerSec)*time.Second/time.Duration(ticksPerSec)
}
