// Package processor measures the processor time of the process.
package processor

import (
	"syscall"
	"time"
)

// Time returns the time for which processors have executed the process, in all its threads.
func Time() time.Duration {
	self, err := syscall.GetCurrentProcess()
	var created, exited, kernel, user syscall.Filetime
	if err == nil {
		err = syscall.GetProcessTimes(self, &created, &exited, &kernel, &user)
	}
	if err != nil {
		panic(err) // the arguments are always valid
	}
	return duration(kernel) + duration(user)
}

// duration converts a number of 100 ns. Filetime.Nanoseconds is for points in time.
func duration(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
