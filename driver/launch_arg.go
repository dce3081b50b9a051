package driver

import "reflect"

// Arg is an argument of one launch for repeated changes, such as a step number. Its type is checked
// once, when it is created, while SetArg checks at each call. It is a small value, and copies
// denote the same argument.
type Arg[T any] struct {
	l     *Launch
	i     int
	s     *slot // where to store a number; nil where there is more to do
	shape stamp // if that is the launch's
}

// ArgOf returns argument i of a launch, counted from 0, for values of type T. It returns an error
// if the parameter does not accept T.
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

// Set sets the argument, as SetArg does.
func (a Arg[T]) Set(v T) error {
	if s := a.s; s != nil && a.l.shape == a.shape && s.form == formPlain {
		*(*uint64)(s.at) = WordOf(v)
		return nil
	}
	return SetArg(a.l, a.i, v)
}
