package driver

import "reflect"

// Arg is an argument of one launch that is set again and again, such as the
// number of a step: its type was checked when it was made, which SetArg does
// each time. It is a small value; copies are the same argument.
type Arg[T any] struct {
	l     *Launch
	i     int
	s     *slot // where to store a number; nil where there is more to do
	shape stamp // if that is the launch's
}

// ArgOf returns argument i of a launch, counted from 0, to be set to values of
// type T.
func ArgOf[T any](l *Launch, i int) (Arg[T], error) {
	if err := l.checkArg(i, reflect.TypeFor[T]()); err != nil {
		return Arg[T]{}, err
	}
	a := Arg[T]{l: l, i: i}
	if PlainArg[T](l, i) != nil {
		a.s, a.shape = &l.slots[i], l.shape
	}
	return a, nil
}

// Set is SetArg for the argument.
func (a Arg[T]) Set(v T) error {
	if s := a.s; s != nil && a.l.shape == a.shape && s.form == formPlain {
		*(*uint64)(s.at) = WordOf(v)
		return nil
	}
	return SetArg(a.l, a.i, v)
}
