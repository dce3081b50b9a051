// Package arena lets CUDA graphs that never run at the same time use the same device memory.
//
// An [Arena] is device memory, and a [Plan] is the part of it that one graph uses. Plans overlap:
// each begins at the start of the arena. A program creates a plan, allocates buffers from it,
// records a graph that uses them, and closes all buffers whose contents it does not need outside
// the graph. The next plan may then use the same addresses.
//
//	p, err := a.Plan("decode 1")
//	x, err := arena.Alloc[float32](p, n)
//	g, err := graph.Capture(s, graph.ModeGlobal, func(sc *graph.Scope) error { ... })
//	err = p.Seal(result) // closes the plan's buffers except result
//	exec, err := g.Instantiate()
//
// # Order
//
// Executable graphs that use memory of one arena never run concurrently. Instantiate detects such
// memory, including in child graphs. Exec.Set, Exec.Update and bindings also detect it. A launch
// waits in stream order for the latest launch of another executable graph of the arena. If both are
// on the same stream, this costs nothing. On different streams, it costs an event. With
// [WithRefusal], such a launch fails instead, unless the other launch has ended. A graph that uses
// memory of two arenas can be neither instantiated nor launched. Graphs of an arena do not support
// WithDeviceLaunch.
//
// The arena orders only executable graphs that this library launches. The program must make other
// work wait for these launches: copies, fills and kernels that use the buffers directly, and
// launches by raw handle.
//
// # Contents
//
// When a graph of another plan runs, the contents of a plan's memory become undefined. So a graph
// must write a buffer before it reads it, as with any uninitialised memory. Keep inputs and
// constants outside the arena, or copy them in as part of the graph. Exec.Stage can write to a
// buffer of the arena, if no other graph of the arena is launched between the call to Stage and the
// launch.
//
// Plans that allocate later do not get the range of an open buffer. But a graph recorded earlier,
// when the range was free, can still overwrite the buffer. [Arena.Check] and [Plan.Valid] report
// this loss, and [WithCheck] reports it when it happens.
package arena

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/turn"
	"github.com/purecuda/cuda/internal/absent"
	"github.com/purecuda/cuda/internal/elem"
	"github.com/purecuda/cuda/internal/life"
)

// Arena is device memory of one context that several graphs share. It grows in chunks, whose
// addresses never change. On devices that map memory to addresses, as all recent ones do, the
// chunks are adjacent. On other devices a buffer cannot span two chunks, so create the plan of the
// largest graph first. Other devices cannot access the memory. An Arena is safe for concurrent use.
type Arena struct {
	life *life.Lifetime
	core *core
}

func (a *Arena) exists() bool { return a != nil && a.core != nil }

// Option configures New.
type Option func(*core)

// WithLimit limits the size of the arena. An allocation that needs more fails with an error that
// matches CUDA_ERROR_OUT_OF_MEMORY. The limit is rounded up to a multiple of 2 MiB on devices that
// map memory to addresses. The default is no limit.
func WithLimit(bytes uint64) Option {
	return func(c *core) { c.limit = bytes }
}

// WithChunk sets the minimum number of bytes by which the arena grows. The default is 2 MiB, or a
// sixteenth of the arena's size if that is more.
func WithChunk(bytes uint64) Option {
	return func(c *core) { c.chunk = bytes }
}

// WithRefusal makes launches fail that would otherwise wait for a graph of the arena on another
// stream. The error is an *[OverlapError].
func WithRefusal() Option {
	return func(c *core) { c.turn.Refuse = true }
}

// WithCheck makes the arena detect lost results. It calls report with an *[OverwrittenError] in two
// cases:
//
//   - A launch overwrites an open buffer of another plan that a graph has written, and
//     [Arena.Check] or [Plan.Valid] was not called since. So call one of them before you read a
//     result, and close buffers that you do not read.
//   - A graph that uses a buffer of another plan is launched after that buffer was overwritten.
//
// The launch that is reported is already enqueued, and report must not use the arena or launch
// graphs. If report is nil, slog.Warn receives the error. Each launch then costs time in proportion
// to the number of buffers.
func WithCheck(report func(error)) Option {
	if report == nil {
		report = func(err error) { slog.Warn(err.Error()) }
	}
	return func(c *core) {
		c.report = report
		c.turn.Watch = c
	}
}

