// Package zerovalue tests all exported functions, and all methods on nil and zero objects. None may
// panic, and an error must name what is missing and the function that creates it. The test gets the
// exported names from the compiler, generates a program that refers to all of them, and runs the
// program.
package zerovalue
