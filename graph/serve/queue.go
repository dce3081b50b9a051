package serve

// overtakes limits how often calls of higher priority go first. Of any overtakes+1 replicas granted
// to waiting calls, at least one goes to the call that has waited longest.
const overtakes = 7

// waiter is a call that waits for a replica. It is reused by later calls.
type waiter struct {
	priority int
	number   uint64        // arrival number, which is unique
	granted  *slot         // set before ready is sent
	err      error         // reason why no replica can be granted, or nil; set before ready is sent
	ready    chan struct{} // capacity 1, so that a grant never blocks
	call     any           // for a Batcher: the member that contains the waiter

	at           int     // index in queue.heap, or -1 if the waiter is not in the queue
	older, newer *waiter // neighbours in order of arrival
	next         *waiter // link in the list of waiters that can be reused
}

// queue contains each waiter twice: in a heap ordered by priority and then by arrival, and in a
// list ordered by arrival. Its memory is reused, so that waiting does not allocate.
type queue struct {
	heap           []*waiter
	oldest, newest *waiter
	passed         int // number of replicas granted to other waiters since the oldest waiter was last granted one
}

func (q *queue) len() int { return len(q.heap) }

// add inserts a waiter. Most waiters are the latest arrival, but a call that has created a replica
// may have arrived before others.
func (q *queue) add(w *waiter) {
	w.newer, w.older = nil, q.newest
	for w.older != nil && w.older.number > w.number {
		w.newer, w.older = w.older, w.older.older
	}
	q.link(w.older, w)
	q.link(w, w.newer)
	w.at = len(q.heap)
	q.heap = append(q.heap, w)
	q.up(w.at)
}

// link makes two waiters neighbours. Either may be nil, at an end of the list.
func (q *queue) link(older, newer *waiter) {
	if older == nil {
		q.oldest = newer
	} else {
		older.newer = newer
	}
	if newer == nil {
		q.newest = older
	} else {
		newer.older = older
	}
}

func (q *queue) remove(w *waiter) {
	q.link(w.older, w.newer)
	w.older, w.newer = nil, nil
	i, last := w.at, len(q.heap)-1
	q.swap(i, last)
	q.heap[last] = nil
	q.heap = q.heap[:last]
	w.at = -1
	if i < last {
		q.up(i)
		q.down(i)
	}
}

// take removes and returns the next waiter to be served. The queue must not be empty.
func (q *queue) take() *waiter {
	w := q.heap[0]
	if q.passed >= overtakes {
		w = q.oldest
	}
	if w == q.oldest {
		q.passed = 0
	} else {
		q.passed++
	}
	q.remove(w)
	return w
}

// ahead counts the waiters that would be served before a new waiter with the given priority.
func (q *queue) ahead(priority int) (n int) {
	for _, w := range q.heap {
		if w.priority >= priority {
			n++
		}
	}
	return n
}

func (q *queue) before(i, j int) bool {
	a, b := q.heap[i], q.heap[j]
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.number < b.number
}

func (q *queue) swap(i, j int) {
	q.heap[i], q.heap[j] = q.heap[j], q.heap[i]
	q.heap[i].at, q.heap[j].at = i, j
}

func (q *queue) up(i int) {
	for i > 0 && q.before(i, (i-1)/2) {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if child+1 < len(q.heap) && q.before(child+1, child) {
			child++
		}
		if !q.before(child, i) {
			return
		}
		q.swap(i, child)
		i = child
	}
}
