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
	"github.com/purecuda/cuda/internal/life"
)

// Stream is a queue of work on a device. Work in one stream runs in order. Streams run concurrently
// unless events order them.
type Stream struct {
	life  *life.Lifetime
	core  *contextCore // of ctx: one load less where it counts
	ctx   *Context
	d     *Driver // bound to ctx
	self  *Driver // for calls to which the stream says the context; see selfBound
	raw   CUstream
	owned bool

	number uint64 // see Number
}

// selfBound is the first CUDA version whose driver was seen to make calls in the context of the
// stream they name, whatever the thread's current context: events, queries, copies and fills,
// stream-ordered memory, graph launches. Binding these calls would only add cost.
// TestStreamsNameTheirContext checks the driver.
const selfBound = 13000

// guardedSelf is self for guarded calls.
func (s *Stream) guardedSelf() *Driver {
	if s.owned {
		return s.core.loose
	}
	return s.core.guarded
}

// Driver returns the view of the driver for calls that take this stream and need no other context.
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

// WithPriority sets the priority: lower numbers go first. The driver clamps it to
// [Context.StreamPriorityRange].
func WithPriority(p int) StreamOption {
	return func(c *streamConfig) { c.priority = p }
}

// WithLegacySync makes the stream and the legacy stream wait for each other, the default of CUDA
// but not here.
func WithLegacySync() StreamOption {
	return func(c *streamConfig) { c.flags = cu.CU_STREAM_DEFAULT }
}

// NewStream creates a stream, by default not synchronised with the legacy one.
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

// clamp32 returns the 32-bit number nearest to n.
func clamp32(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

// LegacyStream returns CUDA's default stream. It and all blocking streams of the context wait for
// each other. Closing it does nothing.
func (c *Context) LegacyStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.legacy
}

// PerThreadStream returns the default stream of the OS thread that makes each call: a goroutine
// that uses it should call runtime.LockOSThread. Closing it does nothing. Close memory allocated in
// its order: otherwise it is freed in the order of another thread's stream.
func (c *Context) PerThreadStream() *Stream {
	if c == nil || c.core == nil {
		return nil
	}
	return &c.perThread
}

// BorrowStream returns a Stream for a handle of this context that other code owns, which must stay
// valid while the Stream is in use. Closing it does nothing. An executable graph uses the stream of
// its last launch until its own Wait or Run has waited for it, or it is closed and the launch has
// ended.
func (c *Context) BorrowStream(raw CUstream) (*Stream, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	s := c.borrowed(raw)
	return &s, nil
}

// borrowed returns a stream that is open as long as its context.
func (c *Context) borrowed(raw CUstream) Stream {
	return Stream{life: &c.core.life, core: c.core, ctx: c, d: c.core.bound, self: c.core.bound, raw: raw, number: streamNumbers.Add(1)}
}

// open is part of every call. It is small, so that it is inlined.
func (s *Stream) open() bool { return s != nil && !s.life.Closed() }

// check is open with an error.
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

// quiet is open for calls that may have to be refused, or that report a host function's panic. It
// costs two more atomic loads.
func (s *Stream) quiet() bool {
	return s.open() && hostthread.Running.Load() == 0 && s.core.faults.pending.Load() == 0
}

// ready is quiet with an error.
func (s *Stream) ready() error {
	if err := s.check(); err != nil {
		return err
	}
	if err := hostthread.Refuse(); err != nil {
		return err
	}
	return s.fault()
}

// fault returns, once, the panic of a host function that was enqueued in this stream.
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

// Raw returns the driver's handle. 0, for nil, is CUDA's legacy stream.
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

// Close destroys the stream. Work in it still runs. An executable graph delays it until its last
// launch here is known to have ended.
func (s *Stream) Close() error {
	if s == nil || !s.owned {
		return nil
	}
	err := s.life.Close()
	runtime.KeepAlive(s)
	return err
}

