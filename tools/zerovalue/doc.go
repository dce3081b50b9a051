// Package zerovalue tests the rule for nil and zero objects on all exported methods and
// functions: none panics, and an error result says what is missing and what constructs
// it. The test has no list of types. It asks the compiler for them, writes a program
// that names each, and runs it.
package zerovalue
