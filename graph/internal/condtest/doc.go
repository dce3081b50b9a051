// Package condtest tests package graph from outside: conditional nodes and their bodies.
package condtest
