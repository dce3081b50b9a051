// Package robust builds programs that use CUDA in unusual ways, runs them and checks their
// output.
package robust
