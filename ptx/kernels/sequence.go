package kernels

import "github.com/purecuda/cuda/driver"

// sequence collects the operations of an algorithm with several launches. It reuses the launches, and
// the memory of the slice, of a sequence that is no longer needed.
type sequence struct {
	again, ops []driver.Op
}

func sequenceOf(again []driver.Op) sequence { return sequence{again, again[:0]} }

// launch appends a launch of a kernel.
func (s *sequence) launch(from source, c *driver.Context, kernel kernelName, cfg *driver.LaunchConfig, args ...arg) error {
	m := maker{from, c, kernel, s.reused()}
	l, err := m.prepare(cfg, args...)
	if err != nil {
		return err
	}
	s.ops = append(s.ops, l)
	return nil
}

// clear appends a launch that sets memory to 0.
func (s *sequence) clear(o operand) error {
	v, err := driver.ViewAs[uint64](o.mem)
	if err != nil {
		return err
	}
	l, err := Fill[uint64](v, 0, s.reused())
	if err != nil {
		return err
	}
	s.ops = append(s.ops, l)
	return nil
}

// reused returns the launch at the next position of the earlier sequence, or nil.
func (s *sequence) reused() *driver.Launch {
	if i := len(s.ops); i < len(s.again) {
		l, _ := s.again[i].(*driver.Launch)
		return l
	}
	return nil
}