// New returns an empty arena in the memory of the context's device.
func New(c *driver.Context, opts ...Option) (*Arena, error) {
	l, err := life.New(c.Lifetime(), "arena")
	if err != nil {
		return nil, err
	}
	core := &core{ctx: c, life: l}
	core.turn.Live = core.live
	absent.Apply(opts, core)
	a := &Arena{life: l, core: core}
	life.Own(a, l, 0, core.free)
	return a, nil
}

// Close makes the arena reject new plans and buffers. The memory is freed when all its buffers are
// closed and the graphs that use them are closed and have ended.
func (a *Arena) Close() error {
	if !a.exists() {
		return nil
	}
	return a.life.Close()
}

// Context returns the context of the memory.
func (a *Arena) Context() *driver.Context {
	if !a.exists() {
		return nil
	}
	return a.core.ctx
}

// Lifetime returns the arena's ownership record.
func (a *Arena) Lifetime() *life.Lifetime {
	if !a.exists() {
		return nil
	}
	return a.life
}

// Plan returns a new plan for the memory of one graph. The name appears in errors and reports.
func (a *Arena) Plan(name string) (*Plan, error) { return a.plan(name, false) }

// SharedPlan is like Plan for a graph that is recorded more than once. Plans that allocate later
// may use the ranges of its buffers even while the buffers are open. So the buffers can stay open
// until the graph needs no more updates, and each recording can use the same ones. Their contents
// are undefined after a graph of another plan was launched.
//
// [Plan.Valid] and [WithCheck] do not treat the plan's buffers as results.
func (a *Arena) SharedPlan(name string) (*Plan, error) { return a.plan(name, true) }

func (a *Arena) plan(name string, shared bool) (*Plan, error) {
	if !a.exists() {
		return nil, anArena.Error(a == nil)
	}
	if err := a.life.Check(); err != nil {
		return nil, fmt.Errorf("cannot make plan %q: %w", name, err)
	}
	c := a.core
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	p := &plan{Plan: turn.Plan{Name: name, Number: c.made}, shared: shared}
	c.plans = append(c.plans, p)
	made := &Plan{arena: a, p: p}
	runtime.AddCleanup(made, func(p *plan) { go c.drop(p) }, p) // on a goroutine, because c.mu is locked during driver calls
	return made, nil
}

// drop removes a plan that became unreachable, once nothing uses its memory any more.
func (c *core) drop(p *plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.closed = true
	c.forget(p)
}

// core is the part of an arena that its buffers need.
type core struct {
	ctx    *driver.Context
	life   *life.Lifetime
	turn   turn.Turn
	limit  uint64 // 0 means no limit
	chunk  uint64 // 0 means the default
	report func(error)

	unmapped bool // set by tests to simulate a device that cannot map memory

	mu     sync.Mutex // locked after Turn's locks
	chunks []*chunk
	plans  []*plan
	made   uint64 // number of plans so far
}

// plan is the part of a Plan that its buffers need.
type plan struct {
	turn.Plan
	pieces []*piece // buffers that are open or that graphs use
	shared bool     // other plans may use the ranges of open buffers
	sealed bool
	closed bool
}

// piece is the memory of a buffer. Once the buffer is closed, other buffers may get its range, even
// while graphs use the piece.
type piece struct {
	memory  turn.Memory
	life    life.Lifetime
	c       *core
	plan    *plan
	kind    string // kind of the buffer, for reports
	checked uint64 // Turn.Now at the latest check
}

// SharedMemory implements retain.Shared.
func (*piece) SharedMemory() {}

// Memory implements turn.Holder.
func (p *piece) Memory() *turn.Memory { return &p.memory }

func (p *piece) open() bool { return !p.life.Closed() }

// reserved reports whether no buffer of another plan may be placed in p's range.
func (p *piece) reserved() bool { return !p.plan.shared && p.open() }

func (p *piece) end() uint64 { return p.memory.At + p.memory.Size }

// Destroy implements life.Destroyer. It runs when nothing uses the piece any more.
func (p *piece) Destroy(*cu.Driver) error {
	c := p.c
	c.mu.Lock()
	defer c.mu.Unlock()
	p.plan.pieces = slices.DeleteFunc(p.plan.pieces, func(o *piece) bool { return o == p })
	c.forget(p.plan)
	return nil
}

// forget removes a closed plan without memory.
func (c *core) forget(p *plan) {
	if p.closed && len(p.pieces) == 0 {
		c.plans = slices.DeleteFunc(c.plans, func(o *plan) bool { return o == p })
	}
}

