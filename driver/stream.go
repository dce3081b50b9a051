package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/hostthread"
	"github.com/purecuda/cuda/internal/kernelfault"
	"github.com/purecuda/cuda/internal/life"
)

// Stream is a queue of work on a device. Work in one stream runs in order. Work in different
// streams runs concurrently, unless events order it.
type Stream struct {
	life  *life.Lifetime
	core  *contextCore // ctx.core, stored here to save a load in each call
	ctx   *Context
	d     *Driver // bound to ctx
	self  *Driver // for calls whose context is determined by the stream; see selfBound
	raw   CUstream
	owned bool

	number uint64 // see Number
	seen   uint32 // number of kernel faults that need not be reported; atomic
}

// selfBound is the first CUDA version with which calls for events, queries, copies, fills,
// stream-ordered memory and graph launches do not bind the stream's context. Drivers from this
// version on were observed to use the stream's context in these calls, whichever context is current
// on the thread. TestStreamsNameTheirContext checks the installed driver.
const selfBound = 13000

func (s *Stream) guardedSelf() *Driver {
	if s.owned {
		return s.core.loose
	}
	return s.core.guarded
}

// Driver returns a view of the driver for calls that pass this stream.
func (s *Stream) Driver() *Driver {
	if s == nil {
		return noDriver()
	}
	return s.self
}

// StreamOption changes how NewStream creates a stream.
type StreamOption func(*streamConfig)

type streamConfig struct {
	flags    cu.CUstream_flags
	priority int
}

// WithPriority sets the priority. Lower numbers go first. The driver clamps the priority to
// [Context.StreamPriorityRange].
func WithPriority(p int) StreamOption {
	return func(c *streamConfig) { c.priority = p }
}

// WithLegacySync makes the stream and the legacy stream wait for each other. CUDA does that by
// default. This package does not.
func WithLegacySync() StreamOption {
	return func(c *streamConfig) { c.flags = cu.CU_STREAM_DEFAULT }
}

// NewStream creates a stream. See WithLegacySync for the legacy stream.
func (c *Context) NewStream(opts ...StreamOption) (*Stream, error) {
	if err := hostthread.Refuse(); err != nil {
		return nil, err
	}
	cfg := streamConfig{flags: cu.CU_STREAM_NON_BLOCKING}
	absent.Apply(opts, &cfg)
	l, err := newLifetime(c, "stream")
	if err != nil {
		return nil, err
	}
	s := &Stream{life: l, core: c.core, ctx: c, d: c.core.bound, self: c.core.bound, owned: true, number: streamNumbers.Add(1)}
	s.seen = c.core.home.Faults.Taken()
	if cfg.flags&cu.CU_STREAM_NON_BLOCKING == 0 {
		c.core.legacyUsed.Store(true)
	}
	if c.core.dev.driver.Version() >= selfBound {
		s.self = c.core.dev.driver
	}
	if err := s.d.CuStreamCreateWithPriority(&s.raw, uint32(cfg.flags), clamp32(cfg.priority)); err != nil {
		return nil, l.Abandon(err)
	}
	raw, core := s.raw, s.core
	life.Own(s, l, uint64(raw), func(d *cu.Driver) error {
		core.forgetFaults(l)
		return d.CuStreamDestroy(raw)
	})
	return s, nil
}

func clamp32(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// LegacyStream returns CUDA's default stream. It and the context's blocking streams wait for each
// other. Close does nothing.
func (c *Context) LegacyStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	c.core.legacyUsed.Store(true)
	return &c.legacy
}

// legacyFaults returns the kernel faults to report after a call that waited for the legacy stream.
func (c *Context) legacyFaults() error {
	if !c.core.legacyUsed.Load() {
		return nil // the call cannot have waited for any kernel
	}
	s := &c.legacy
	return s.named(c.core.home.Faults.After(atomic.LoadUint32(&s.seen), &s.seen))
}

// PerThreadStream returns a Stream that stands for the default stream of the calling OS thread. A
// goroutine that uses it should therefore call runtime.LockOSThread. The Close method of this
// Stream does nothing. If you allocate memory in stream order on it, you must close that memory.
// Otherwise, another thread's stream orders the free.
func (c *Context) PerThreadStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.perThread
}

// BorrowStream returns a Stream for a handle of this context that other code owns. The handle must
// stay valid while the Stream is used. Close does nothing. An executable graph uses the stream of
// its last launch until its Wait or Run returns, or until it is closed and that launch has ended.
func (c *Context) BorrowStream(raw CUstream) (*Stream, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if raw == 0 || raw == cu.CU_STREAM_LEGACY {
		c.core.legacyUsed.Store(true)
	}
	s := c.borrowed(raw)
	return &s, nil
}

