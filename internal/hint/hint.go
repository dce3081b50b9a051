// Package hint has text that the errors of both driver and driver/cu contain.
package hint

// ContextLost ends the hint of an error that loses the context.
const ContextLost = "the context is lost: close everything and continue in a new process"
