// Package hostile has the tests that untrusted kernels and modules cannot take more memory and time
// from the process than Config allows.
package hostile
