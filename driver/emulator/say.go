package emulator

import (
	"context"
	"log/slog"
)

// Logging. The handler belongs to the program. It may query the emulator for findings and call
// CUDA, so no lock is held while it runs.

// record is a log record that waits until the emulator's lock is released.
type record struct {
	level slog.Level
	msg   string
	attrs []any
}

// say logs a record when the emulator's lock is released. The caller holds the lock.
func (e *Emulator) say(level slog.Level, msg string, attrs ...any) {
	e.said = append(e.said, record{level, msg, attrs})
}

// unlock releases the lock and logs the records from while it was held.
func (e *Emulator) unlock() {
	said := e.said
	e.said = nil
	e.mu.Unlock()
	for _, r := range said {
		e.cfg.Log.Log(context.Background(), r.level, r.msg, r.attrs...)
	}
}
