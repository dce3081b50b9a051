package graph

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

// Param is one bound argument. It is a small value; copies are the same
// parameter.
type Param[T any] struct {
	bs *Bindings
	b  *bound
	i  int
	at *uint64 // where a number is, see driver.PlainArg
}

// Bind binds argument i, counted from 0, of a kernel node. l is what the node
// does: the node has its arguments from the next Launch on. They are copied, l
// may be changed and used elsewhere; for the other arguments of the same node
// pass the same l.
func Bind[T any](bs *Bindings, n Node, l *driver.Launch, i int) (Param[T], error) {
	if err := driver.CheckArg[T](l, i); err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	b, err := bs.bind(n, l)
	if err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	return Param[T]{bs, b, i, driver.PlainArg[T](b.launch, i)}, nil
}

// BindName is Bind for the parameter of that name in the kernel's PTX.
func BindName[T any](bs *Bindings, n Node, l *driver.Launch, name string) (Param[T], error) {
	i, err := l.ArgIndex(name)
	if err != nil {
		return Param[T]{}, fmt.Errorf("cannot bind an argument of %v: %w", n, err)
	}
	return Bind[T](bs, n, l, i)
}

// Set gives the parameter a value, which is sent with the next Launch of the
// bindings. Setting what it has already sends nothing. A Memory is kept from
// then on, in place of the one before, which is let go of when the launches that
// use it have ended.
func (p Param[T]) Set(v T) error {
	if p.at == nil {
		return p.setAny(v)
	}
	if w := driver.WordOf(v); *p.at != w {
		*p.at = w
		if !p.b.changed {
			p.bs.mark(p.b)
		}
	}
	return nil
}

// setAny is Set for what has more to it than a number.
func (p Param[T]) setAny(v T) error {
	if p.bs == nil {
		return errNoParam
	}
	changed, err := driver.ChangeArg(p.b.launch, p.i, v)
	if changed && !p.b.changed {
		p.bs.mark(p.b)
	}
	return err
}

var errNoParam = invalid("the zero Param is bound to nothing")

// Node returns the node whose parameter it is.
func (p Param[T]) Node() Node {
	if p.b == nil {
		return Node{}
	}
	return p.b.node
}