// borrowed returns a stream that stays open as long as its context.
func (c *Context) borrowed(raw CUstream) Stream {
	seen := c.core.home.Faults.Taken()
	return Stream{life: &c.core.life, core: c.core, ctx: c, d: c.core.bound, self: c.core.bound, raw: raw, number: streamNumbers.Add(1), seen: seen}
}

// open must stay small enough to be inlined into every call.
func (s *Stream) open() bool { return s != nil && !s.life.Closed() }

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

// quiet reports whether the stream is open, no host function is running, and there is no host
// function's panic to report. It costs two more atomic loads than open.
func (s *Stream) quiet() bool {
	return s.open() && hostthread.Running.Load() == 0 && s.core.faults.pending.Load() == 0
}

// ready returns an error if the stream must reject a call or has a panic to report.
func (s *Stream) ready() error {
	if err := s.check(); err != nil {
		return err
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	return s.fault()
}

// fault removes and returns the oldest host function panic from this stream, or from a graph in the
// context.
func (s *Stream) fault() error {
	if s.core.faults.pending.Load() == 0 {
		return nil
	}
	return s.named(s.core.faults.take(s.life, s.raw))
}

func (s *Stream) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v: %w", s, err)
}

// Raw returns the driver's handle, or 0 (CUDA's default stream) for nil.
func (s *Stream) Raw() CUstream {
	if s == nil {
		return 0
	}
	return s.raw
}

// Context returns the context that the stream belongs to.
func (s *Stream) Context() *Context {
	if s == nil {
		return nil
	}
	return s.ctx
}

// String describes the stream.
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

// Close destroys the stream. Work in it still runs. If an executable graph was last launched in the
// stream, the stream is destroyed after that launch ends.
func (s *Stream) Close() error {
	if s == nil || !s.owned {
		return nil
	}
	err := s.life.Close()
	runtime.KeepAlive(s)
	return err
}

// Do enqueues operations in the stream, in order. A capturing stream records them instead. Do does
// not wait. If an operation fails when it runs, a later call, usually Wait, returns the error. If
// an operation cannot be enqueued, the error names it. The operations before it have then been
// enqueued.
func (s *Stream) Do(ops ...Op) error {
	if !s.quiet() {
		if err := s.ready(); err != nil {
			return err
		}
	}
	if len(ops) == 1 && ops[0] != nil { // the case in nearly every call
		return ops[0].Enqueue(s)
	}
	for i, op := range ops {
		if op == nil {
			return ofSeveral(ops, i, fmt.Errorf("%v: nil operation: %w", s, CUDA_ERROR_INVALID_VALUE))
		}
		if err := op.Enqueue(s); err != nil {
			return ofSeveral(ops, i, err)
		}
	}
	return nil
}

// ofSeveral adds an operation's index to its error if there are several operations.
func ofSeveral(ops []Op, i int, err error) error {
	if len(ops) == 1 {
		return err
	}
	return fmt.Errorf("operation %d: %w", i, err)
}

// Record records e, which completes after all work already in the stream.
func (s *Stream) Record(e *Event) error {
	if !s.open() || !e.open() || e.ctx != s.ctx {
		if err := s.refuses(e); err != nil {
			return err
		}
	}
	// A wait for e need not report the faults that a wait for s has already reported.
	kernelfault.Raise(&e.seen, atomic.LoadUint32(&s.seen))
	err := s.self.CuEventRecord(e.raw, s.raw)
	runtime.KeepAlive(e)
	runtime.KeepAlive(s)
	if err != nil {
		return s.named(err)
	}
	return nil
}

// WaitEvent makes later work in the stream wait for the latest record of e, if any. The event may
// belong to another context or device.
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

// refuses returns an error if s or e cannot be used. The event may belong to another context, but
// not to another driver.
func (s *Stream) refuses(e *Event) error {
	if err := cmp.Or(s.check(), e.check()); err != nil {
		return err
	}
	return s.named(s.ctx.sameDriver(e.ctx, e))
}

// Query reports whether all work in the stream is done. It returns an error if the work failed or a
// host function panicked.
func (s *Stream) Query() (done bool, err error) {
	if s == nil {
		return false, nilError("stream")
	}
	return s.query(atomic.LoadUint32(&s.seen))
}

// query is like Query, but also returns kernel faults after the first n.
func (s *Stream) query(n uint32) (done bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if err := hostthread.Refuse(); err != nil {
		return false, err
	}
	done, err = finished(s.guardedSelf().CuStreamQuery(s.raw))
	if done {
		err = s.core.home.Faults.After(n, &s.seen)
	}
	runtime.KeepAlive(s)
	if err != nil {
		return done, s.named(err)
	}
	return done, s.fault()
}

