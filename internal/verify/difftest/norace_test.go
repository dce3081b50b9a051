//go:build !race

package difftest_test

// stride is which forms are run: all.
const stride = 1
