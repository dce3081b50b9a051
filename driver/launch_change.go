package driver

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/purecuda/cuda/internal/launch"
)

// Clone returns an independent launch with the same kernel, configuration and arguments, nil for a
// nil launch.
func (l *Launch) Clone() *Launch {
	if l == nil {
		return nil
	}
	c := new(Launch)
	*c = *l
	c.b.Accesses = launch.NewStamp()
	c.b.Attrs, c.b.Packed = slices.Clone(l.b.Attrs), nil
	c.b.Mem, c.refs, c.uses = slices.Clone(l.b.Mem), slices.Clone(l.refs), slices.Clone(l.uses)
	c.b.Slots = slices.Clone(l.b.Slots)
	c.b.MoveTo(slices.Clone(l.b.Store), make([]unsafe.Pointer, len(l.b.Ptrs)))
	return c
}

// ArgIndex returns the index of the argument for the named parameter. Names are known if the kernel
// came from PTX. Otherwise it returns an error.
func (l *Launch) ArgIndex(name string) (int, error) {
	if err := l.check(); err != nil {
		return 0, err
	}
	if name != "" {
		for i, p := range l.k.params {
			if p.Name == name {
				return i, nil
			}
		}
	}
	return 0, invalidf("launch of %v: there is no parameter %q, it takes %d (%s)", l.k, name, len(l.b.Slots), signature(l.k.params))
}

// checkArg returns an error if argument i cannot be a value of type t.
func (l *Launch) checkArg(i int, t reflect.Type) error {
	if err := l.check(); err != nil {
		return err
	}
	if i < 0 || i >= len(l.b.Slots) {
		return invalidf("launch of %v: there is no argument %d, it takes %d (%s)", l.k, i, len(l.b.Slots), signature(l.k.params))
	}
	if t.Kind() == reflect.Interface {
		return l.argError(i, fmt.Errorf("%v says nothing about the argument, name its type", t))
	}
	if err := l.accepts(i, argTypeOf(t)); err != nil {
		return l.argError(i, err)
	}
	return nil
}
