// Package hint has what packages driver and driver/cu both say in errors.
package hint

// ContextLost ends the hint of an error after which the context is lost.
const ContextLost = "the context is lost: close what is open and go on in a new process"
