//go:build !windows

package emulator

import "time"

var started = time.Now()

// clock returns the time that events record.
func clock() time.Duration { return time.Since(started) }
