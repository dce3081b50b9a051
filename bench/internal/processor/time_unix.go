//go:build unix

// Package processor measures the processor time of the process.
package processor

import (
	"syscall"
	"time"
)

// Time returns the time for which processors have executed the process, in all its threads.
func Time() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are always valid
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
