// Package parity tests what five other CUDA libraries do for graphs, capture and
// memory, each test written like a program that uses this module.
// docs/internals/parity.md has a line for each test, and a test checks that they match.
package parity
