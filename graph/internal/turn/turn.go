// Package turn orders the launches of executable graphs that use the same memory, so that they
// never run concurrently.
package turn

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/captures"
	"github.com/purecuda/cuda/graph/internal/inflight"
	"github.com/purecuda/cuda/graph/internal/refusal"
	"github.com/purecuda/cuda/graph/internal/retain"
)

// Plan identifies the memory of one graph. Its plan in package arena has the same name.
type Plan struct {
	Name   string
	Number uint64 // later plans have larger numbers
}

// Memory is a range of shared device memory that belongs to a plan. Its exported fields do not
// change. The other fields summarise forgotten ties and are protected by Turn.members.
type Memory struct {
	Turn *Turn
	Plan *Plan
	At   uint64
	Size uint64
	Born uint64 // Turn.Now at the time of the allocation

	writtenAt uint64 // Turn.Now after the latest launch that wrote the memory
	lostAt    uint64 // Turn.Now after the latest launch that overwrote the memory
	lostBy    *Plan
}

// Holder is the Destroyer of a Memory.
type Holder interface {
	retain.Shared
	Memory() *Memory
}

// Overlaps reports whether two ranges have a byte in common.
func (m *Memory) Overlaps(o *Memory) bool { return m.At < o.At+o.Size && o.At < m.At+m.Size }

// Turn orders the launches of all executable graphs that use the memory of one arena.
type Turn struct {
	Refuse bool             // refuse a launch instead of making it wait
	Watch  Watcher          // nil except in check mode
	Live   func() []*Memory // returns all memory that Written and Overwritten may be called for

	mu   sync.Mutex // locked while a launch is enqueued; locked after the Exec
	last inflight.LastWork
	by   *Tie // the tie whose launch was enqueued last
	now  atomic.Uint64

	members sync.Mutex
	ties    []*Tie
	left    int // number of ties that have left and are not forgotten yet
}

// mostLeft is the largest number of ties that may have left without being forgotten.
const mostLeft = 32

// A Watcher is notified of launches. Launched is called after a launch was enqueued, but before the
// launch counts in Now. Other launches wait until Launched returns.
type Watcher interface{ Launched(t *Tie) }

// Tie connects an executable graph to the Turn of its memory. Its memory is protected by
// Turn.members.
type Tie struct {
	turn   *Turn
	plan   *Plan
	memory []*Memory
	at     uint64 // Turn.Now after the latest launch, or 0; protected by Turn.members
	left   bool   // the executable graph is closed
	guest  bool   // belongs to no executable graph: see Guest
	held   bool   // the caller of Launch has locked Turn.mu: see Hold
}

// Join ties an executable graph with the given references to the Turn of their shared memory. tie
// is its current tie, or nil. Join returns nil if the references contain no shared memory.
//
// If the memory belongs to several plans, the graph belongs to the plan that was created last.
func Join(tie *Tie, refs *retain.References) (*Tie, error) {
	var memory []*Memory
	var other *Memory
	known := make(map[*Memory]bool)
	refs.EachShared(func(s retain.Shared) {
		h, ok := s.(Holder)
		if !ok {
			return
		}
		m := h.Memory()
		if len(memory) > 0 && memory[0].Turn != m.Turn {
			other = m
			return
		}
		if !known[m] {
			known[m] = true
			memory = append(memory, m)
		}
	})
	if other != nil {
		return nil, refusal.Invalid("it uses memory of two arenas, of plan %q and of plan %q; a graph can use the memory of one arena only",
			memory[0].Plan.Name, other.Plan.Name)
	}
	if len(memory) == 0 {
		tie.Leave()
		return nil, nil
	}
	u := memory[0].Turn
	if tie != nil && tie.turn != u {
		tie.Leave()
		tie = nil
	}
	u.prune()
	u.members.Lock()
	defer u.members.Unlock()
	if tie == nil {
		tie = &Tie{turn: u}
		u.ties = append(u.ties, tie)
	}
	if tie.at > 0 && !slices.Equal(tie.memory, memory) { // its previous launches used the old memory
		u.ties = append(u.ties, &Tie{turn: u, plan: tie.plan, memory: tie.memory, at: tie.at, left: true})
		u.left++
		tie.at = 0
	}
	tie.memory, tie.plan = memory, memory[0].Plan
	for _, m := range memory {
		if m.Plan.Number > tie.plan.Number {
			tie.plan = m.Plan
		}
	}
	return tie, nil
}

