package driver

import (
	"cmp"
	"context"
	"fmt"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"math"
	"runtime"
)

// Stream is a queue of work on a device. Work sent to one stream runs in
// order; streams run side by side unless events order them.
type Stream struct {
	life  *Lifetime
	core  *contextCore // of ctx: one load less where it counts
	ctx   *Context
	d     *Driver // bound to ctx
	self  *Driver // for calls to which the stream says the context; see selfBound
	raw   CUstream
	owned bool

	number uint64 // see Number
}

// selfBound is the first CUDA version whose driver was seen to make calls in
// the context of the stream they name, whatever context the thread has, or
// none: events, queries, copies and fills, stream-ordered memory, graph launches. Binding them would only cost.
// TestStreamsNameTheirContext holds the driver to it.
const selfBound = 13000

// guardedSelf is self for calls that are guarded.
func (s *Stream) guardedSelf() *Driver {
	if s.owned {
		return s.core.loose
	}
	return s.core.guarded
}

// Driver returns the view of the driver for calls that are given this stream
// and need no context beside it.
func (s *Stream) Driver() *Driver {
	if s == nil {
		return noDriver()
	}
	return s.self
}

// StreamOption changes how NewStream makes a stream.
type StreamOption func(*streamConfig)

type streamConfig struct {
	flags    cu.CUstream_flags
	priority int
}

// WithPriority asks for a priority: lower numbers go first. The driver brings
// numbers outside Context.StreamPriorityRange to the nearest one inside.
func WithPriority(p int) StreamOption {
	return func(c *streamConfig) { c.priority = p }
}

// WithLegacySync makes the stream wait for the legacy stream and the other way
// round, as streams of CUDA programs do by default. Streams made here do not.
func WithLegacySync() StreamOption {
	return func(c *streamConfig) { c.flags = cu.CU_STREAM_DEFAULT }
}

// NewStream creates a stream. Without options it has the default priority and
// does not synchronise with the legacy stream.
func (c *Context) NewStream(opts ...StreamOption) (*Stream, error) {
	if err := notInCallback(); err != nil {
		return nil, err
	}
	cfg := streamConfig{flags: cu.CU_STREAM_NON_BLOCKING}
	absent.Apply(opts, &cfg)
	l, err := NewLifetime(c, "stream")
	if err != nil {
		return nil, err
	}
	s := &Stream{life: l, core: c.core, ctx: c, d: c.core.bound, self: c.core.bound, owned: true, number: streamNumbers.Add(1)}
	if c.core.dev.driver.Version() >= selfBound {
		s.self = c.core.dev.driver
	}
	if err := s.d.CuStreamCreateWithPriority(&s.raw, uint32(cfg.flags), clamp32(cfg.priority)); err != nil {
		return nil, l.Abandon(err)
	}
	raw, core := s.raw, s.core
	Own(s, l, uint64(raw), func(d *Driver) error {
		core.forgetFaults(l)
		return d.CuStreamDestroy(raw)
	})
	return s, nil
}

// clamp32 brings n to the nearest number of 32 bits.
func clamp32(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// LegacyStream returns the stream that CUDA calls the default one: it waits for
// all blocking streams of the context and they for it. Closing it does nothing.
func (c *Context) LegacyStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.legacy
}

// PerThreadStream returns the default stream of whichever OS thread makes the
// call, so a goroutine that uses it wants runtime.LockOSThread. Closing it does
// nothing. Memory allocated in its order and dropped without Close is freed in
// that of another thread's: close it.
func (c *Context) PerThreadStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.perThread
}

// BorrowStream returns a Stream for a handle that other code owns, for example
// a library that made its own stream in this context. Closing it does nothing;
// the owner keeps the handle valid while the Stream is in use. In use it also is
// by an executable graph that was launched into it last, until the launch has been
// waited for by the Exec's own Wait or Run, or the Exec is closed and it has ended.
func (c *Context) BorrowStream(raw CUstream) (*Stream, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := c.borrowed(raw)
	return &s, nil
}

// borrowed streams are open as long as their context is.
func (c *Context) borrowed(raw CUstream) Stream {
	return Stream{life: &c.core.life, core: c.core, ctx: c, d: c.core.bound, self: c.core.bound, raw: raw, number: streamNumbers.Add(1)}
}

// open is the price of every call: small, so that it is inlined.
func (s *Stream) open() bool { return s != nil && s.life != nil && !s.life.closed.Load() }

// check is open with a reason.
func (s *Stream) check() error {
	if s.open() {
		return nil
	}
	if s == nil || s.life == nil {
		return absentError(s == nil, "stream")
	}
	return s.closedError()
}

func (s *Stream) closedError() error {
	if !s.owned {
		return fmt.Errorf("%v: %w", s, s.life.Check())
	}
	return s.life.Check()
}

// quiet is open for calls that may have to be refused or to deliver bad news:
// two more atomic loads.
func (s *Stream) quiet() bool {
	return s.open() && callbacks.running.Load() == 0 && s.core.faults.pending.Load() == 0
}

// ready is quiet with a reason.
func (s *Stream) ready() error {
	if err := s.check(); err != nil {
		return err
	}
	if err := notInCallback(); err != nil {
		return err
	}
	return s.fault()
}

