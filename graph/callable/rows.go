package callable

import (
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph/internal/refusal"
)

// StageRows is like StageSlice for a function whose input is a batch. It copies the slices of all
// elements of the batch to device memory, one after another, without an intermediate copy. The
// slices must have the same length. That length and the number of elements are part of the shape.
func StageRows[T, In any](t *Trace[[]In], get func(In) []T) *driver.Buffer[T] {
	if t == nil || get == nil {
		undeclared[T](t, "StageRows")
		return nil
	}
	width := 0
	if len(t.in) > 0 {
		width = len(get(t.in[0]))
	}
	for i, in := range t.in {
		if n := len(get(in)); n != width {
			t.fail(refusal.Invalid("row %d of the batch has %d elements, but row 0 has %d", i, n, width))
			return nil
		}
	}
	c := stagedCell[T](t, len(t.in)*width)
	if c == nil {
		return nil
	}
	i := rowsInput[T, In]{c, len(t.in), get}
	if t.newInputs() {
		t.inputs = append(t.inputs, i)
	}
	if t.e != nil {
		t.staged(i.fill(t.in), c.upload)
	}
	return c.device
}

type rowsInput[T, In any] struct {
	*cellOf[T]
	rows int
	get  func(In) []T
}

func (i rowsInput[T, In]) holds(batch []In) bool {
	if len(batch) != i.rows {
		return false
	}
	for _, in := range batch {
		if len(i.get(in))*i.rows != i.device.Len() {
			return false
		}
	}
	return true
}

func (i rowsInput[T, In]) fill(batch []In) error {
	to := i.host.Slice()
	for n, in := range batch {
		row := i.get(in)
		if len(row)*i.rows != i.host.Len() || n >= i.rows {
			return refusal.Invalid("row %d of a batch was %d elements long and is %d now; it must not change during a call",
				n, i.host.Len()/max(1, i.rows), len(row))
		}
		to = to[copy(to, row):]
	}
	return nil
}

func (i rowsInput[T, In]) copyOp() *driver.CopyOp { return i.upload }

// Has reports whether the Callable keeps a variant for the shape of an input. A call with another
// shape creates one.
func (c *Callable[In, Out]) Has(in In) bool {
	if !c.exists() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.variants {
		if v.fits(in) {
			return true
		}
	}
	return false
}
