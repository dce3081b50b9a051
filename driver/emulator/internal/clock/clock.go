//go:build !windows

package clock

import "time"

var started = time.Now()

// Now returns the time since some moment before the first call.
func Now() time.Duration { return time.Since(started) }
