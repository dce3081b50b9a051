package main

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

// list collects operations and keeps the first error.
type list struct {
	ops []driver.Op
	err error
}

func (l *list) add(op driver.Op, err error) {
	if l.err == nil {
		l.err = err
	}
	l.ops = append(l.ops, op)
}

// chains measures the longest chain of dependent steps.
type chains struct {
	length  []int // for each step, the length of the longest chain that ends with it
	longest int
}

func (c *chains) add(dependencies []int) {
	n := 1
	for _, d := range dependencies {
		n = max(n, c.length[d]+1)
	}
	c.length = append(c.length, n)
	c.longest = max(c.longest, n)
}

// run launches the graph and checks the sum, which is in the first part of the output.
func (e *example) run(exec *graph.Exec) error {
	if err := exec.Run(context.Background(), e.Stream); err != nil {
		return err
	}
	got := make([]float32, elements)
	if err := part(e.out, 0).CopyTo(got); err != nil {
		return err
	}
	for i, v := range got {
		if v != 100 {
			return fmt.Errorf("wrong result: element %d is %v, it should be 100", i, v)
		}
	}
	e.Printf("10 + 20 + 30 + 40 is 100 in each of %d elements", elements)
	return nil
}
