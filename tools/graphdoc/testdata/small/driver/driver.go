// Package driver is a small one of the same form, for the generator's test.
package driver

import "example.com/small/driver/cu"

type Driver struct{ cu.Driver }

// Guarded calls what has the same name in package cu.
func (d *Driver) Guarded() int { return d.Driver.Guarded() }

func Own[T any](object *T, kind string, handle uint64, destroy func(d *Driver) error) {}

// Op is an interface whose method is called through it.
type Op interface{ Enqueue(d *Driver) error }

type Clone struct{}

func (*Clone) Enqueue(d *Driver) error { return clone(d) }

func clone(d *Driver) error { return d.CuGraphClone() }
