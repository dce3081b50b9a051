// Package robust has the tests of what goes wrong around a program: kernels
// that lose the device, memory that runs out, signals, threads of C, child
// processes, and what is left when everything was closed. docs/robustness.md
// says what each shows.
package robust
