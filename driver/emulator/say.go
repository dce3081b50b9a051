package emulator

import (
	"context"
	"log/slog"
)

// What is logged. The handler is the program's: it may ask the emulator for its
// findings and call CUDA, so no lock is held while it runs.

// record is what is logged once the emulator's lock is released.
type record struct {
	level slog.Level
	msg   string
	attrs []any
}

// say logs a record when the emulator's lock, which is held, is released.
func (e *Emulator) say(level slog.Level, msg string, attrs ...any) {
	e.said = append(e.said, record{level, msg, attrs})
}

// unlock releases the lock and logs what was said while it was held.
func (e *Emulator) unlock() {
	said := e.said
	e.said = nil
	e.mu.Unlock()
	for _, r := range said {
		e.cfg.Log.Log(context.Background(), r.level, r.msg, r.attrs...)
	}
}
