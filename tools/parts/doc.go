// Package parts tests how the Makefile and the scripts report parts that a machine
// cannot run: as not run, never as passed.
package parts
