// Package parts tests what the Makefile and the scripts report for parts that a machine
// cannot run: that they were not run, never that they passed.
package parts
