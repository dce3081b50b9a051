// Package hostile tests that untrusted kernels and modules cannot exceed the memory and time limits
// in emulator.Config.
package hostile
