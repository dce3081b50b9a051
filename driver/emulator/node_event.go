package emulator

import (
	"github.com/purecuda/cuda/driver/cu"
)

// eventRecordNode records an event, and eventWaitNode waits for one.
type (
	eventRecordNode struct{ ev *event }
	eventWaitNode   struct{ ev *event }
)

func (*eventRecordNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_EVENT_RECORD }

func (*eventWaitNode) kind() cu.CUgraphNodeType { return cu.CU_GRAPH_NODE_TYPE_WAIT_EVENT }

// run sets the event's mark to the launch that is running. A wait for that mark returns when the
// whole launch has ended, which is later than on a device but never earlier. The recorded time is
// the node's.
func (n *eventRecordNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := &mark{dependency: dependency{x.stream, x.stream.done + 1, x.order}}
	n.ev.mark, n.ev.cap = m, nil
	return (*recordMark)(m).locked(x)
}

func (n *eventWaitNode) run(x *execution) result {
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	m := n.ev.mark
	if m == nil || m.s == x.stream {
		return success // already in order
	}
	for !m.met() && x.e.running.Err() == nil {
		m.s.cond.Wait()
	}
	x.now = max(x.now, m.end())
	x.learn(m.dependency)
	return success
}

func eventOf(c call, h uintptr) (*event, result) {
	if h == 0 {
		return nil, errInvalidValue
	}
	ev := find[event](c.e, h)
	if ev == nil {
		return nil, errInvalidHandle
	}
	return ev, success
}

func cuGraphAddEventRecordNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ev, r := eventOf(c, c.Word(4))
		return &eventRecordNode{ev}, r
	})
}

func cuGraphEventRecordNodeGetEvent(c call) result {
	_, n, r := nodeOf[*eventRecordNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.ev.handle)
}

func cuGraphEventRecordNodeSetEvent(c call) result {
	n, _, r := nodeOf[*eventRecordNode](c, 0)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(1))
	if r != success {
		return r
	}
	n.params = &eventRecordNode{ev}
	return success
}

func cuGraphAddEventWaitNode(c call) result {
	return addNode(c, -1, 3, func(*graph) (nodeParams, result) {
		ev, r := eventOf(c, c.Word(4))
		return &eventWaitNode{ev}, r
	})
}

func cuGraphEventWaitNodeGetEvent(c call) result {
	_, n, r := nodeOf[*eventWaitNode](c, 0)
	if r != success {
		return r
	}
	return put(c, 1, n.ev.handle)
}

func cuGraphEventWaitNodeSetEvent(c call) result {
	n, _, r := nodeOf[*eventWaitNode](c, 0)
	if r != success {
		return r
	}
	ev, r := eventOf(c, c.Word(1))
	if r != success {
		return r
	}
	n.params = &eventWaitNode{ev}
	return success
}