// fault returns, once, that a host function sent to this stream panicked.
func (s *Stream) fault() error {
	if s.core.faults.pending.Load() == 0 {
		return nil
	}
	return s.named(s.core.faults.take(s.life, s.raw))
}

// named puts the stream in front of an error.
func (s *Stream) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", s, err)
}

// Raw returns the driver's handle. It is 0, which to CUDA is the legacy stream,
// for a nil stream.
func (s *Stream) Raw() CUstream {
	if s == nil {
		return 0
	}
	return s.raw
}

// Context returns the context the stream belongs to.
func (s *Stream) Context() *Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// String names the stream and its device.
func (s *Stream) String() string {
	switch {
	case s == nil:
		return "nil stream"
	case s.raw == cu.CU_STREAM_LEGACY:
		return fmt.Sprintf("legacy stream of %v", s.ctx.Device())
	case s.raw == cu.CU_STREAM_PER_THREAD:
		return fmt.Sprintf("per-thread stream of %v", s.ctx.Device())
	}
	return fmt.Sprintf("stream %#x of %v", uintptr(s.raw), s.ctx.Device())
}

// Close destroys the stream, if nothing waits for it: an executable graph that was
// launched here keeps it until the launch is known to have ended. Work that was
// sent to it still runs.
func (s *Stream) Close() error {
	if s == nil || !s.owned {
		return nil
	}
	err := s.life.Close()
	runtime.KeepAlive(s)
	return err
}

// Do sends an operation to the stream; during a capture that records it. It does
// not wait: what goes wrong when the operation runs is the error of a later call,
// mostly of Wait.
func (s *Stream) Do(op Op) error {
	if !s.quiet() {
		if err := s.ready(); err != nil {
			return err
		}
	}
	if op == nil {
		return fmt.Errorf("%v: nil operation: %w", s, CUDA_ERROR_INVALID_VALUE)
	}
	return op.Enqueue(s)
}

// Record has e happen when the work sent to the stream so far is done.
func (s *Stream) Record(e *Event) error {
	if !s.open() || !e.open() || e.ctx != s.ctx {
		if err := s.refuses(e); err != nil {
			return err
		}
	}
	err := s.self.CuEventRecord(e.raw, s.raw)
	runtime.KeepAlive(e)
	runtime.KeepAlive(s)
	if err != nil {
		return s.named(err)
	}
	return nil
}

// WaitEvent holds back the work sent to the stream from now on until the latest
// record of e happened. An event that was never recorded holds nothing back.
// The event may be of another context or device.
func (s *Stream) WaitEvent(e *Event) error {
	if !s.open() || !e.open() || e.ctx != s.ctx {
		if err := s.refuses(e); err != nil {
			return err
		}
	}
	err := s.self.CuStreamWaitEvent(s.raw, e.raw, 0)
	runtime.KeepAlive(e)
	runtime.KeepAlive(s)
	if err != nil {
		return s.named(err)
	}
	return nil
}

// refuses says what is wrong with the stream or the event, if anything is. An
// event of another context may be right, one of another driver never is.
func (s *Stream) refuses(e *Event) error {
	if err := cmp.Or(s.check(), e.check()); err != nil {
		return err
	}
	return s.named(s.ctx.sameDriver(e.ctx, e))
}

// Query reports whether all work sent to the stream is done. An error is that
// of the stream's work, or of a host function that panicked.
func (s *Stream) Query() (done bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if err := notInCallback(); err != nil {
		return false, err
	}
	done, err = finished(s.guardedSelf().CuStreamQuery(s.raw))
	runtime.KeepAlive(s)
	if err != nil {
		return false, s.named(err)
	}
	return done, s.fault()
}

// Wait returns when the work that was sent to the stream before the call is
// done, or with the cause of ctx's cancellation; the work goes on then. A nil ctx
// is never cancelled. The error may be that of earlier work: CUDA reports it where
// it can. Any number of goroutines may wait: up to GOMAXPROCS of them as fast as
// the driver's blocking call, more of them within about a millisecond, without a
// thread each.
//
// Waiting never invalidates a capture in another stream. A stream that is
// capturing cannot be waited for.
func (s *Stream) Wait(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.life.Retain(); err != nil {
		return s.closedError()
	}
	waits.now.Add(1)
	defer waits.now.Add(-1)
	m, err := s.queryOrMark()
	if m == nil {
		s.life.Done()
		return err
	}
	if err := await(ctx, m); err != nil {
		return s.named(err)
	}
	return s.fault()
}

// queryOrMark returns a mark of what the stream has to do, or nil and the result of
// a wait that is over. The mark gives back the reference that its caller took.
func (s *Stream) queryOrMark() (*mark, error) {
	defer leave(s.core.enter())
	if over, err := s.Query(); over || err != nil {
		return nil, err
	}
	m, err := s.core.markStream(s)
	return m, s.named(err)
}

// Priority returns the stream's priority: lower numbers go first, 0 is the
// default.
func (s *Stream) Priority() (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	var p int32
	err := s.d.CuStreamGetPriority(s.raw, &p)
	runtime.KeepAlive(s)
	return int(p), s.named(err)
}

// Flags returns the flags the stream was made with.
func (s *Stream) Flags() (cu.CUstream_flags, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	var f uint32
	err := s.d.CuStreamGetFlags(s.raw, &f)
	runtime.KeepAlive(s)
	return cu.CUstream_flags(f), s.named(err)
}
