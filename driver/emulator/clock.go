//go:build !windows

package emulator

import "time"

var started = time.Now()

// clock is the time that events take.
func clock() time.Duration { return time.Since(started) }