// Wait waits for the work that was enqueued in the stream before the call. If ctx is cancelled,
// Wait returns the cause of the cancellation and the work continues. A nil ctx is never cancelled.
// The error may be from earlier work, because CUDA reports errors late. Up to GOMAXPROCS goroutines
// can wait with the latency of the driver's blocking call. With more, a wait takes up to a
// millisecond longer, but needs no thread. Do not wait for a capturing stream.
func (s *Stream) Wait(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.life.Retain(); err != nil {
		return s.closedError()
	}
	waits.now.Add(1)
	defer waits.now.Add(-1)
	n := atomic.LoadUint32(&s.seen)
	m, err := s.queryOrMark(n)
	if m == nil {
		s.life.Done()
		return err
	}
	if err := await(ctx, m, n); err != nil {
		return s.named(err)
	}
	return s.fault()
}

// queryOrMark records a mark after the stream's current work and returns it. The mark later
// releases the stream reference that the caller retained. If the work is done or has failed,
// queryOrMark returns a nil mark and the result.
func (s *Stream) queryOrMark(n uint32) (*mark, error) {
	defer leave(s.core.enter())
	if over, err := s.query(n); over || err != nil {
		return nil, err
	}
	m, err := s.core.markStream(s)
	return m, s.named(err)
}

// Priority returns the priority. The default is 0, and lower numbers go first.
func (s *Stream) Priority() (int, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	var p int32
	err := s.d.CuStreamGetPriority(s.raw, &p)
	runtime.KeepAlive(s)
	return int(p), s.named(err)
}

// Flags returns the flags that the stream was created with.
func (s *Stream) Flags() (cu.CUstream_flags, error) {
	if err := s.check(); err != nil {
		return 0, err
	}
	var f uint32
	err := s.d.CuStreamGetFlags(s.raw, &f)
	runtime.KeepAlive(s)
	return cu.CUstream_flags(f), s.named(err)
}

// CaptureStatus returns the status of the stream's capture, its ID and its graph. The status
// distinguishes an active capture from an invalidated one. The ID is unique in the process. The
// capture owns the graph. If there is no capture, the ID and the graph are 0. The query does not
// invalidate captures.
func (s *Stream) CaptureStatus() (status cu.CUstreamCaptureStatus, id uint64, graph CUgraph, err error) {
	if err := s.check(); err != nil {
		return 0, 0, 0, err
	}
	var i captureInfo
	capturing, err := s.recording() // a cheaper query, which is usually enough
	if err == nil && capturing {
		i, err = s.captureInfo()
	}
	runtime.KeepAlive(s)
	return i.status, i.id, i.graph, s.named(err)
}

type captureInfo struct {
	status cu.CUstreamCaptureStatus
	id     uint64
	graph  CUgraph
}

// captureInfo calls the newest version of the function that the driver has. The version introduced
// in CUDA 12.3 can also return edge data, but captureInfo does not request it.
func (s *Stream) captureInfo() (i captureInfo, err error) {
	d := s.core.guarded
	if d.Has(cu.FnCuStreamGetCaptureInfo) {
		err = d.CuStreamGetCaptureInfo(s.raw, &i.status, &i.id, &i.graph, nil, nil, nil)
	} else {
		err = d.CuStreamGetCaptureInfo_v11030(s.raw, &i.status, &i.id, &i.graph, nil, nil)
	}
	return i, err
}

// After makes later work in s run after all work already in other. If other is capturing, s joins
// the capture. Each call creates and destroys an event. For repeated calls, it is cheaper to use
// your own event and WaitEvent.
func (s *Stream) After(other *Stream) error {
	if err := s.ready(); err != nil {
		return err
	}
	if err := other.ready(); err != nil {
		return fmt.Errorf("%v cannot run after another stream: %w", s, err)
	}
	e, err := other.Context().NewEvent()
	if err != nil {
		return fmt.Errorf("%v cannot run after %v: %w", s, other, err)
	}
	err = other.Record(e)
	if err == nil {
		err = s.WaitEvent(e)
	}
	return errors.Join(err, e.Close())
}

// Ready is for packages that make raw calls. It returns nil if this goroutine can enqueue work in
// the stream. It fails if the stream is closed, the caller is a host function, or a host function's
// panic is unreported.
func (s *Stream) Ready() error { return s.ready() }

var streamNumbers atomic.Uint64

// Number returns a number that identifies the Stream among all Streams of the process, including
// closed ones. It returns 0 for nil. Two Streams from BorrowStream have different numbers, even if
// they have the same handle. Other packages use the number as a key for data about a stream,
// without keeping the stream alive. Handles are no keys: the driver reuses them.
func (s *Stream) Number() uint64 {
	if s == nil {
		return 0
	}
	return s.number
}

// Lifetime returns the ownership record: the context's for a borrowed stream.
func (s *Stream) Lifetime() *life.Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}
