// Package costtest tests package graph from outside: what calls allocate, and benchmarks.
package costtest
