package cu_test

import (
	"slices"
	"testing"
)

func TestCloseFirstCallsWhatMustEndBefore(t *testing.T) {
	l := &rawLibrary{}
	d := rawDriver(t, l)
	var order []string
	end := func(name string) func() {
		return func() {
			if !d.Closed() || l.closed != 0 {
				t.Errorf("%s: driver closed: %v, library closed %d times", name, d.Closed(), l.closed)
			}
			order = append(order, name)
		}
	}
	d.BeforeClose(end("first"))
	d.Guarded().BeforeClose(end("second"))
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(order, []string{"first", "second"}) || l.closed != 1 {
		t.Errorf("%v were called, the library was closed %d times", order, l.closed)
	}
}
