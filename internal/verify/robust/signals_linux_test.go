//go:build !static && (amd64 || arm64)

package robust

import (
	"bytes"
	"os"
	"os/signal"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/gputest"
	"github.com/purecuda/cuda/loader"
)

// Signals must be handled on any thread of the process. Threads of the driver do not run Go code
// and have no signal stack.
func TestSignalsOnThreadsOfC(t *testing.T) {
	c := openC(t)
	sem := c.semaphore()
	before := tasks(t)
	threads := make([]cThread, 4)
	for i := range threads {
		threads[i] = c.start(c.semWait.Addr(), sem)
	}
	got := make(chan os.Signal, 64)
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	defer signal.Stop(got)
	for id := range tasks(t) {
		if before[id] {
			continue
		}
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1} {
			send(t, id, s)
			arrives(t, got, s)
		}
		send(t, id, syscall.SIGPROF) // without a profile, nothing handles this signal
		send(t, id, syscall.SIGURG)  // Go uses this signal to preempt goroutines
	}
	for range threads {
		c.post.Call(sem)
	}
	for _, th := range threads {
		th.join()
	}
	c.free.Call(sem)
}

func send(t *testing.T, thread int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Tgkill(os.Getpid(), thread, s); err != nil {
		t.Errorf("%v to thread %d: %v", s, thread, err)
	}
}

func arrives(t *testing.T, got <-chan os.Signal, want os.Signal) {
	t.Helper()
	select {
	case s := <-got:
		if s != want {
			t.Errorf("%v arrived, %v was sent", s, want)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%v does not arrive", want)
	}
}

// A profile must be able to interrupt C threads while they call into Go.
func TestProfileWhileThreadsOfCCallGo(t *testing.T) {
	c := openC(t)
	var calls atomic.Int64
	var busy atomic.Bool
	busy.Store(true)
	fn := loader.NewCallback(func(n uintptr) {
		for busy.Load() {
			calls.Add(int64(n))
			allocate()
		}
	})
	var out bytes.Buffer
	ok(t, pprof.StartCPUProfile(&out))
	threads := make([]cThread, 4)
	for i := range threads {
		threads[i] = c.start(fn, 1)
	}
	time.Sleep(300 * time.Millisecond)
	busy.Store(false)
	for _, th := range threads {
		th.join()
	}
	pprof.StopCPUProfile()
	if calls.Load() == 0 || out.Len() == 0 {
		t.Errorf("%d calls, a profile of %d bytes", calls.Load(), out.Len())
	}
}

var sink []byte
var sinkMutex sync.Mutex

func allocate() {
	b := make([]byte, 64)
	sinkMutex.Lock()
	sink = b
	sinkMutex.Unlock()
}

// A profile must work while the driver's threads call host functions and goroutines launch, replay
// and wait.
func TestProfileWhileTheDriverCallsGo(t *testing.T) {
	gputest.EachDriver(t, func(t *testing.T, d *driver.Driver) {
		var out bytes.Buffer
		ok(t, pprof.StartCPUProfile(&out))
		defer pprof.StopCPUProfile()
		p := newProgram(t, d)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { replays(t, p) })
		}
		group.Wait()
		p.closeAll(driver.CUDA_SUCCESS)
	})
}

// replays enqueues kernels and host functions for a while, and checks that every host function ran.
func replays(t *testing.T, p *program) {
	s, err := p.c.NewStream()
	if err != nil {
		t.Error(err)
		return
	}
	defer closes(t, s)
	var sent int64
	var called atomic.Int64
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); sent++ {
		for _, err := range []error{s.Do(p.launch), s.HostFunc(func() { called.Add(1); allocate() }), s.Wait(t.Context())} {
			if err != nil {
				t.Error(err)
				return
			}
		}
	}
	if called.Load() != sent {
		t.Errorf("%d host functions were sent, %d called", sent, called.Load())
	}
}
