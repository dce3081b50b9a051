package loader

import "sync"

// Callback is the Go code of a C function void f(void *userData).
type Callback func(userData uintptr)

var callbacks struct {
	sync.RWMutex
	byAddr map[uintptr]Callback
}

// NewCallback returns an address that C code can call as void f(void *userData). A process can
// create only a limited number of callbacks, and they are never released. Create one callback for
// each purpose, and use userData to distinguish its calls.
//
// In a build that cannot call C (see the build tag static), only CallCallback can use the address.
func NewCallback(fn Callback) uintptr {
	addr := newCallback(fn)
	callbacks.Lock()
	defer callbacks.Unlock()
	if callbacks.byAddr == nil {
		callbacks.byAddr = make(map[uintptr]Callback)
	}
	if addr == 0 {
		addr = uintptr(len(callbacks.byAddr)+1) << 4
	}
	callbacks.byAddr[addr] = fn
	return addr
}

// CallCallback calls the function at addr. An emulated driver uses it where the real driver would
// call back. If addr comes from NewCallback, CallCallback calls the Go function directly. It calls
// any other address as a C function, and also passes the words in more.
func CallCallback(addr, userData uintptr, more ...uintptr) {
	callbacks.RLock()
	fn := callbacks.byAddr[addr]
	callbacks.RUnlock()
	if fn != nil {
		fn(userData)
		return
	}
	p := AddrProc(addr)
	p.Call(append([]uintptr{userData}, more...)...)
}

// Callbacks from C run on a goroutine of this package, not on the goroutine that represents the C
// thread. On that goroutine, runtime.Goexit (which t.FailNow calls) would end the process.

// idleCallers holds goroutines that wait for a callback. If there are not enough of them, callApart
// starts more.
var idleCallers = make(chan *caller, 4)

type caller struct {
	jobs chan job
	done chan struct{}
	gone bool // whether its goroutine has ended
}

type job struct {
	fn       Callback
	userData uintptr
}

// callApart calls fn on another goroutine and waits until fn returns or calls runtime.Goexit.
func callApart(fn Callback, userData uintptr) {
	var c *caller
	select {
	case c = <-idleCallers:
	default:
		c = &caller{jobs: make(chan job), done: make(chan struct{})}
		go c.work()
	}
	c.jobs <- job{fn, userData}
	<-c.done
	if c.gone {
		return
	}
	select {
	case idleCallers <- c:
	default:
		close(c.jobs)
	}
}

func (c *caller) work() {
	for j := range c.jobs {
		c.call(j)
	}
}

func (c *caller) call(j job) {
	c.gone = true
	defer func() { c.done <- struct{}{} }()
	j.fn(j.userData)
	c.gone = false
}
