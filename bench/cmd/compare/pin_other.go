//go:build !linux

package main

import "errors"

func pin(cpus string) error {
	if cpus == "" {
		return nil
	}
	return errors.New("-cpus: only on Linux")
}
