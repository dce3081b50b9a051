// Package kernelstest tests package kernels: the results of every operation, the arguments that
// the operations reject, and what programs link.
package kernelstest
