package main

import (
	"errors"
	"fmt"

	"github.com/purecuda/cuda/driver/cu"
	"github.com/purecuda/cuda/driver/emulator"
	"github.com/purecuda/cuda/loader"
)

type status int

const (
	implemented status = iota
	refused
	absent
)

type function struct {
	cu.Function
	status  status
	missing string // the feature that the emulator lacks; set for a function that it rejects
}

// functions queries an emulator for its support of all functions.
func functions() ([]function, error) {
	emu := emulator.New(emulator.Config{})
	defer emu.Close()
	var all []function
	for f := range cu.Functions() {
		row := function{Function: f}
		_, err := emu.Lookup(f.Symbol())
		what, no := emulator.Refused(f.Symbol())
		switch {
		case errors.Is(err, loader.ErrSymbolNotFound):
			row.status = absent
		case err != nil:
			return nil, err
		case no:
			row.status, row.missing = refused, what
		}
		all = append(all, row)
	}
	return all, nil
}

func count(fs []function, s status) (n int) {
	for _, f := range fs {
		if f.status == s {
			n++
		}
	}
	return n
}

// complete returns an error for each function that the emulator lacks completely.
func complete(fs []function) error {
	var errs []error
	for _, f := range fs {
		if f.status == absent {
			errs = append(errs, fmt.Errorf("the emulator has no %s, not even to refuse it", f.Symbol()))
		}
	}
	return errors.Join(errs...)
}
