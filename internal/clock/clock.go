// Package clock measures the clock rate of a GPU's multiprocessors while a benchmark uses it.
package clock

import (
	"context"
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
)

// duration is how long a measurement runs. The GPU's timer may advance by a microsecond at a time.
const duration = time.Millisecond

// Meter measures the clock rate in a context.
type Meter struct {
	s      *driver.Stream
	passed *driver.Buffer[int64]
	launch *driver.Launch
}

// New returns a meter for a context. The caller must close it.
func New(c *driver.Context) (*Meter, error) {
	m := &Meter{}
	count, err := CountIn(c)
	if err != nil {
		return nil, err
	}
	if m.s, err = c.NewStream(); err != nil {
		return nil, err
	}
	if m.passed, err = driver.Alloc[int64](c, 2); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if m.launch, err = count.Op(count.Grid(1), m.passed, int64(duration)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// MHz returns the clock rate now, in megahertz. Call it directly after the work whose clock rate is of
// interest, because the GPU reduces the rate when it has nothing to do.
func (m *Meter) MHz() (float64, error) {
	if err := m.s.Do(m.launch); err != nil {
		return 0, err
	}
	if err := m.s.Wait(context.Background()); err != nil {
		return 0, err
	}
	var passed [2]int64
	if err := m.passed.CopyTo(passed[:]); err != nil {
		return 0, err
	}
	return float64(passed[0]) / float64(passed[1]) * 1000, nil
}

// Close releases the stream and the memory.
func (m *Meter) Close() (err error) {
	if m.passed != nil {
		err = m.passed.Close()
	}
	return errors.Join(err, m.s.Close())
}
