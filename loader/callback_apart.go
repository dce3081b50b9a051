package loader

// What C calls runs on a goroutine of this package, not on the goroutine that represents C's
// thread. On the latter, runtime.Goexit (which t.FailNow calls) ends the process.

// idleCallers are goroutines that wait for a callback. While more callbacks run, more goroutines
// exist.
var idleCallers = make(chan *caller, 4)

type caller struct {
	jobs chan job
	done chan struct{}
	gone bool // its goroutine has ended
}

type job struct {
	fn       Callback
	userData uintptr
}

// callApart calls fn on another goroutine and waits until it ends, whether it returns or calls
// runtime.Goexit.
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
