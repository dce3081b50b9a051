// Package condtest tests conditional nodes and their bodies through the API of package graph.
package condtest
