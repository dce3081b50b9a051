// Package parts tests that the Makefile and the scripts report parts that a machine cannot run as
// not run, and never as passed.
package parts
