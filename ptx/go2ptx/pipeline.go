package go2ptx

import (
	"errors"

	"github.com/purecuda/cuda/ptx/go2ptx/internal/source"
)

// compiled is the result of the stages after loading.
type compiled struct {
	text     []byte
	remarks  []Remark
	readOnly func(kernel, param string) bool
}

func compile(p *source.Program, cfg Config) (*compiled, error) {
	return nil, errors.New("go2ptx: the compiler is not complete")
}
