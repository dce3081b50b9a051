package gen

import (
	"errors"
	"fmt"
)

type place struct {
	file string
	line int
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("%v: "+format, append([]any{p}, args...)...)
}

// problems collects the errors of one run, so that ptx2go can report all of them.
type problems []error

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err)
	}
}

func (p problems) err() error { return errors.Join(p...) }
