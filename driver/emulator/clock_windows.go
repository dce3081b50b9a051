package emulator

import (
	"syscall"
	"time"
	"unsafe"
)

// Go's clock on Windows moves in steps of half a millisecond and more, which
// short kernels fit in between.
var (
	kernel32    = syscall.NewLazyDLL("kernel32.dll")
	counter     = kernel32.NewProc("QueryPerformanceCounter")
	frequency   = kernel32.NewProc("QueryPerformanceFrequency")
	ticksPerSec = ticks(frequency)
)

func ticks(of *syscall.LazyProc) int64 {
	var n int64
	_, _, _ = of.Call(uintptr(unsafe.Pointer(&n))) // both always succeed
	return n
}

// clock is the time that events take.
func clock() time.Duration {
	t := ticks(counter)
	return time.Duration(t/ticksPerSec)*time.Second + time.Duration(t%ticksPerSec)*time.Second/time.Duration(ticksPerSec)
}
