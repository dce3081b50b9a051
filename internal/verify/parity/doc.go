// Package parity holds tests of what five other CUDA libraries do for graphs,
// capture and memory, each written as a program would that uses this module.
// docs/internals/parity.md has a line for each test; they are checked against each other.
package parity
