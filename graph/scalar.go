package graph

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/graph/internal/ring"
)

// Scalar is one value in device memory at a fixed address. Each replay reads the value that was set
// before it. Pass a Scalar to kernels and copies like a Buffer of one element.
//
// T must be a number, or a struct or array of numbers, without Go pointers.
type Scalar[T any] struct {
	*driver.Buffer[T]

	ctx  *driver.Context
	size uintptr
	ring *ring.Ring[T] // nil if the value fits in a memset call
}

// NewScalar allocates a Scalar with an initial value and waits until the value is written. Call it
// before a capture, not inside one.
func NewScalar[T any](c *driver.Context, v T) (*Scalar[T], error) {
	b, err := driver.AllocFrom(c, []T{v})
	if err != nil {
		return nil, fmt.Errorf("cannot make a scalar: %w", err)
	}
	s := &Scalar[T]{Buffer: b, ctx: c, size: unsafe.Sizeof(v)}
	if s.size == 1 || s.size == 2 || s.size == 4 {
		return s, nil
	}
	if s.ring, err = ring.New(c, b); err != nil {
		return nil, fmt.Errorf("cannot make a scalar: %w", join([]error{err, b.Close()}))
	}
	return s, nil
}

// Set enqueues a new value for the scalar in the given stream. Work already in the stream reads the
// previous value, and later work reads the new value. Set does not allocate, and waits only if
// pending values use all of the scalar's page-locked memory.
//
// If the stream is capturing, Set returns an error, because every replay would set the value again.
func (s *Scalar[T]) Set(on *driver.Stream, v T) error {
	if s == nil {
		return aScalar.Error(true)
	}
	err := s.check(on)
	if err == nil {
		err = s.send(on, v)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(on)
	if err != nil {
		return fmt.Errorf("cannot set %v on %v: %w", s, on, err)
	}
	return nil
}

func (s *Scalar[T]) check(on *driver.Stream) error {
	if s.Buffer == nil {
		return aScalar.Error(false)
	}
	if err := on.Ready(); err != nil {
		return err
	}
	if err := s.All().Err(); err != nil {
		return err
	}
	if err := sameContext(s.ctx, on, on.Context()); err != nil {
		return err
	}
	status, _, _, err := on.CaptureStatus()
	if err == nil && status != cu.CU_STREAM_CAPTURE_STATUS_NONE {
		return refuse(driver.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
			"the stream is capturing, and a replay would set the value again; set it before a launch, or record a fill or a copy")
	}
	return err
}

func (s *Scalar[T]) send(on *driver.Stream, v T) error {
	d, at := on.Driver(), unsafe.Pointer(&v)
	switch s.size {
	case 1:
		return d.CuMemsetD8Async(s.Ptr(), *(*uint8)(at), 1, on.Raw())
	case 2:
		return d.CuMemsetD16Async(s.Ptr(), *(*uint16)(at), 1, on.Raw())
	case 4:
		return d.CuMemsetD32Async(s.Ptr(), *(*uint32)(at), 1, on.Raw())
	}
	return s.ring.Send(on, v)
}

// String describes the scalar.
func (s *Scalar[T]) String() string {
	if s == nil {
		return "nil scalar"
	}
	var v T
	return fmt.Sprintf("scalar %T at %#x", v, uint64(s.Ptr()))
}

// Close frees the scalar once no graph refers to it and all pending values have been written. It
// may be called more than once.
func (s *Scalar[T]) Close() error {
	if s == nil {
		return nil
	}
	return join([]error{s.ring.Close(), s.Buffer.Close()})
}
