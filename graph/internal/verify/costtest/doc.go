// Package costtest tests the allocations of package graph and benchmarks its calls.
package costtest
