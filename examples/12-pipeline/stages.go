package main

import (
	"errors"
	"time"

	"github.com/purecuda/cuda/driver"
)

// stages measures each stage separately. The longest stage limits the speed of the pipeline.
func (e *example) stages() (alone [3]time.Duration, longest time.Duration, err error) {
	for k, op := range []func(i int) driver.Op{
		func(i int) driver.Op { return e.upload[i] },
		func(i int) driver.Op { return e.step[i%2] },
		func(i int) driver.Op { return e.download[i] },
	} {
		begin := time.Now()
		for i := range e.chunks {
			if err := e.Stream.Do(op(i)); err != nil {
				return alone, 0, errors.Join(err, e.wait())
			}
		}
		if err := e.wait(); err != nil {
			return alone, 0, err
		}
		alone[k] = time.Since(begin).Round(time.Microsecond)
		longest = max(longest, alone[k])
	}
	return alone, longest, nil
}
