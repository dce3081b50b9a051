// Package driver is a small package driver for the generator's test.
package driver

import "example.com/small/driver/cu"

type Driver struct{ cu.Driver }

// Guarded calls the method of the same name in package cu.
func (d *Driver) Guarded() int { return d.Driver.Guarded() }

func Own[T any](object *T, kind string, handle uint64, destroy func(d *Driver) error) {}

// Op is an interface with a method that is called through it.
type Op interface{ Enqueue(d *Driver) error }

type Clone struct{}

func (*Clone) Enqueue(d *Driver) error { return clone(d) }

func clone(d *Driver) error { return d.CuGraphClone() }