// Do enqueues operations in the stream, in order, or records them if the stream is capturing. It
// does not wait: if an operation fails when it runs, a later call returns the error, usually Wait.
// If one of several cannot be enqueued, the error names it, and those before it are enqueued.
func (s *Stream) Do(ops ...Op) error {
	if !s.quiet() {
		if err := s.ready(); err != nil {
			return err
		}
	}
	if len(ops) == 1 && ops[0] != nil { // nearly every call
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

// ofSeveral names the operation that an error belongs to, unless there is only one.
func ofSeveral(ops []Op, i int, err error) error {
	if len(ops) == 1 {
		return err
	}
	return fmt.Errorf("operation %d: %w", i, err)
}

// Record makes e complete after all work already in the stream.
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

// WaitEvent makes later work in the stream wait for the latest record of e, if any. The event may
// be of another context or device.
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

// refuses returns what is wrong with the stream or the event, or nil. An event of another context
// may be valid, one of another driver never is.
func (s *Stream) refuses(e *Event) error {
	if err := cmp.Or(s.check(), e.check()); err != nil {
		return err
	}
	return s.named(s.ctx.sameDriver(e.ctx, e))
}

// Query reports whether all work in the stream is done, or the error of the work or of a host
// function that panicked.
func (s *Stream) Query() (done bool, err error) {
	if err := s.check(); err != nil {
		return false, err
	}
	if err := hostthread.Refuse(); err != nil {
		return false, err
	}
	done, err = finished(s.guardedSelf().CuStreamQuery(s.raw))
	runtime.KeepAlive(s)
	if err != nil {
		return false, s.named(err)
	}
	return done, s.fault()
}

// Wait returns when the work enqueued in the stream before the call is done, or with the cause of
// ctx's cancellation, after which the work continues. A nil ctx is never cancelled. The error may
// be that of earlier work, because CUDA reports errors late. Up to GOMAXPROCS goroutines wait as
// fast as the driver's blocking call. More take up to about a millisecond longer, without a thread
// each. A capturing stream cannot be waited for.
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

// queryOrMark returns a mark of the stream's work so far, or nil and the result if the wait is
// already over. The mark releases the reference that the caller retained.
func (s *Stream) queryOrMark() (*mark, error) {
	defer leave(s.core.enter())
	if over, err := s.Query(); over || err != nil {
		return nil, err
	}
	m, err := s.core.markStream(s)
	return m, s.named(err)
}

// Priority returns the stream's priority: 0 by default, lower goes first.
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

// Recording reports whether work enqueued in the stream now is recorded in a graph instead of
// running. It does not disturb any capture.
func (s *Stream) Recording() (bool, error) {
	if err := s.check(); err != nil {
		return false, err
	}
	capturing, err := s.recording()
	runtime.KeepAlive(s)
	return capturing, s.named(err)
}

// CaptureGraph returns the graph of the stream's capture, which owns it, and the capture's number.
// Both are 0 for a stream that is not capturing.
func (s *Stream) CaptureGraph() (graph CUgraph, id uint64, err error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	capturing, err := s.recording() // the cheaper question, which mostly is enough
	if err != nil || !capturing {
		runtime.KeepAlive(s)
		return 0, 0, s.named(err)
	}
	i, err := s.captureInfo()
	runtime.KeepAlive(s)
	switch {
	case err != nil:
		return 0, 0, s.named(err)
	case i.status == cu.CU_STREAM_CAPTURE_STATUS_NONE:
		return 0, 0, nil
	case i.status != cu.CU_STREAM_CAPTURE_STATUS_ACTIVE:
		return 0, 0, s.named(&Error{Func: cu.FnCuStreamGetCaptureInfo, Result: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED})
	}
	return i.graph, i.id, nil
}

type captureInfo struct {
	status cu.CUstreamCaptureStatus
	id     uint64
	graph  CUgraph
}

// captureInfo uses the ABI that the driver has. The ABI since CUDA 12.3 also returns edge data,
// which is not requested.
func (s *Stream) captureInfo() (i captureInfo, err error) {
	d := s.core.guarded
	if d.Has(cu.FnCuStreamGetCaptureInfo) {
		err = d.CuStreamGetCaptureInfo(s.raw, &i.status, &i.id, &i.graph, nil, nil, nil)
	} else {
		err = d.CuStreamGetCaptureInfo_v11030(s.raw, &i.status, &i.id, &i.graph, nil, nil)
	}
	return i, err
}

// CaptureStatus returns the status, which distinguishes a capture in progress from an invalidated
// one, and the capture's number, unique in the process.
func (s *Stream) CaptureStatus() (status cu.CUstreamCaptureStatus, id uint64, err error) {
	if err := s.check(); err != nil {
		return 0, 0, err
	}
	i, err := s.captureInfo()
	runtime.KeepAlive(s)
	return i.status, i.id, s.named(err)
}

// After makes later work in s run after all work already in other. It does not wait. If other is
// capturing, s joins the capture. It creates and releases an event: in every step, your own event
// and WaitEvent are cheaper.
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

// Ready is for packages that make raw calls. It returns nil if the stream can take work from this
// goroutine: it is open, the caller is not a host function, and no host function in it has panicked
// since the last report.
func (s *Stream) Ready() error { return s.ready() }

var streamNumbers atomic.Uint64

// Number returns a number that is unique among all Streams of the process, even closed ones, and 0
// for nil. Two Streams from BorrowStream for one handle differ. It is for packages that store
// something for a stream without keeping it alive: the driver reuses handles.
func (s *Stream) Number() uint64 {
	if s == nil {
		return 0
	}
	return s.number
}

// Lifetime returns the ownership record, for a borrowed stream the context's.
func (s *Stream) Lifetime() *life.Lifetime {
	if s == nil {
		return nil
	}
	return s.life
}
