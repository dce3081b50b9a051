package graph

import (
	"errors"
	"sync"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
)

// retired holds what an exec no longer refers to while launches that do are still in flight. CUDA
// orders the launches of one exec, so all of them have ended once a later point in the stream of
// the last launch is reached.
//
// The steady state allocates nothing. Things collect in fresh. When they are many, the next launch
// records a completion event and they become waiting. When that event has completed they are
// released.
type retired struct {
	tail                   // of the latest launch
	replays  uint64        // launches that succeeded
	settled  uint64        // launches that are known to have ended
	mem      *launchMemory // what launches leave allocated; nil: nothing
	recorded bool          // users stands behind the launches that use what is waiting
	fresh    []keeper
	staged   tail // of what Stage sent ahead of the next launch; without a stream: nothing
	waiting  []keeper
	users    *milestone // apart from the tail's, which every look at that moves on
}

// enough is how many retired things are worth a mark.
const enough = 64

// launched counts a launch, in the stream of the tail.
func (r *retired) launched() {
	r.stands = r.stands && !r.quick // what move marked is behind the launch
	r.replays++
	if r.staged.stream != nil {
		r.unstage()
	}
	if r.mem != nil {
		r.mem.launched()
	}
	if len(r.fresh) >= enough && !r.recorded {
		r.record()
	}
}

// record records a completion event after the launch. If that fails, things wait for a later try,
// or for Run, Wait or Close.
func (r *retired) record() {
	if r.stream.Raw() == cu.CU_STREAM_PER_THREAD {
		r.shareMark()
		return
	}
	if !r.users.fits(r.stream) {
		m, err := newMilestone(r.stream)
		if err != nil {
			return
		}
		r.use(m)
	}
	if stands, err := r.users.record(r.stream); err == nil && stands {
		r.await()
	}
}

// shareMark goes by the tail's own mark, which stands there since the launch; the
// next launch makes another.
func (r *retired) shareMark() {
	if r.stands {
		r.mark.refs.Add(1)
		r.use(r.mark)
		r.await()
	}
}

func (r *retired) use(m *milestone) {
	r.stream.Context().Lifetime().Note(r.users.drop()) // an event that nothing waits for
	r.users = m
}

// await has what is fresh wait for the mark.
func (r *retired) await() {
	r.waiting, r.fresh = r.fresh, r.waiting[:0]
	r.recorded = true
}

// unstage forgets what was staged, because a launch runs after it.
func (r *retired) unstage() {
	r.staged.release()
	r.staged.stream, r.staged.stands = nil, false
}

// retire releases a thing as soon as no launch needs it.
func (r *retired) retire(k keeper) {
	r.fresh = append(r.fresh, k)
}

// sweep releases what can be released without waiting.
func (r *retired) sweep() {
	if len(r.fresh)+len(r.waiting) == 0 {
		return
	}
	if r.settled == r.replays {
		r.letGo()
		return
	}
	if !r.recorded || len(r.fresh) < enough {
		return
	}
	if done, err := r.users.happened(); err == nil && done {
		letGoAll(&r.waiting)
		r.recorded = false
	}
}

// settle notes that the first n launches have ended.
func (r *retired) settle(n uint64) {
	r.settled = max(r.settled, min(n, r.replays))
	if r.settled == r.replays {
		r.release()
	}
	r.sweep()
}

// over reports whether all launches have been seen to have ended, and what was
// staged, with which are those before an Apply.
func (r *retired) over() (bool, error) {
	if r.staged.stream != nil {
		if ended, err := r.staged.passed(); err != nil || !ended {
			return false, err
		}
	}
	if r.settled == r.replays {
		return true, nil
	}
	ended, err := r.passed()
	if ended {
		r.settle(r.replays)
	}
	return ended, err
}

func (r *retired) letGo() {
	letGoAll(&r.fresh)
	letGoAll(&r.waiting)
	r.recorded = false
}

func letGoAll(list *[]keeper) {
	for i, k := range *list {
		(*list)[i] = keeper{}
		k.letGo()
	}
	*list = (*list)[:0]
}

// retireGone releases what owners dropped.
func (r *retired) retireGone(o *owners) {
	if len(o.gone) == 0 {
		return
	}
	for i, k := range o.gone {
		r.fresh = append(r.fresh, k)
		o.gone[i] = keeper{}
	}
	o.gone = o.gone[:0]
	r.sweep()
}

// depart handles an executable graph that another replaces: what it refers to is released when its
// launches have ended. The driver does not know that the new graph's launches must run after them,
// so they are treated as staged work.
func (r *retired) depart() error {
	old := &retired{tail: r.tail, replays: r.replays, settled: r.settled, fresh: r.fresh, waiting: r.waiting, users: r.users}
	r.tail = tail{stream: r.stream}
	r.fresh, r.waiting, r.recorded, r.users = nil, nil, false, nil
	r.settled = r.replays
	if old.settled < old.replays && r.staged.stream == nil {
		err := r.staged.mark.drop()
		r.staged = old.tail.share()
		return errors.Join(err, old.close())
	}
	return old.close()
}

// close ends the exec: nothing is retired any more. What it holds is released when the last launch
// has ended: now, or on a goroutine that waits for that.
func (r *retired) close() error {
	r.unstage()
	if r.settled < r.replays {
		if ended, err := r.passed(); err != nil || !ended {
			parked.Add(1)
			r.stream.Context().Lifetime().Go(func() {
				defer parked.Done()
				r.park()
			})
			return nil
		}
	}
	return r.end()
}

// end releases everything.
func (r *retired) end() error {
	r.letGo()
	return join([]error{r.users.drop(), r.staged.end(), r.tail.end()})
}

// parked counts the goroutines that wait for launches of execs that are gone.
var parked sync.WaitGroup

// park waits for the last launch by polling, because a wait would occupy a thread for each exec.
func (r *retired) park() {
	for start := time.Now(); ; {
		if ended, err := r.passed(); ended || neverAgain(err) {
			break
		}
		time.Sleep(nap(start))
	}
	context := r.stream.Context().Lifetime()
	context.Note(r.end()) // events that cannot be destroyed, and nobody to be told
}

// nap is how long to sleep between two looks at something awaited since start.
func nap(start time.Time) time.Duration {
	return min(max(time.Since(start)/8, 10*time.Microsecond), time.Millisecond)
}

// neverAgain reports whether an error means that nothing of the context runs any
// more. Others may pass: memory that was short, a capture that is in the way.
func neverAgain(err error) bool {
	if err == nil {
		return false
	}
	switch resultOf(err) {
	case driver.CUDA_ERROR_DEINITIALIZED, driver.CUDA_ERROR_NOT_INITIALIZED, driver.CUDA_ERROR_CONTEXT_IS_DESTROYED,
		driver.CUDA_ERROR_INVALID_CONTEXT, driver.CUDA_ERROR_INVALID_HANDLE:
		return true
	}
	return errors.Is(err, driver.ErrContextLost) || errors.Is(err, driver.ErrClosed)
}
