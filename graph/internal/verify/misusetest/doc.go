// Package misusetest tests which calls package graph rejects, and how captures, graphs and
// executables survive misuse and kernel faults.
package misusetest
