// Package parity tests the features of five other CUDA libraries for graphs, capture and memory.
// Each test is written like a program that uses this module. docs/internals/parity.md has one line
// per test, and a test checks that they match.
package parity
