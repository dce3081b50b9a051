// Package misusetest tests package graph from outside: what is refused, and how
// captures, graphs and executables survive misuse and kernel faults.
package misusetest
