// Package hint contains text shared by the errors of packages driver and driver/cu.
package hint

// ContextLost ends the hint of an error that loses the context.
const ContextLost = "the context is lost: close everything and continue in a new process"
