package main

import (
	"testing"

	"github.com/purecuda/cuda/driver/cudatest"
)

// Every case must run, with small sizes.
func TestCases(t *testing.T) {
	c := cudatest.Device(t)
	s, err := c.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	names := make(map[string]bool)
	for _, one := range cases(true) {
		t.Run(one.name, func(t *testing.T) {
			if names[one.name] {
				t.Error("two cases have this name")
			}
			names[one.name] = true
			m := &memory{c: c}
			defer func() {
				if err := m.close(); err != nil {
					t.Error(err)
				}
			}()
			ops := one.make(m)
			if m.err != nil {
				t.Fatal(m.err)
			}
			if err := s.Do(ops...); err != nil {
				t.Fatal(err)
			}
			if err := s.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
