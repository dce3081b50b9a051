// Package fuzztest compiles mutated kernels. Whatever the text, the compiler must end soon, with PTX
// or with errors that have a position. The package contains only tests.
package fuzztest
