// Package parts tests what the Makefile and the scripts say of parts that a
// machine cannot run: they are counted as not run, never as passed.
package parts
