// Package hostile tests that untrusted kernels and modules cannot exceed the memory and time limits
// of emulator.Config.
package hostile
