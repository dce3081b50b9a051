package graph

import (
	"cmp"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/retain"
	"github.com/purecuda/cuda/graph/internal/turn"
	"github.com/purecuda/cuda/internal/life"
	"github.com/purecuda/cuda/internal/uses"
)

type launchOp struct {
	x    *Exec
	refs [1]life.Ref
}

// Op returns the launch of x as an operation. The operation can run in a stream, be staged before
// the launch of another Exec, or be added to a graph. CUDA has no node that launches an executable
// graph, so in a graph the operation becomes a child graph: a copy of x's current graph. Adding it
// returns an error if x itself was changed (by Set, Enable, bindings or an update), because the
// copy would then differ from x.
func (x *Exec) Op() driver.Op {
	l := &launchOp{x: x}
	if x != nil {
		l.refs[0] = x
	}
	return l
}

// Enqueue implements driver.Op with Exec.Launch.
func (l *launchOp) Enqueue(s *driver.Stream) error { return l.x.Launch(s) }

// Context implements driver.Op.
func (l *launchOp) Context() *driver.Context { return l.x.Context() }

// Uses implements driver.Op. It does not list the accesses of the graph's nodes.
func (l *launchOp) Uses() uses.Set {
	if l.x == nil {
		return uses.Set{}
	}
	return uses.Set{Refs: l.refs[:]}
}

// String implements driver.Op.
func (l *launchOp) String() string { return "launch of " + l.x.String() }

// child returns a graph whose copy, as a child graph, does the same work as the launch. It returns
// an error if there is none because the Exec was changed.
func (l *launchOp) child() (*Graph, error) {
	x := l.x
	if err := x.lock(); err != nil {
		return nil, err
	}
	defer x.keep.mu.Unlock()
	if x.changed {
		return nil, refuse(driver.CUDA_ERROR_NOT_SUPPORTED,
			"it has changed since it was made from %v, and a child graph would be a copy of that graph: change the graph too and add it with AddChild", x.g)
	}
	return x.g, nil
}

func (l *launchOp) addTo(g *Graph, deps []Node) (Node, error) {
	child, err := l.child()
	if err != nil {
		return Node{}, g.addError(l, err)
	}
	n, err := g.AddChild(child, deps...)
	if err != nil {
		return Node{}, g.addError(l, err)
	}
	return n, nil
}

func (l *launchOp) setIn(x *Exec, n Node) error {
	child, err := l.child()
	if err != nil {
		return setError(n, x, l, err)
	}
	return x.SetChild(n, child)
}

// recordIn adds a child graph after the current dependencies of the scope, because captures reject
// graph launches.
func (l *launchOp) recordIn(sc *Scope) error {
	child, err := l.child()
	if err == nil {
		err = sc.addChild(child)
	}
	if err != nil {
		return fmt.Errorf("cannot record %v in the capture of %v: %w", l, sc.s, err)
	}
	return nil
}

// addChild adds the child graph. It locks the child and the graph that is being captured in the
// order of lockBoth.
func (sc *Scope) addChild(child *Graph) error {
	g, err := sc.Graph()
	if err != nil {
		return err
	}
	if g == child {
		return invalid("it is the graph that is captured")
	}
	first := child.lockSeq() < g.lockSeq()
	if first {
		if err := child.lock(); err != nil {
			return err
		}
		defer child.mu.Unlock()
	}
	_, err = sc.addPending(func(g *Graph, from *cu.CUgraphNode, data *cu.CUgraphEdgeData, n uintptr) (Node, error) {
		if !first {
			if err := child.lock(); err != nil {
				return Node{}, err
			}
			defer child.mu.Unlock()
		}
		return g.addChild(child, from, data, n)
	})
	return err
}

// turns are flags for what a launch must do because graphs share memory. They are zero for most
// Execs.
type turns uint8

const (
	memoryChanged turns = 1 << iota // the references have changed since execKeep.tie was set
	tied                            // execKeep.tie is not nil
)

// Tie implements turn.Tied.
func (k *execKeep) Tie() (*turn.Tie, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turns == 0 {
		return nil, nil
	}
	_, err := k.takesTurns()
	return k.tie, err
}

// joinTurn ties an Exec that is about to be instantiated to the memory that its graph shares with
// other graphs. It returns nil if the graph shares no memory.
func (g *Graph) joinTurn(o options) (*turn.Tie, error) {
	if !g.keep.refs.Shares {
		return nil, nil
	}
	tie, err := turn.Join(nil, g.keep.refs)
	if err != nil {
		return nil, fmt.Errorf("cannot instantiate %v: %w", g, err)
	}
	if tie != nil && o.flags&cu.CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH != 0 {
		tie.Leave()
		return nil, fmt.Errorf("cannot instantiate %v: %w", g, invalid(
			"it uses memory of an arena, and kernels that launch a graph do not wait for other graphs of the arena: leave out WithDeviceLaunch"))
	}
	return tie, nil
}

func (k *execKeep) setTie(tie *turn.Tie) {
	k.tie, k.turns = tie, 0
	if tie != nil {
		k.turns = tied
	}
}

// takesTurns reports whether launches must wait for the launches of other Execs. If the references
// have changed, it first updates execKeep.tie.
func (k *execKeep) takesTurns() (bool, error) {
	if k.turns == memoryChanged && !k.refs.Shares { // the usual case after Set and Update
		k.turns = 0
		return false, nil
	}
	if k.turns&memoryChanged != 0 {
		tie, err := turn.Join(k.tie, k.refs)
		if err != nil {
			return false, err
		}
		k.setTie(tie)
	}
	return k.tie != nil, nil
}

// launchInTurn launches after the latest launch of every Exec that uses the same memory. bs, if not
// nil, are bindings to send with the launch. If err is not nil, launchInTurn returns it.
//
// The arena may call a function of the program. If that function panics or calls runtime.Goexit,
// launchInTurn unlocks the Exec, because its callers unlock the Exec only if it returns.
func (k *execKeep) launchInTurn(s *driver.Stream, bs *Bindings, err error) error {
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned {
			k.mu.Unlock()
		}
	}()
	err = k.tie.Launch(s, func() error {
		send := func() error {
			if bs != nil {
				return bs.send(s)
			}
			return s.Driver().CuGraphLaunch(k.raw, s.Raw())
		}
		if k.Follows(s) {
			err = send()
		} else {
			err = k.Move(s, send)
		}
		if err == nil {
			k.Launched()
		}
		return err
	})
	returned = true
	return err
}

// stageInTurn enqueues operations with send. It makes s wait for the launches of other Execs that use
// the same memory, and makes their later launches wait for the operations. On the per-thread stream,
// the caller must lock the goroutine to its thread first.
//
// If stageInTurn returns nil, operations may be staged even if failed is set.
func (k *execKeep) stageInTurn(s *driver.Stream, send func() error, failed *error) error {
	if k.turns == 0 {
		return send()
	}
	if turn, err := k.takesTurns(); err != nil {
		return err
	} else if !turn {
		return send()
	}
	tie := k.tie
	if err := tie.Stage(s, func() error { return nil }); err != nil {
		return err
	}
	err := send()
	*failed = cmp.Or(*failed, tie.Staged(s))
	return err
}

// doInTurn enqueues an operation of Stage. If it uses memory that graphs share, it runs after the
// latest launch of every other Exec that uses the same memory, and before their later launches.
func (k *execKeep) doInTurn(s *driver.Stream, op driver.Op) error {
	if k.turns&tied == 0 || op == nil || !retain.SharesAny(op.Uses().Refs) {
		return s.Do(op)
	}
	return k.tie.Stage(s, func() error { return s.Do(op) })
}