// Leave removes the tie of a closed executable graph. On nil it does nothing. If the graph was
// launched, the tie remains until prune, because its launches have overwritten memory.
func (t *Tie) Leave() {
	if t == nil {
		return
	}
	u := t.turn
	u.members.Lock()
	defer u.members.Unlock()
	switch {
	case t.left:
	case t.at == 0:
		u.ties = slices.DeleteFunc(u.ties, func(o *Tie) bool { return o == t })
	default:
		u.left++
	}
	t.left = true
}

// Plan returns the plan that the executable graph belongs to.
func (t *Tie) Plan() *Plan {
	t.turn.members.Lock()
	defer t.turn.members.Unlock()
	return t.plan
}

// Uses returns the memory of the executable graph. The caller must not change it.
func (t *Tie) Uses() []*Memory {
	t.turn.members.Lock()
	defer t.turn.members.Unlock()
	return t.memory
}

// Launch calls send, which launches the executable graph in s. If another executable graph was
// launched last and may still be running on another stream, Launch first makes s wait for it.
func (t *Tie) Launch(s *driver.Stream, send func() error) error {
	u := t.turn
	if !t.held {
		u.mu.Lock()
		defer u.mu.Unlock()
	}
	if err := u.enqueue(t, s, send); err != nil {
		return err
	}
	t.launched()
	return nil
}

// launched counts a launch, even if the Watcher panics or calls runtime.Goexit.
func (t *Tie) launched() {
	u := t.turn
	defer func() {
		u.members.Lock()
		t.at = u.now.Add(1)
		u.members.Unlock()
	}()
	if u.Watch != nil {
		u.Watch.Launched(t)
	}
}

func (u *Turn) enqueue(t *Tie, s *driver.Stream, send func() error) error {
	if u.last.Follows(s) {
		if err := send(); err != nil {
			return err
		}
		u.last.Again()
		u.by = t
		return nil
	}
	if err := u.order(t, s); err != nil {
		return err
	}
	if err := u.last.Move(s, send); err != nil {
		return err
	}
	u.by = t
	return nil
}

// order makes later work in s run after the latest work of another executable graph. CUDA itself
// orders the launches of one executable graph.
func (u *Turn) order(t *Tie, s *driver.Stream) error {
	if u.last.Stream == nil || u.by == t {
		return nil
	}
	if captures.All.Of(s) != nil {
		return refusal.New(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"%v is being captured: add the graph as a child graph instead", s)
	}
	ended, err := u.last.IsIdle()
	if err != nil {
		return fmt.Errorf("after the launch of plan %q on %v: %w", u.by.Plan().Name, u.last.Stream, err)
	}
	switch {
	case ended:
		return nil
	case u.Refuse:
		return &OverlapError{Plan: t.Plan().Name, Running: u.by.Plan().Name}
	}
	return u.last.Precede(s)
}

// Stage is like Launch, but send enqueues an operation that prepares the next launch. Even if send
// fails, later launches of other executable graphs run after what it has enqueued.
func (t *Tie) Stage(s *driver.Stream, send func() error) error {
	u := t.turn
	u.mu.Lock()
	defer u.mu.Unlock()
	var failed error
	err := u.enqueue(t, s, func() error { failed = send(); return nil })
	return cmp.Or(err, failed)
}

// Staged makes later launches of other executable graphs also wait for operations that were enqueued
// in s after Stage, but not by it.
func (t *Tie) Staged(s *driver.Stream) error {
	u := t.turn
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.by != t:
		return nil
	case u.last.Follows(s):
		u.last.Again()
		return nil
	}
	return u.last.Move(s, nothing) // records the event of the per-thread stream again
}

