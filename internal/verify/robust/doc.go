// Package robust tests what can go wrong around a program: kernels that lose the
// device, memory that runs out, signals, C threads, child processes, and what is left
// after everything was closed. docs/robustness.md says what each test shows.
package robust
