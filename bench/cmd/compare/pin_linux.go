package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// pin restricts this thread to the processors in a list such as "2,3". The callers that the
// thread starts inherit the restriction.
func pin(cpus string) error {
	if cpus == "" {
		return nil
	}
	var mask [16]uint64
	for s := range strings.SplitSeq(cpus, ",") {
		cpu, err := strconv.ParseUint(s, 10, 10)
		if err != nil {
			return fmt.Errorf("-cpus %s: %w", cpus, err)
		}
		mask[cpu/64] |= 1 << (cpu % 64)
	}
	runtime.LockOSThread()
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return fmt.Errorf("-cpus %s: %w", cpus, errno)
	}
	return nil
}
