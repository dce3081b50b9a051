//go:build !race

package difftest_test

// stride selects every stride-th form: here all.
const stride = 1
