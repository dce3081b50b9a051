package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/loader"
)

// Exec is a graph that can be launched. It is changed between launches by Set,
// Enable, Update and Apply; launches that are under way are not affected.
//
// One Exec never runs twice at a time: CUDA orders each launch behind the one
// before, on whatever stream that was. For runs side by side make several Execs
// of the graph.
type Exec struct {
	life  *driver.Lifetime
	watch driver.Watched
	ctx   *driver.Context
	d     *driver.Driver // bound to ctx
	keep  *execKeep

	g        *Graph // whose nodes Set takes
	foreign  bool   // what is kept alive came by an update from another graph
	opts     options
	uploaded bool   // and not changed since
	changed  bool   // it is not as g was any more
	updates  uint64 // how often all parameters were changed at once
	bindings *Bindings
}

// execKeep is what an exec's destruction needs of it, and what a launch does:
// a launch runs through more of the driver than the cache holds, so what it
// touches here lies together.
type execKeep struct {
	mu   loader.Latch // held during every driver call on raw
	shut bool         // Close was called
	raw  cu.CUgraphExec
	ctx  *driver.Context
	own  *owners
	lone *lone // of a graph that may have one exec only
	retired
	life driver.Lifetime
	ends ending

	borrowed bool // raw is not this one's to destroy
}

// Close destroys the executable graph. A launch that is under way ends, and
// what it refers to is kept until then.
func (x *Exec) Close() error {
	if !x.exists() {
		return nil
	}
	x.keep.mu.Lock() // a call that is under way ends first
	defer x.keep.mu.Unlock()
	x.keep.shut = true
	return x.watch.Close(x.life)
}

// Destroy implements driver.Destroyer: the end of an exec, closed or dropped.
func (k *execKeep) Destroy(d *driver.Driver) error {
	var err error
	if !k.borrowed {
		err = k.ends.do(d, cu.FnCuGraphExecDestroy, uintptr(k.raw))
	}
	k.lone.gone()
	if k.settled == k.replays { // as of one that was never launched
		k.own.release()
	} else {
		k.retire(keeper{sub: k.own})
	}
	return join([]error{err, k.close()})
}

// Raw returns the driver's handle, 0 for nil. Apply may change it.
func (x *Exec) Raw() cu.CUgraphExec {
	if !x.exists() {
		return 0
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.keep.raw
}

// Graph returns the graph whose nodes Set and Enable take: the one that the
// Exec was made from.
func (x *Exec) Graph() *Graph {
	if !x.exists() {
		return nil
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.g
}

// Context returns the context that the graph was made for.
func (x *Exec) Context() *driver.Context {
	if !x.exists() {
		return nil
	}
	return x.ctx
}

// Lifetime is the exec's ownership record.
func (x *Exec) Lifetime() *driver.Lifetime {
	if !x.exists() {
		return nil
	}
	return x.life
}

// String names the executable graph.
func (x *Exec) String() string {
	if !x.exists() {
		return absentName(x == nil, &anExec)
	}
	return x.life.String()
}

// Launch sends the graph to s: it runs behind the work sent to s before, and
// behind the launch of this Exec before, and the work sent to s afterwards runs
// behind it. It does not wait: what goes wrong when it runs is the error of a later
// call, mostly of the wait.
//
// s may be any stream of the same driver, of other contexts too. What shall
// be a part of a graph that is being captured is added to that with
// [Graph.AddChild].
func (x *Exec) Launch(s *driver.Stream) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	k := x.keep
	k.mu.Lock()
	err := k.launch(s)
	k.mu.Unlock()
	runtime.KeepAlive(x)
	runtime.KeepAlive(s)
	if err != nil {
		return x.launchError(s, err)
	}
	return nil
}

func (k *execKeep) launch(s *driver.Stream) error {
	if err := k.ready(s); err != nil {
		return err
	}
	if !k.follows(s) {
		return k.launchElsewhere(s)
	}
	if err := s.Driver().CuGraphLaunch(k.raw, s.Raw()); err != nil {
		return err
	}
	k.launched()
	return nil
}

// launchElsewhere is for a stream that has to be held first.
func (k *execKeep) launchElsewhere(s *driver.Stream) error {
	if err := k.move(s, func() error { return s.Driver().CuGraphLaunch(k.raw, s.Raw()) }); err != nil {
		return err
	}
	k.launched()
	return nil
}

// ready prepares for a launch: usually there is nothing to do.
func (k *execKeep) ready(s *driver.Stream) error {
	if k.shut || !s.Open() || s.Context() != k.ctx {
		if err := k.accepts(s); err != nil {
			return err
		}
	}
	if k.staged.stream != nil {
		return k.awaitStaged(s)
	}
	return nil
}

// accepts says why there can be no launch, if so.
func (k *execKeep) accepts(s *driver.Stream) error {
	if k.shut {
		return fmt.Errorf("the executable graph: %w", driver.ErrClosed)
	}
	if err := s.Ready(); err != nil {
		return err
	}
	return sameDriver(k.ctx, s, s.Context())
}

func (x *Exec) launchError(s *driver.Stream, err error) error {
	return fmt.Errorf("cannot launch %v on %v: %w", x, s, x.memoryError(err))
}

// Run launches the graph on s and waits for what was sent to s so far. If ctx ends
// first its cause is returned, and the launch goes on. On the per-thread stream it
// stays on its thread meanwhile.
func (x *Exec) Run(ctx context.Context, s *driver.Stream) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	if s.Raw() == cu.CU_STREAM_PER_THREAD {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	x.keep.mu.Lock()
	err, n := x.keep.launch(s), x.keep.replays // others may launch meanwhile
	x.keep.mu.Unlock()
	if err != nil {
		return x.launchError(s, err)
	}
	if err := s.Wait(ctx); err != nil {
		return err
	}
	x.settle(n)
	return nil
}

// NoteEnded tells the Exec that its first n launches have ended, counted as
// [Exec.Replays] does. A program that waits for launches by events of its own uses
// it: what those launches used and later ones do not is then released now instead
// of some launches later. Run and Wait note it themselves. It is wrong while one of
// them may still run.
func (x *Exec) NoteEnded(n uint64) {
	if x.exists() {
		x.settle(n)
	}
}

// settle notes that the first n launches have ended. What is left of a closed
// exec finds that out by itself.
func (x *Exec) settle(n uint64) {
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	if !x.keep.shut {
		x.keep.settle(n)
	}
	runtime.KeepAlive(x) // what destroys a dropped exec takes no lock
}

// Wait waits until the last launch has ended, with the work that was sent to
// the same stream since, or returns the cause of ctx's end; the launch goes on then.
// Without a launch it returns at once. Where the stream was closed since, or is the
// per-thread stream, which is another one on another thread, it waits for the launch
// alone.
func (x *Exec) Wait(ctx context.Context) error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	x.keep.mu.Lock()
	err, s, n := x.life.Check(), x.keep.stream, x.keep.replays
	x.keep.mu.Unlock()
	switch {
	case err != nil || s == nil:
		return err
	case s.Raw() == cu.CU_STREAM_PER_THREAD:
		return x.waitForLaunch(ctx)
	}
	if err := s.Wait(ctx); err != nil {
		if !s.Open() && errors.Is(err, driver.ErrClosed) {
			return x.waitForLaunch(ctx)
		}
		return err
	}
	x.settle(n)
	return nil
}

