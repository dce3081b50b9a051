package serve

import (
	"time"

	"github.com/purecuda/cuda/graph/arena"
	"github.com/purecuda/cuda/graph/callable"
)

// Option configures New and NewBatcher.
type Option func(*options)

type options struct {
	replicas  int
	most      int // maximum number of replicas after growth; 0 without WithGrowth
	grows     bool
	memory    uint64 // minimum free device memory for growth
	limit     uint64 // memory of all replicas together; 0 without WithMemory
	limited   bool
	queue     int
	deadlines bool
	restart   any // function of WithRestart, or nil
	apart     time.Duration
	callable  []callable.Option
	arenas    []*arena.Arena
	batch     batching // options of NewBatcher
}

const defaultQueue = 256

// share returns the limit for one replica.
func (o *options) share() uint64 { return o.limit / uint64(max(o.replicas, o.most)) }

// WithReplicas sets the number of replicas that New creates. The default is 1. The number of
// replicas is the number of calls that can run at the same time.
func WithReplicas(n int) Option {
	return func(o *options) { o.replicas = n }
}

// WithGrowth allows the Pool to grow. most is the largest number of replicas, and memory a number of
// bytes. If all replicas are busy and another call already waits, the next call creates a replica,
// provided that the device has at least that much free memory. Choose memory as the size of a replica
// plus the memory that the rest of the program needs.
func WithGrowth(most int, memory uint64) Option {
	return func(o *options) { o.most, o.memory, o.grows = most, memory, true }
}

// WithMemory limits the memory that the function requests through its Trace, for all replicas
// together. Each replica gets an equal share. For a pool that may grow, the share is based on the
// largest number of replicas. See callable.WithMemory for what counts and what happens at the
// limit. WithMemory takes precedence over a callable.WithMemory option passed to WithCallable.
func WithMemory(bytes uint64) Option {
	return func(o *options) { o.limit, o.limited = bytes, true }
}

// WithQueue sets how many calls may wait for a replica. Further calls immediately return a
// BusyError. If n is 0, no call may wait. The default is 256.
func WithQueue(n int) Option {
	return func(o *options) { o.queue = n }
}

// WithDeadlines makes the Pool refuse calls that cannot end before their context's deadline. These
// calls immediately return an error that matches ErrTooLate. The estimate uses the recent duration
// of calls and the number of calls ahead in the queue. If no call is running, no call is refused,
// so that the estimate can change.
func WithDeadlines() Option {
	return func(o *options) { o.deadlines = true }
}

// CallOption configures one call. It is not a function, so that calls with options do not allocate.
type CallOption struct{ priority int }

// WithPriority sets a call's priority. Calls with a higher number go first. The default is 0.
func WithPriority(n int) CallOption { return CallOption{n} }

// WithCallable adds options for each replica's Callable.
func WithCallable(opts ...callable.Option) Option {
	return func(o *options) { o.callable = append(o.callable, opts...) }
}

// WithArenas allocates the temporary memory of replica i from arena i: see [callable.WithArena].
// All shapes of a replica then share memory. If several Pools use the same arenas, the replicas
// with the same arena also share memory, so the memory of an idle replica serves the other Pools.
// If replicas of two Pools use the same arena at the same time, the work of the second call waits
// on the device for the work of the first. A Pool does not consider arenas when it chooses a free
// replica.
//
// Pass as many arenas as the largest Pool has replicas. With fewer arenas, several replicas of a
// Pool share an arena and never run at the same time. The arenas may be closed before or after the
// Pool. A Pool whose arenas are closed cannot record new shapes or create replicas.
func WithArenas(arenas ...*arena.Arena) Option {
	return func(o *options) { o.arenas = append(o.arenas, arenas...) }
}
