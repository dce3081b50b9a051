package loader

import (
	"errors"
	"testing"
)

// noSuchLibrary must distinguish each system's error for a missing library from its error for a
// missing dependency.
func TestMissingLibrariesAreToldByTheSystemsWords(t *testing.T) {
	const name = "libx.so.2"
	for _, c := range []struct {
		what   string
		reason error
		want   bool
	}{
		{"nothing", errors.New(name + ": cannot open shared object file: No such file or directory"), true},
		{"nothing on musl", errors.New("Error loading shared library " + name + ": No such file or directory"), true},
		{"nothing on Windows", moduleNotFound, true},
		{"a file that is no library", errors.New(name + ": invalid ELF header"), false},
		{"a library that lacks another", errors.New("libother.so.1: cannot open shared object file: No such file or directory"), false},
		{"one that lacks another on musl", errors.New("Error loading shared library libother.so.1: No such file or directory (needed by /lib/" + name + ")"), false},
	} {
		if got := noSuchLibrary(name, c.reason); got != c.want {
			t.Errorf("%s: %v, it should be %v", c.what, got, c.want)
		}
	}
}
