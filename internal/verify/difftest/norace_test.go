//go:build !race

package difftest_test

// stride is the distance between the forms that run. Without the race detector, all forms run.
const stride = 1
