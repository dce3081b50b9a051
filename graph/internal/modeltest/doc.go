// Package modeltest tests package graph from outside: random calls are compared with
// a model, and goroutines use the same graphs at once.
package modeltest
