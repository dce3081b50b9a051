// Package hint contains text shared by the errors of packages driver and driver/cu.
package hint

// ContextLost is the end of the hint for errors that make the context unusable.
const ContextLost = "the context is lost: close everything and continue in a new process"
