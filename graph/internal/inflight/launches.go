// Package inflight tracks the launches of an executable graph that have not ended: the stream and
// the completion event of the latest launch, and the objects to release when the launches end.
package inflight

import (
	"errors"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// Launches tracks the launches of one Exec, and the objects that the Exec has dropped but launches
// in flight still use. CUDA orders the launches of one Exec, so all of them have ended once the
// last one has.
//
// In the steady state, nothing is allocated. Dropped objects collect in dropped. When there are
// enough of them, the next launch records a completion event, and the objects move to waiting. They
// are released when that event has completed.
type Launches struct {
	LastWork                             // the latest launch
	Replays         uint64               // number of launches that succeeded
	Ended           uint64               // number of launches known to have ended
	Mem             *retain.LaunchMemory // memory that launches leave allocated, or nil
	waitingRecorded bool                 // waitingFor is recorded after the launches that use the objects in waiting
	dropped         []retain.Reference
	Staged          LastWork // work staged for the next launch, if it has a stream
	waiting         []retain.Reference
	waitingFor      *CompletionEvent // separate from LastWork's event, which later queries record again
}

// enoughDropped is the number of dropped objects at which a launch records a completion event for
// them.
const enoughDropped = 64

// Launched counts a launch that was enqueued in Stream.
func (r *Launches) Launched() {
	r.Recorded = r.Recorded && !r.direct // Move recorded the event after the launch
	r.Replays++
	if r.Staged.Stream != nil {
		r.unstage()
	}
	if r.Mem != nil {
		r.Mem.Launched()
	}
	if len(r.dropped) >= enoughDropped && !r.waitingRecorded {
		r.recordWaiting()
	}
}

// recordWaiting records a completion event after the launch. If that fails, the objects stay in
// dropped until a later attempt, or until Run, Wait or Close.
func (r *Launches) recordWaiting() {
	if r.Stream.Raw() == cu.CU_STREAM_PER_THREAD {
		r.shareEvent()
		return
	}
	if !r.waitingFor.fits(r.Stream) {
		m, err := newEvent(r.Stream)
		if err != nil {
			return
		}
		r.use(m)
	}
	if recorded, err := r.waitingFor.record(r.Stream); err == nil && recorded {
		r.startWaiting()
	}
}

// shareEvent makes the dropped objects wait for the event that was recorded with the launch. The
// next launch then creates another event.
func (r *Launches) shareEvent() {
	if r.Recorded {
		r.event.refs.Add(1)
		r.use(r.event)
		r.startWaiting()
	}
}

func (r *Launches) use(m *CompletionEvent) {
	r.Stream.Context().Lifetime().Note(r.waitingFor.release()) // no object waits for the previous event any more
	r.waitingFor = m
}

func (r *Launches) startWaiting() {
	r.waiting, r.dropped = r.dropped, r.waiting[:0]
	r.waitingRecorded = true
}

// unstage forgets staged work once a launch runs after it.
func (r *Launches) unstage() {
	r.Staged.release()
	r.Staged.Stream, r.Staged.Recorded = nil, false
}

// ReleaseLater releases an object in a later Sweep, once no launch uses the object.
func (r *Launches) ReleaseLater(k retain.Reference) {
	r.dropped = append(r.dropped, k)
}

// Sweep releases all objects that can be released without waiting.
func (r *Launches) Sweep() {
	if len(r.dropped)+len(r.waiting) == 0 {
		return
	}
	if r.Ended == r.Replays {
		r.releaseAll()
		return
	}
	if !r.waitingRecorded || len(r.dropped) < enoughDropped {
		return
	}
	if done, err := r.waitingFor.completed(); err == nil && done {
		releaseList(&r.waiting)
		r.waitingRecorded = false
	}
}

// NoteEnded records that the first n launches have ended.
func (r *Launches) NoteEnded(n uint64) {
	r.Ended = max(r.Ended, min(n, r.Replays))
	if r.Ended == r.Replays {
		r.release()
	}
	r.Sweep()
}

// AllEnded reports whether all launches, the staged work and the launches of replaced executable
// graphs are known to have ended.
func (r *Launches) AllEnded() (bool, error) {
	if r.Staged.Stream != nil {
		if ended, err := r.Staged.HasEnded(); err != nil || !ended {
			return false, err
		}
	}
	if r.Ended == r.Replays {
		return true, nil
	}
	ended, err := r.HasEnded()
	if ended {
		r.NoteEnded(r.Replays)
	}
	return ended, err
}

func (r *Launches) releaseAll() {
	releaseList(&r.dropped)
	releaseList(&r.waiting)
	r.waitingRecorded = false
}

func releaseList(list *[]retain.Reference) {
	for i, k := range *list {
		(*list)[i] = retain.Reference{}
		k.Release()
	}
	*list = (*list)[:0]
}

// ReleaseDropped releases the objects that o dropped, once the launches that use them have ended.
func (r *Launches) ReleaseDropped(o *retain.References) {
	if len(o.Dropped) == 0 {
		return
	}
	for i, k := range o.Dropped {
		r.dropped = append(r.dropped, k)
		o.Dropped[i] = retain.Reference{}
	}
	o.Dropped = o.Dropped[:0]
	r.Sweep()
}

// Replaced records that the driver's executable graph was replaced. The references of the old one
// are released when its launches have ended. The driver does not order launches of the new graph
// after those of the old one, so the old launches are treated as staged work.
func (r *Launches) Replaced() error {
	old := &Launches{LastWork: r.LastWork, Replays: r.Replays, Ended: r.Ended, dropped: r.dropped, waiting: r.waiting, waitingFor: r.waitingFor}
	r.LastWork = LastWork{Stream: r.Stream}
	r.dropped, r.waiting, r.waitingRecorded, r.waitingFor = nil, nil, false, nil
	r.Ended = r.Replays
	if old.Ended < old.Replays && r.Staged.Stream == nil {
		err := r.Staged.event.release()
		r.Staged = old.LastWork.share()
		return errors.Join(err, old.Close())
	}
	return old.Close()
}

// Close ends the tracking. The retained objects are released when the last launch has ended:
// immediately, or on a goroutine that waits for it.
func (r *Launches) Close() error {
	r.unstage()
	if r.Ended < r.Replays {
		if ended, err := r.HasEnded(); err != nil || !ended {
			Waiting.Add(1)
			r.Stream.Context().Lifetime().Go(func() {
				defer Waiting.Done()
				r.waitForLast()
			})
			return nil
		}
	}
	return r.end()
}

func (r *Launches) end() error {
	r.releaseAll()
	return refusal.Join([]error{r.waitingFor.release(), r.Staged.end(), r.LastWork.end()})
}

// Waiting counts the goroutines that wait for launches of closed Execs, for tests.
var Waiting sync.WaitGroup

// waitForLast polls for the end of the last launch, because a blocking wait would occupy a thread
// for each Exec.
func (r *Launches) waitForLast() {
	for start := time.Now(); ; {
		if ended, err := r.HasEnded(); ended || isFinal(err) {
			break
		}
		time.Sleep(Nap(start))
	}
	context := r.Stream.Context().Lifetime()
	context.Note(r.end()) // no caller can receive the error
}

// Nap returns how long to sleep before the next query of an event that has been awaited since
// start.
func Nap(start time.Time) time.Duration {
	return min(max(time.Since(start)/8, 10*time.Microsecond), time.Millisecond)
}

// isFinal reports whether an error means that no work of the context runs any more. Other errors,
// such as a lack of memory or an open capture, may be temporary.
func isFinal(err error) bool {
	if err == nil {
		return false
	}
	switch refusal.Code(err) {
	case driver.CUDA_ERROR_DEINITIALIZED, driver.CUDA_ERROR_NOT_INITIALIZED, driver.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		driver.CUDA_ERROR_INVALID_CONTEXT, driver.CUDA_ERROR_INVALID_HANDLE:
		return true
	}
	return errors.Is(err, driver.ErrContextLost) || errors.Is(err, driver.ErrClosed)
}
