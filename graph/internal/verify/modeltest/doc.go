// Package modeltest compares random calls of package graph with a model, and uses the same graphs
// on several goroutines.
package modeltest
