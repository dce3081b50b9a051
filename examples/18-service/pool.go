package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/purecuda/cuda/examples/internal/demo"
)

var (
	errBusy      = errors.New("too many requests are waiting")
	errDraining  = errors.New("the service is shutting down")
	errLost      = errors.New("the GPU is lost")
	errNotFinite = errors.New("the scores of this input are not finite numbers")
)

// stuckAfter is how long a batch may be in flight before the service reports bad health.
const stuckAfter = 30 * time.Second

// job is a waiting request. The channel done is buffered, so that a worker does not block if
// nobody waits for the result any more.
type job struct {
	ctx   context.Context
	input []float32
	done  chan answer
}

type answer struct {
	scores []float32
	err    error
}

// pool holds the workers and their queue. A free worker takes all waiting requests. A busy
// service therefore has large batches, and an idle service responds at once.
type pool struct {
	workers []*worker
	metrics *metrics
	running sync.WaitGroup

	mu    sync.RWMutex // senders hold the read lock; closing the queue needs the write lock
	queue chan *job    // nil after close

	gone   chan struct{} // closed when the GPU is lost
	lost   sync.Once
	why    error         // of gone
	failed atomic.Uint64 // number of failed batches
	first  atomic.Pointer[error]
}

// newPool starts n workers. The Demo must close the pool before the objects of the workers.
func newPool(d *demo.Demo, m *model, ms *metrics, n, depth int) (*pool, error) {
	p := &pool{metrics: ms, queue: make(chan *job, depth), gone: make(chan struct{})}
	for range n {
		w, err := newWorker(d, m)
		if err != nil {
			return nil, err
		}
		p.workers = append(p.workers, w)
	}
	d.Close(p)
	for _, w := range p.workers {
		p.running.Add(1)
		go p.work(w, p.queue)
	}
	return p, nil
}

// score queues a request and waits for its result, or for ctx.
func (p *pool) score(ctx context.Context, input []float32) ([]float32, error) {
	j := &job{ctx, input, make(chan answer, 1)}
	if err := p.send(j); err != nil {
		return nil, err
	}
	select {
	case a := <-j.done:
		return a.scores, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send queues a job without blocking. It returns an error if the queue is full.
func (p *pool) send(j *job) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.queue == nil {
		return errDraining
	}
	select {
	case p.queue <- j:
		return nil
	default:
		return errBusy
	}
}

// work runs batches until the queue is closed and empty. It is the goroutine of one worker.
func (p *pool) work(w *worker, queue <-chan *job) {
	defer p.running.Done()
	batch := make([]*job, 0, maxRows)
	for first := range queue {
		batch = gather(append(batch[:0], first), queue)
		if len(batch) > 0 {
			p.run(w, batch)
		}
	}
}

// gather adds waiting requests to a batch. It drops requests whose clients have
// disconnected.
func gather(batch []*job, queue <-chan *job) []*job {
	if batch[0].ctx.Err() != nil {
		batch = batch[:0]
	}
	for len(batch) < cap(batch) {
		select {
		case j, open := <-queue:
			if !open {
				return batch
			}
			if j.ctx.Err() == nil {
				batch = append(batch, j)
			}
		default:
			return batch
		}
	}
	return batch
}

func (p *pool) run(w *worker, batch []*job) {
	if p.isLost() != nil {
		for _, j := range batch {
			j.done <- answer{err: errLost}
		}
		return
	}
	p.metrics.launched(len(batch))
	if err := w.run(batch); err != nil {
		p.failed.Add(1)
		p.note(err)
		if err := w.lost(); err != nil {
			p.lose(err)
		}
	}
}

// note records the first error of a batch. Clients do not see it.
func (p *pool) note(err error) { p.first.CompareAndSwap(nil, &err) }

func (p *pool) firstError() error {
	if err := p.first.Load(); err != nil {
		return *err
	}
	return nil
}

// lose marks the GPU as lost and records the cause. Only the first call has an effect.
func (p *pool) lose(err error) {
	p.lost.Do(func() {
		p.why = fmt.Errorf("%w: %w", errLost, err)
		close(p.gone)
	})
}

// isLost returns the cause if the GPU is known to be lost, and nil otherwise.
func (p *pool) isLost() error {
	select {
	case <-p.gone:
		return p.why
	default:
		return nil
	}
}

// health returns an error if a batch is stuck or the GPU is lost. It queries the driver, so
// that a lost GPU is detected before the next request.
func (p *pool) health() error {
	for _, w := range p.workers {
		if err := p.isLost(); err != nil {
			return err
		}
		if w.stuck(stuckAfter) {
			return fmt.Errorf("a batch has been in flight for more than %v", stuckAfter)
		}
		if _, err := w.stream.Query(); err != nil {
			p.lose(err)
		}
	}
	return p.isLost()
}

// Close stops accepting requests and waits until the workers have completed the queued ones.
func (p *pool) Close() error {
	p.mu.Lock()
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	if queue != nil {
		close(queue)
	}
	p.running.Wait()
	return nil
}
