// Package parity tests the features of five other CUDA libraries for graphs, capture and memory.
// Each test uses this module as a program would. docs/internals/parity.md has one line per test,
// and TestEachLineHasItsTest checks that they match.
package parity
