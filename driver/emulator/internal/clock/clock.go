//go:build !windows

package clock

import "time"

var started = time.Now()

// Now returns the time elapsed since a fixed moment in the past.
func Now() time.Duration { return time.Since(started) }
