package cudatest_test

import (
	"flag"
	"testing"
)

// passes runs a test where go test runs none: in an example. What it prints with
// -v would be taken for the example's own output.
func passes(name string, test func(*testing.T)) bool {
	verbose := flag.Lookup("test.v")
	defer verbose.Value.Set(verbose.Value.String())
	verbose.Value.Set("false")
	all := func(_, _ string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: name, F: test}})
}
