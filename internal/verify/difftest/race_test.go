//go:build race

package difftest_test

// stride selects every stride-th form. The race detector does not depend on results, so
// every eighth is enough.
const stride = 8
