package cudatest_test

import (
	"flag"
	"testing"
)

// passes runs a test inside an example, where package testing does not run tests. It turns off -v,
// because the verbose output would count as the example's output.
func passes(name string, test func(*testing.T)) bool {
	verbose := flag.Lookup("test.v")
	defer verbose.Value.Set(verbose.Value.String())
	verbose.Value.Set("false")
	all := func(_, _ string) (bool, error) { return true, nil }
	return testing.RunTests(all, []testing.InternalTest{{Name: name, F: test}})
}
