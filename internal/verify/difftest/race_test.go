//go:build race

package difftest_test

// stride is the distance between the forms that run. Races do not depend on the form's results, so
// testing every eighth form is enough.
const stride = 8