// waitForLaunch waits for nothing but the launches.
func (x *Exec) waitForLaunch(ctx context.Context) error {
	for start := time.Now(); ; {
		if over, err := x.over(); over || err != nil {
			return err
		}
		if ctx != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		time.Sleep(nap(start))
	}
}

// over reports whether all launches have ended.
func (x *Exec) over() (bool, error) {
	if err := x.lock(); err != nil {
		return false, err
	}
	defer x.keep.mu.Unlock()
	over, err := x.keep.over()
	runtime.KeepAlive(x)
	return over, err
}

// Upload sends the graph to the device without running it, so that the first
// launch does not have to. It is ordered like a launch. What was uploaded and not
// changed since is there: then there is nothing to do.
func (x *Exec) Upload(s *driver.Stream) error {
	if err := x.lock(); err != nil {
		return err
	}
	defer x.keep.mu.Unlock()
	err := s.Ready()
	if err == nil && s.Context() != x.ctx {
		err = sameDriver(x.ctx, s, s.Context())
	}
	if err == nil && !x.uploaded {
		err = x.ctx.Guarded().CuGraphUpload(x.keep.raw, s.Raw())
	}
	runtime.KeepAlive(s)
	if err != nil {
		return fmt.Errorf("cannot upload %v on %v: %w", x, s, err)
	}
	x.uploaded = true
	return nil
}

// Uploaded reports whether Upload, or Instantiate with WithUpload, succeeded
// since the Exec was changed last.
func (x *Exec) Uploaded() bool {
	if !x.exists() {
		return false
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.uploaded
}

// Replays returns how many launches succeeded.
func (x *Exec) Replays() uint64 {
	if !x.exists() {
		return 0
	}
	x.keep.mu.Lock()
	defer x.keep.mu.Unlock()
	return x.keep.replays
}

// Flags returns the flags it was instantiated with, as far as the driver tells:
// 580 keeps those of auto free and of device launch.
func (x *Exec) Flags() (cu.CUgraphInstantiate_flags, error) {
	if err := x.lock(); err != nil {
		return 0, err
	}
	defer x.keep.mu.Unlock()
	var f uint64
	err := x.d.CuGraphExecGetFlags(x.keep.raw, &f)
	return cu.CUgraphInstantiate_flags(f), err
}

// exists reports whether x is an Exec that was instantiated.
func (x *Exec) exists() bool { return x != nil && x.keep != nil }

// lock takes the exec for a call, unless it is closed or none.
func (x *Exec) lock() error {
	if !x.exists() {
		return anExec.Error(x == nil)
	}
	x.keep.mu.Lock()
	if !x.keep.shut {
		return nil
	}
	x.keep.mu.Unlock()
	return x.life.Check()
}

// owners returns what the exec keeps alive, to be changed. Numbers of nodes
// that are not its own graph's mean nothing to it.
func (x *Exec) owners() *owners {
	k := x.keep
	if k.own.alone() && !x.foreign {
		return k.own
	}
	return x.ownOwners()
}

func (x *Exec) ownOwners() *owners {
	k := x.keep
	k.own = k.own.writable()
	if x.foreign {
		k.own.loosen()
		x.foreign = false
	}
	return k.own
}
