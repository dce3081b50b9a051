package turn

import "github.com/purecuda/cuda/driver"

// Tied is the Destroyer of an executable graph.
type Tied interface {
	// Tie returns the current tie of the executable graph, or nil if it uses no shared memory.
	Tie() (*Tie, error)
}

// Guest returns a tie for work in the plan's memory that is not an executable graph. The caller
// enqueues such work itself, between Hold and Release, and calls Leave at the end.
func Guest(u *Turn, p *Plan) *Tie {
	t := &Tie{turn: u, plan: p, guest: true}
	u.prune()
	u.members.Lock()
	defer u.members.Unlock()
	u.ties = append(u.ties, t)
	return t
}

// Use adds memory to a guest.
func (t *Tie) Use(m *Memory) {
	t.turn.members.Lock()
	defer t.turn.members.Unlock()
	t.memory = append(t.memory[:len(t.memory):len(t.memory)], m) // copied, because Uses may have returned the old list
}

// Hold makes s wait like a launch, and makes all other launches wait until Release. Between these
// calls, the holder enqueues work in s that must not be separated by a launch of another executable
// graph. An example is copies of inputs and the launch that reads them. To launch an executable
// graph, the holder calls LetLaunch. A goroutine that waits for a Hold must not hold other locks
// that a launch needs.
func (t *Tie) Hold(s *driver.Stream) error {
	u := t.turn
	u.mu.Lock()
	if err := u.enqueue(t, s, nothing); err != nil {
		u.mu.Unlock()
		return err
	}
	return nil
}

func nothing() error { return nil }

// Settle prepares for a capture of s. If the latest launch is in s, other streams could not wait for
// it during the capture, so Settle records the event for which they wait.
func (u *Turn) Settle(s *driver.Stream) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last.Stream != s {
		return nil
	}
	return u.last.Settle()
}

// LetLaunch calls launch, which launches the executable graph of tie. The caller must hold the turn,
// and nothing else may launch that executable graph. tie may be nil.
func (t *Tie) LetLaunch(tie *Tie, launch func() error) error {
	if tie == nil || tie.turn != t.turn {
		return launch()
	}
	tie.held = true
	defer func() { tie.held = false }()
	return launch()
}

// Release ends a Hold. worked reports whether the holder enqueued work that counts as a launch of
// t.
func (t *Tie) Release(worked bool) {
	defer t.turn.mu.Unlock() // runs even if the Watcher panics
	if worked {
		t.launched()
	}
}
