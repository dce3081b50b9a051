package child

import (
	"errors"
	"sync"
)

// CrowdSize is the number of goroutines in a crowd, or of threads in C.
const CrowdSize = 16

// Crowd divides n operations among CrowdSize goroutines. It keeps the goroutines between
// calls, as a service keeps its workers.
type Crowd struct {
	once  sync.Once
	begin [CrowdSize]chan int
	end   chan error
}

// Run calls the function each in every goroutine of the crowd. It returns when all these calls have
// returned.
func (c *Crowd) Run(n int, each func(member, n int) error) error {
	c.once.Do(func() {
		c.end = make(chan error, CrowdSize)
		for i := range c.begin {
			c.begin[i] = make(chan int)
			go func() {
				for n := range c.begin[i] {
					c.end <- each(i, n)
				}
			}()
		}
	})
	for _, begin := range c.begin {
		begin <- n / CrowdSize
	}
	var errs []error
	for range c.begin {
		if err := <-c.end; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
