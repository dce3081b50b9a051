//go:build race

package difftest_test

// stride is which forms are run: with the race detector, which says nothing
// about results, each eighth.
const stride = 8
