// Package robust tests failures around a program: kernels that lose the device, memory that runs
// out, signals, C threads, child processes, and leftovers after closing everything.
// docs/robustness.md describes what each test shows.
package robust
