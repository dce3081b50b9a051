package callable

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/counter"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// StageSlice returns device memory into which each call copies a slice of its input before the
// replay, through page-locked memory. The slice's length is part of the shape. The memory belongs
// to the Callable. StageSlice returns nil after a failure.
func StageSlice[T, In any](t *Trace[In], get func(In) []T) *driver.Buffer[T] {
	if t == nil || get == nil {
		undeclared[T](t, "StageSlice")
		return nil
	}
	c := stagedCell[T](t, len(get(t.in)))
	if c == nil {
		return nil
	}
	i := sliceInput[T, In]{c, get}
	if t.newInputs() {
		t.inputs = append(t.inputs, i)
	}
	if t.e != nil {
		t.staged(i.fill(t.in), c.upload)
	}
	return c.device
}

// StageScalar is like StageSlice, for a single value.
func StageScalar[T, In any](t *Trace[In], get func(In) T) *driver.Buffer[T] {
	if t == nil || get == nil {
		undeclared[T](t, "StageScalar")
		return nil
	}
	c := stagedCell[T](t, 1)
	if c == nil {
		return nil
	}
	i := scalarInput[T, In]{c, get}
	if t.newInputs() {
		t.inputs = append(t.inputs, i)
	}
	if t.e != nil {
		t.staged(i.fill(t.in), c.upload)
	}
	return c.device
}

// newInputs reports whether this run of the function must list its inputs. A repeated eager run
// reuses the previous run's list.
func (t *Trace[In]) newInputs() bool { return t.e == nil || !t.again }

// staged copies an input of an eager call to the device. filled is the result of filling the
// page-locked memory.
func (t *Trace[In]) staged(filled error, upload *driver.CopyOp) {
	if filled != nil {
		t.fail(filled)
		return
	}
	t.fail(t.e.stage(upload))
}

// Scratch returns uninitialised device memory for n elements. The memory belongs to the Callable.
// It keeps its contents between calls, and each shape has its own. With [WithArena], shapes share
// the memory, and its contents are undefined at the start of each call. Scratch returns nil after a
// failure.
func Scratch[T, In any](t *Trace[In], n int) *driver.Buffer[T] {
	c := ask[T](t, onDevice, n)
	if c == nil {
		return nil
	}
	return c.device
}

// Take makes each call, eager or replayed, take n numbers from a counter. It returns device memory
// that contains the first of them. Random number generators can use it to draw different numbers in
// each call without work on the host. Each shape has its own memory. All shapes, and all Callables
// that use the same Counter, take different numbers.
//
// A call takes its numbers when it runs, even if the program stops waiting for it. A call that
// fails before it is enqueued takes none, except that an eager call may have taken them already.
// Work recorded after Take sees the numbers. Take returns nil after a failure.
func Take[In any](t *Trace[In], c *counter.Counter, n uint64) *driver.Buffer[uint64] {
	m := ask[uint64](t, onDeviceAlone, 1)
	if m == nil {
		return nil
	}
	if m.take == nil || m.takes != c || m.numbers != n {
		l, err := c.Take(m.device, n)
		if err != nil {
			t.fail(err)
			return nil
		}
		m.take, m.takes, m.numbers = l, c, n
	}
	t.Do(m.take)
	return m.device
}

// Result records or enqueues a copy of src to page-locked memory, and returns that memory. The host
// can read the output there. The memory belongs to the Callable, and each call of the shape
// overwrites it. Result returns nil after a failure.
func Result[T, In any](t *Trace[In], src driver.MemoryOf[T]) *driver.HostBuffer[T] {
	if t.over() {
		return nil
	}
	var from driver.View[T]
	if src != nil {
		from = src.All()
	}
	if err := from.Err(); err != nil {
		t.fail(fmt.Errorf("result: %w", err))
		return nil
	}
	c := ask[T](t, onHost, from.Len())
	if c == nil {
		return nil
	}
	if c.download == nil || c.from != from {
		op, err := driver.Download[T](c.host, from)
		if err != nil {
			t.fail(err)
			return nil
		}
		c.download, c.from = op, from
	}
	t.Do(c.download)
	return c.host
}

// cellOf is memory of a variant on the device, on the host, or on both. In the last case, upload
// copies an input from the host to the device.
type cellOf[T any] struct {
	places places
	device *driver.Buffer[T]
	host   *driver.HostBuffer[T]
	upload *driver.CopyOp

	download *driver.CopyOp // copy of a result to the host, from the memory in from
	from     driver.View[T]

	take    *driver.Launch // advances the counter for Take; the count is an argument of the launch
	takes   *counter.Counter
	numbers uint64

	leased bool // the device memory is in an arena
}

