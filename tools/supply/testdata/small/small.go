// Package small has an export of every kind.
package small

import "io"

const Answer, Name = 42, "small"

const hidden = 1

var Default io.Reader

type Number interface{ ~int | ~float64 }

type Shape interface {
	Area(scale float64) (square float64)
	private()
}

type Base struct{ ID int }

func (Base) Value()        {}
func (b *Base) Set(id int) { b.ID = id + hidden }

type Point[T Number] struct {
	Base
	X, Y T
	call func()
}

func (p *Point[T]) Move(dx, dy T) (ok bool) { return p.call != nil }

type Alias = Base

type Kind uint8

func Each[T any](list []T, f func(i int, v T) error) (err error) { return nil }
