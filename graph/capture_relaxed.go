package graph

import (
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/hostthread"
)

// Relaxed calls f with calls allowed that captures forbid, such as allocating memory or loading a
// module, whatever the mode of this capture and of others. Such calls act at once. This applies to
// the calls of this goroutine, which stays on its thread until f ends. Work that f enqueues in a
// captured stream is recorded as usual. Waiting for a captured stream or for the whole context
// still invalidates the capture.
//
// Relaxed restores the thread's mode, even if f panics or ends the goroutine.
func (sc *Scope) Relaxed(f func() error) (err error) {
	if err := sc.check(); err != nil {
		return err
	}
	if f == nil {
		return invalid("capture of %v: no function for a relaxed section", sc.s)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mode := ModeRelaxed
	d := sc.s.Context().Driver()
	if err := d.CuThreadExchangeStreamCaptureMode(&mode); err != nil {
		return fmt.Errorf("relaxed section in the capture of %v: %w", sc.s, err)
	}
	defer func() {
		// mode is what it was before
		if back := d.CuThreadExchangeStreamCaptureMode(&mode); back != nil {
			err = join([]error{err, fmt.Errorf("end of a relaxed section: %w", back)})
		}
	}()
	return f()
}

// check is nil while calls of the scope can be made.
func (sc *Scope) check() error {
	r, err := sc.lockUsable()
	if err != nil {
		return err
	}
	r.mu.Unlock()
	return nil
}

// ID returns the number of the capture, which is unique in the process and the same on all streams
// of the capture.
func (sc *Scope) ID() (uint64, error) {
	r, err := sc.lockUsable()
	if err != nil {
		return 0, err
	}
	defer r.mu.Unlock()
	i, err := r.info(sc.s)
	if err == nil {
		err = i.active(r)
	}
	if err != nil {
		return 0, fmt.Errorf("id of the capture of %v: %w", sc.s, err)
	}
	return i.id, nil
}

// Active reports whether operations can be recorded: the capture has not ended and nothing
// invalidated it. If false, the error of the capture's end has the reason.
func (sc *Scope) Active() bool {
	r, err := sc.lock()
	if err != nil {
		return false
	}
	defer r.mu.Unlock()
	if hostthread.Refuse() != nil {
		return false
	}
	i, err := r.info(sc.s)
	return err == nil && i.status == cu.CU_STREAM_CAPTURE_STATUS_ACTIVE
}