// Plan is the memory of one graph in an arena. Later buffers of the same plan and of other plans
// may use the memory of closed buffers.
//
// Within a plan, the order of Alloc and Close must be the order of the work. If parts of the graph
// run concurrently, close the temporary buffers of one part only after allocating the buffers of
// the other parts. Graph.Check reports violations of this order.
//
// A Plan is safe for concurrent use.
type Plan struct {
	arena *Arena
	p     *plan
	held  []held // protected by core.mu
}

func (p *Plan) exists() bool { return p != nil && p.p != nil }

// Name returns the name of the plan.
func (p *Plan) Name() string {
	if !p.exists() {
		return ""
	}
	return p.p.Name
}

// Arena returns the arena of the plan.
func (p *Plan) Arena() *Arena {
	if !p.exists() {
		return nil
	}
	return p.arena
}

// String returns the name of the plan in quotes.
func (p *Plan) String() string {
	if !p.exists() {
		return "no plan"
	}
	return fmt.Sprintf("plan %q", p.p.Name)
}

// Alloc allocates n elements for the plan. The range overlaps no open buffer of the arena, except
// open buffers of other shared plans. The contents are undefined at the start of each launch of the
// graph.
//
// Close the buffer when the recorded work no longer needs it, or let [Plan.Seal] close it. The plan
// keeps the buffer reachable until then. Graphs recorded with the buffer continue to use its
// address. Alloc works during captures, and may call the driver to grow the arena.
func Alloc[T any](p *Plan, n int) (*driver.Buffer[T], error) {
	if !p.exists() {
		return nil, aPlan.Error(p == nil)
	}
	b, err := alloc[T](p, n)
	if err != nil {
		return nil, fmt.Errorf("cannot allocate %d × %T in %v of the arena: %w", n, *new(T), p, err)
	}
	return b, nil
}

func alloc[T any](p *Plan, n int) (*driver.Buffer[T], error) {
	bytes, err := elem.Bytes[T](n)
	if err != nil {
		return nil, err
	}
	c := p.arena.core
	m := &piece{c: c, plan: p.p, kind: fmt.Sprintf("buffer of %T", *new(T))}
	m.life.SetKind(fmt.Sprintf("%s in %v", m.kind, p))
	if err := m.life.BeginIn(c.life); err != nil {
		return nil, err
	}
	if err := c.place(m, uint64(bytes)); err != nil {
		_ = m.life.Abandon(err)
		return nil, err
	}
	b, err := driver.BufferAt[T](c.ctx, &m.life, driver.CUdeviceptr(m.memory.At), n, m)
	if err == nil {
		p.hold(m, b)
	}
	return b, err
}

// hold keeps a buffer reachable until the plan is sealed, because Seal closes it.
func (p *Plan) hold(m *piece, buffer any) {
	c := p.arena.core
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p.held) == cap(p.held) { // drop closed buffers before the list grows
		p.held = slices.DeleteFunc(p.held, func(h held) bool { return !h.open() })
	}
	p.held = append(p.held, held{m, buffer})
}

// held is a buffer that Seal closes. The piece must not refer to the buffer, or the buffer would
// never become unreachable.
type held struct {
	*piece
	buffer any
}

// Seal ends the recording of the plan. It closes all open buffers of the plan except those in keep,
// and makes later allocations fail. The memory of the closed buffers is then available to other
// plans.
func (p *Plan) Seal(keep ...driver.Memory) error {
	if !p.exists() {
		return aPlan.Error(p == nil)
	}
	kept := make(map[*life.Lifetime]bool)
	for _, m := range keep {
		if m == nil || m.Ref() == nil {
			return fmt.Errorf("cannot seal %v: %w", p, aBuffer.Error(m == nil))
		}
		kept[m.Ref().Lifetime()] = true
	}
	return p.seal(kept, false)
}

// Close closes all open buffers of the plan and removes the plan when no graph uses its memory any
// more.
func (p *Plan) Close() error {
	if !p.exists() {
		return nil
	}
	return p.seal(nil, true)
}

func (p *Plan) seal(kept map[*life.Lifetime]bool, closed bool) error {
	c := p.arena.core
	c.mu.Lock()
	p.p.sealed = true
	p.p.closed = p.p.closed || closed
	pieces, held := slices.Clone(p.p.pieces), p.held
	p.held = nil
	c.forget(p.p)
	c.mu.Unlock()
	defer runtime.KeepAlive(held) // a buffer that becomes unreachable before it is closed counts as a leak
	var errs []error
	for _, m := range pieces {
		if !kept[&m.life] {
			errs = append(errs, m.life.Close())
		}
	}
	return refusal.Join(errs)
}
