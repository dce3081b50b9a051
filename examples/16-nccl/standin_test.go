package main

import (
	_ "embed"
	"errors"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/examples/internal/demo"
	"github.com/purecuda/cuda/loader"
)

//go:embed testdata/standin.ptx
var standInPTX []byte

// standIn implements the NCCL functions that the example uses, with the parameters of the C
// functions. At the end of a group it enqueues copies and a kernel on the given streams,
// ordered by events.
type standIn struct {
	ranks []*rank
	group int // number of open groups
	sums  []request
	comms int // number of open communicators
	fails string

	failed error // reason why a group's work was not enqueued, which the status code cannot express
}

// rank is one device of the stand-in.
type rank struct {
	ctx          *driver.Context
	sum          *driver.Kernel
	scratch      *driver.Buffer[float32] // one row for each rank
	ready, taken *driver.Event
}

// request is an all-reduce that is enqueued when its group ends.
type request struct {
	send, recv driver.CUdeviceptr
	n          int
	stream     driver.CUstream
	rank       *rank
}

func newStandIn(d *demo.Demo, contexts []*driver.Context) (*standIn, error) {
	s := new(standIn)
	for _, c := range contexts {
		r := &rank{ctx: c}
		if err := d.KernelsOn(c, standInPTX, map[string]**driver.Kernel{"sum": &r.sum}); err != nil {
			return nil, err
		}
		var err error
		if r.scratch, err = demo.MemoryOn[float32](d, c, len(contexts)*parameters, 0); err != nil {
			return nil, err
		}
		for _, e := range []**driver.Event{&r.ready, &r.taken} {
			if *e, err = c.NewEvent(); err != nil {
				return nil, err
			}
			d.Close(*e)
		}
		s.ranks = append(s.ranks, r)
	}
	return s, nil
}

func (*standIn) Name() string { return "a stand-in" }

func (*standIn) Close() error { return nil }

const (
	statusOK              = 0
	statusUnhandledCUDA   = 1
	statusInvalidArgument = 4
	statusInvalidUsage    = 5
	firstComm             = 0x1000
)

var (
	statusText = []byte("a status of the stand-in\x00")
	latestText = []byte("what it says about it\x00")
)

func (s *standIn) Lookup(symbol string) (loader.Proc, error) {
	fn := map[string]func(loader.Args) uintptr{
		"ncclGetVersion":     func(a loader.Args) uintptr { *(*int32)(a.Ptr(0)) = 22809; return statusOK },
		"ncclCommInitAll":    s.initAll,
		"ncclCommDestroy":    s.destroy,
		"ncclAllReduce":      s.allReduce,
		"ncclGroupStart":     func(loader.Args) uintptr { s.group++; return statusOK },
		"ncclGroupEnd":       s.groupEnd,
		"ncclGetErrorString": func(loader.Args) uintptr { return uintptr(unsafe.Pointer(&statusText[0])) },
		"ncclGetLastError":   func(loader.Args) uintptr { return uintptr(unsafe.Pointer(&latestText[0])) },
	}[symbol]
	if fn == nil {
		return loader.Proc{}, loader.ErrSymbolNotFound
	}
	if symbol == s.fails {
		fn = func(loader.Args) uintptr { return statusUnhandledCUDA }
	}
	return loader.FuncProc(fn), nil
}

func (s *standIn) initAll(a loader.Args) uintptr {
	if a.Int32(1) != int32(len(s.ranks)) || a.Word(2) != 0 {
		return statusInvalidArgument
	}
	for i, comm := range unsafe.Slice((*uintptr)(a.Ptr(0)), len(s.ranks)) {
		if comm != 0 {
			return statusInvalidArgument
		}
		unsafe.Slice((*uintptr)(a.Ptr(0)), len(s.ranks))[i] = firstComm + uintptr(i)
		s.comms++
	}
	return statusOK
}

func (s *standIn) destroy(a loader.Args) uintptr {
	if s.rank(a.Word(0)) == nil {
		return statusInvalidArgument
	}
	s.comms--
	return statusOK
}

// rank returns the rank with that communicator, or nil.
func (s *standIn) rank(comm uintptr) *rank {
	if i := comm - firstComm; i < uintptr(len(s.ranks)) {
		return s.ranks[i]
	}
	return nil
}

func (s *standIn) allReduce(a loader.Args) uintptr {
	r := s.rank(a.Word(5))
	switch {
	case s.group == 0: // outside a group, the call would wait for the other ranks forever
		return statusInvalidUsage
	case r == nil, a.Len() != 7, a.Word(2) > parameters, a.Word(3) != ncclFloat32, a.Word(4) != ncclSum:
		return statusInvalidArgument
	}
	s.sums = append(s.sums, request{driver.CUdeviceptr(a.Word(0)), driver.CUdeviceptr(a.Word(1)), int(a.Word(2)), driver.CUstream(a.Word(6)), r})
	return statusOK
}

func (s *standIn) groupEnd(loader.Args) uintptr {
	s.group--
	sums := s.sums
	s.sums = nil
	if s.group != 0 || len(sums) != len(s.ranks) {
		return statusInvalidUsage
	}
	if err := errors.Join(take(sums), add(sums)); err != nil {
		s.failed = err
		return statusUnhandledCUDA
	}
	return statusOK
}

// take makes every rank's stream copy the contributions of all ranks to the rank's scratch memory.
func take(sums []request) error {
	errs := []error{meet(sums, func(r *rank) *driver.Event { return r.ready })}
	for _, to := range sums {
		for i, from := range sums {
			row := to.rank.scratch.Ptr() + driver.CUdeviceptr(i*to.n*4)
			errs = append(errs, to.rank.ctx.Driver().CuMemcpyAsync(row, from.send, uintptr(to.n*4), to.stream))
		}
	}
	return errors.Join(errs...)
}

// add makes every rank sum its copies, once all ranks have finished copying.
func add(sums []request) error {
	errs := []error{meet(sums, func(r *rank) *driver.Event { return r.taken })}
	for _, to := range sums {
		out, in, n, parts := uint64(to.recv), uint64(to.rank.scratch.Ptr()), uint32(to.n), uint32(len(sums))
		params := [4]unsafe.Pointer{unsafe.Pointer(&out), unsafe.Pointer(&in), unsafe.Pointer(&n), unsafe.Pointer(&parts)}
		errs = append(errs, to.rank.ctx.Driver().CuLaunchKernel(to.rank.sum.Raw(), (n+127)/128, 1, 1, 128, 1, 1, 0, to.stream, &params[0], nil))
	}
	return errors.Join(errs...)
}

// meet makes every rank's stream wait for the events of all other ranks.
func meet(sums []request, event func(*rank) *driver.Event) error {
	var errs []error
	for _, q := range sums {
		errs = append(errs, q.rank.ctx.Driver().CuEventRecord(event(q.rank).Raw(), q.stream))
	}
	for _, q := range sums {
		for _, other := range sums {
			if q.rank != other.rank {
				errs = append(errs, q.rank.ctx.Driver().CuStreamWaitEvent(q.stream, event(other.rank).Raw(), 0))
			}
		}
	}
	return errors.Join(errs...)
}
