package serve

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQueueServesPrioritiesInOrderOfArrival(t *testing.T) {
	var q queue
	for i, priority := range []int{0, 5, 0, 5, -1} {
		q.add(&waiter{priority: priority, number: uint64(i)})
	}
	var got []uint64
	for q.len() > 0 {
		got = append(got, q.take().number)
	}
	if want := []uint64{1, 3, 0, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("served %v, want %v", got, want)
	}
}

// Calls of low priority must not wait forever while calls of high priority keep arriving.
func TestWaitersAreOvertakenABoundedNumberOfTimes(t *testing.T) {
	var q queue
	low := []*waiter{{number: 1}, {number: 2}, {number: 3}}
	for _, w := range low {
		q.add(w)
	}
	overtaken := 0
	for n := uint64(4); len(low) > 0; n++ {
		q.add(&waiter{priority: 9, number: n})
		if w := q.take(); w.priority == 9 {
			overtaken++
		} else if w != low[0] || overtaken != overtakes*(4-len(low)) {
			t.Fatalf("waiter %d was served after %d others, want waiter %d after %d", w.number, overtaken, low[0].number, overtakes*(4-len(low)))
		} else {
			low = low[1:]
		}
		if n > 100 {
			t.Fatal("a waiter starves")
		}
	}
}

// Random waiters arrive, leave and are served. The queue must agree with a plain list, and no waiter
// may be overtaken more often than promised.
func TestQueueAgreesWithAList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	type entry struct {
		w               *waiter
		ahead, overtook int
	}
	var list []*entry // in order of arrival
	number, passed := uint64(0), 0
	for range 20000 {
		switch r.IntN(5) {
		case 0, 1:
			number += 2
			e := &entry{w: &waiter{priority: r.IntN(4), number: number}, ahead: len(list)}
			if r.IntN(8) == 0 && len(list) > 0 { // plays a call that arrived earlier and created a replica
				e.w.number = list[len(list)/2].w.number + 1
				if slices.ContainsFunc(list, func(o *entry) bool { return o.w.number == e.w.number }) {
					continue
				}
				e.ahead = len(list)/2 + 1
				list = slices.Insert(list, e.ahead, e)
			} else {
				list = append(list, e)
			}
			q.add(e.w)
		case 2:
			if len(list) > 0 {
				i := r.IntN(len(list))
				q.remove(list[i].w)
				list = slices.Delete(list, i, i+1)
			}
		default:
			if len(list) == 0 {
				continue
			}
			best := 0
			for i, e := range list {
				if e.w.priority > list[best].w.priority {
					best = i
				}
			}
			if passed == overtakes {
				best = 0
			}
			if passed++; best == 0 {
				passed = 0
			}
			if w := q.take(); w != list[best].w {
				t.Fatalf("served %d, want %d", w.number, list[best].w.number)
			}
			for _, e := range list[:best] {
				if e.overtook++; e.overtook > overtakes*(e.ahead+1) {
					t.Fatalf("a waiter that found %d others was overtaken %d times", e.ahead, e.overtook)
				}
			}
			list = slices.Delete(list, best, best+1)
		}
		check(t, &q, len(list))
	}
}

// check compares the two orders of the queue with each other, and their lengths with want.
func check(t *testing.T, q *queue, want int) {
	t.Helper()
	n := 0
	var last *waiter
	for w := q.oldest; w != nil; w = w.newer {
		if w.older != last || q.heap[w.at] != w || last != nil && last.number >= w.number {
			t.Fatal("the list is not in order")
		}
		last = w
		n++
	}
	if n != want || q.len() != want || q.newest != last {
		t.Fatalf("%d in the list, %d in the heap, want %d", n, q.len(), want)
	}
}