func (m *cellOf[T]) bytes() uint64 {
	if m.leased {
		return uint64(m.host.Bytes())
	}
	return uint64(m.device.Bytes()) + uint64(m.host.Bytes())
}

func (m *cellOf[T]) len() int { return max(m.device.Len(), m.host.Len()) }

// places is a set of places where a cell has memory.
type places uint8

const (
	onDevice      places = iota // device memory, in the arena of WithArena if there is one
	onDeviceAlone               // device memory that is never in the arena, because other work must not overwrite it
	onHost
	onBoth // the part on the device is placed as for onDevice
)

// leases reports whether the cell's memory may be in an arena.
func (p places) leases() bool { return p == onDevice || p == onBoth }

func (m *cellOf[T]) make(c *driver.Context, l *lease, n int) (err error) {
	switch p := m.places; {
	case p == onHost:
	case p.leases() && l.shelf != nil:
		m.leased = true
		m.device, err = allocIn[T](l, n)
	default:
		m.device, err = driver.Alloc[T](c, n)
	}
	if err != nil {
		return err
	}
	if p := m.places; p == onHost || p == onBoth {
		if m.host, err = driver.AllocHost[T](c, n); err != nil {
			return err
		}
	}
	if m.places == onBoth {
		m.upload, err = driver.Upload[T](m.device, m.host)
	}
	return err
}

func (m *cellOf[T]) close() error { return refusal.Join([]error{m.device.Close(), m.host.Close()}) }

// stagedCell returns the memory of an input. The graph must retain the memory even if no recorded
// work uses it, because each call copies its input to the memory.
func stagedCell[T, In any](t *Trace[In], n int) *cellOf[T] {
	c := ask[T](t, onBoth, n)
	if c == nil {
		return nil
	}
	if t.sc != nil {
		if err := t.sc.Keep(c.device.Ref(), c.host.Ref()); err != nil {
			t.fail(err)
			return nil
		}
	}
	return c
}

// ask returns the next cell. If the function runs again, that is the previous run's cell. Otherwise
// it is a new one. After a failure, it returns nil.
func ask[T, In any](t *Trace[In], p places, n int) *cellOf[T] {
	if t.over() {
		return nil
	}
	if t.again {
		return askAgain[T](t, p, n)
	}
	m := &cellOf[T]{places: p}
	create := func() error { return m.make(t.stream().Context(), t.lease, n) }
	err := t.withinLimit(bytesFor[T](p, n, t.lease))
	if err != nil {
		t.fail(err)
		return nil
	}
	if t.sc != nil {
		err = t.sc.Relaxed(create)
	} else {
		err = t.e.relaxed(create)
	}
	if err != nil {
		t.fail(refusal.Join([]error{err, m.close()}))
		return nil
	}
	t.cells = append(t.cells, m)
	t.next++
	return entered(t, m)
}

// entered makes the operations of an eager call wait for the memory of a cell, if it is in an arena.
// It returns nil if that fails. A recorded call waits when its graph is launched.
func entered[T, In any](t *Trace[In], m *cellOf[T]) *cellOf[T] {
	if t.e == nil || t.sc != nil || !m.places.leases() {
		return m
	}
	if err := t.lease.enter(t.e.s); err != nil {
		t.fail(err)
		return nil
	}
	return m
}

func askAgain[T, In any](t *Trace[In], p places, n int) *cellOf[T] {
	if t.next >= len(t.cells) {
		t.fail(t.differs("it asked for more memory"))
		return nil
	}
	m, ok := t.cells[t.next].(*cellOf[T])
	if !ok || m.len() != n || m.places != p {
		t.fail(t.differs("it asked for other memory"))
		return nil
	}
	t.next++
	return entered(t, m)
}

type sliceInput[T, In any] struct {
	*cellOf[T]
	get func(In) []T
}

func (i sliceInput[T, In]) holds(in In) bool { return len(i.get(in)) == i.device.Len() }

func (i sliceInput[T, In]) fill(in In) error {
	from := i.get(in)
	if len(from) != i.host.Len() {
		return refusal.Invalid("an input was %d elements long and is %d now; it must not change during a call", i.host.Len(), len(from))
	}
	copy(i.host.Slice(), from)
	return nil
}

func (i sliceInput[T, In]) copyOp() *driver.CopyOp { return i.upload }

type scalarInput[T, In any] struct {
	*cellOf[T]
	get func(In) T
}

func (scalarInput[T, In]) holds(In) bool { return true }

func (i scalarInput[T, In]) fill(in In) error {
	i.host.Slice()[0] = i.get(in)
	return nil
}

func (i scalarInput[T, In]) copyOp() *driver.CopyOp { return i.upload }
