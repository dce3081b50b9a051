// Package zerovalue holds the rule for nil and zero objects, for all exported
// methods and functions there are: none panics, and what returns an error says
// what is missing and what makes one. Its test has no list of types. It asks the
// compiler for them, writes a program that names each, and runs that.
package zerovalue