// Now returns the number of launches so far.
func (u *Turn) Now() uint64 { return u.now.Load() }

// Close releases the stream and the event of the latest launch, which must have ended.
func (u *Turn) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last.End()
}

// Written returns the value of Now after the last write to m: the latest launch of a graph of m's
// plan that uses m. If there is none, Written returns m.Born.
func (u *Turn) Written(m *Memory) uint64 {
	u.members.Lock()
	defer u.members.Unlock()
	return u.written(m)
}

func (u *Turn) written(m *Memory) uint64 {
	at := max(m.Born, m.writtenAt)
	for _, t := range u.ties {
		if t.plan == m.Plan && t.at > at && slices.Contains(t.memory, m) {
			at = t.at
		}
	}
	return at
}

// Overwritten returns the plan whose launch overwrote m after m was last written, or nil.
func (u *Turn) Overwritten(m *Memory) *Plan {
	u.members.Lock()
	defer u.members.Unlock()
	at := u.written(m)
	if m.lostAt > at {
		return m.lostBy
	}
	for _, t := range u.ties {
		if t.at > at && t.overwrites(m) {
			return t.plan
		}
	}
	return nil
}

// overwrites reports whether launches may write to the range of m through other memory.
func (t *Tie) overwrites(m *Memory) bool {
	return !slices.Contains(t.memory, m) && slices.ContainsFunc(t.memory, m.Overlaps)
}

// Overwrites reports whether launches may write to the range of m through other memory.
func (t *Tie) Overwrites(m *Memory) bool {
	t.turn.members.Lock()
	defer t.turn.members.Unlock()
	return t.overwrites(m)
}

// prune forgets ties that have left, if there are many. It records their writes in the live memory.
func (u *Turn) prune() {
	u.members.Lock()
	var left []*Tie
	if u.left > mostLeft {
		for _, t := range u.ties {
			if t.left {
				left = append(left, t)
			}
		}
	}
	u.members.Unlock()
	if left == nil || u.Live == nil {
		return
	}
	live := u.Live() // read first, because memory allocated later can only be written later
	u.members.Lock()
	defer u.members.Unlock()
	for _, m := range live {
		for _, t := range left {
			m.note(t)
		}
	}
	forgotten := make(map[*Tie]bool, len(left))
	for _, t := range left {
		forgotten[t] = true
	}
	u.ties = slices.DeleteFunc(u.ties, func(t *Tie) bool { return forgotten[t] })
	u.left = 0
	for _, t := range u.ties {
		if t.left {
			u.left++
		}
	}
}

// note records what the launches of a tie did to the memory.
func (m *Memory) note(t *Tie) {
	switch {
	case t.plan == m.Plan && slices.Contains(t.memory, m):
		m.writtenAt = max(m.writtenAt, t.at)
	case t.at > m.lostAt && t.overwrites(m):
		m.lostAt, m.lostBy = t.at, t.plan
	}
}

// Ties returns the number of ties that have not left, for tests.
func (u *Turn) Ties() (n int) {
	u.members.Lock()
	defer u.members.Unlock()
	return len(u.ties) - u.left
}

// Graphs returns the number of open executable graphs of a plan.
func (u *Turn) Graphs(p *Plan) (n int) {
	u.members.Lock()
	defer u.members.Unlock()
	for _, t := range u.ties {
		if t.plan == p && !t.left && !t.guest {
			n++
		}
	}
	return n
}

// OverlapError reports a launch that was refused because a graph of another plan may still run in
// the same memory.
type OverlapError struct {
	Plan    string // plan of the launch
	Running string // plan of the graph that may still run
}

// Error names both plans.
func (e *OverlapError) Error() string {
	if e == nil {
		return "arena: two graphs overlap"
	}
	return fmt.Sprintf("plan %q shares memory with plan %q, whose latest launch may still run on another stream: wait for it first",
		e.Plan, e.Running)
}

// Unwrap makes errors.Is match CUDA_ERROR_NOT_READY.
func (e *OverlapError) Unwrap() error { return driver.CUDA_ERROR_NOT_READY }
