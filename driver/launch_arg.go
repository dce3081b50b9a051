package driver

import (
	"reflect"

	"github.com/purecuda/cuda/internal/launch"
)

// Arg is an argument of one launch for repeated changes, such as a step number. Its type is checked
// once, when it is created, while SetArg checks at each call. It is a small value, and copies
// denote the same argument.
type Arg[T any] struct {
	l     *Launch
	i     int
	s     *launch.Slot // where to store a number; nil where there is more to do
	shape launch.Stamp // if that is the launch's
}

// ArgOf returns argument i of a launch, counted from 0, for values of type T. It returns an error
// if the parameter does not accept T.
func ArgOf[T any](l *Launch, i int) (Arg[T], error) {
	if err := l.checkArg(i, reflect.TypeFor[T]()); err != nil {
		return Arg[T]{}, err
	}
	a := Arg[T]{l: l, i: i}
	if launch.Plain[T](&l.b, i) != nil {
		a.s, a.shape = &l.b.Slots[i], l.b.Shape
	}
	return a, nil
}

// Set sets the argument, as SetArg does.
func (a Arg[T]) Set(v T) error {
	if s := a.s; s != nil && a.l.b.Shape == a.shape && s.Form == formPlain {
		*(*uint64)(s.At) = launch.WordOf(v)
		return nil
	}
	return SetArg(a.l, a.i, v)
}
