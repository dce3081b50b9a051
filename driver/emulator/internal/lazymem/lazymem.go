// Package lazymem makes large buffers of zeros whose pages take no memory until they are accessed.
//
// Go's heap clears reused memory as a whole. A mapping of the system is zeroed page by page on first
// access, so a kernel that writes little of a large allocation costs little. Mappings exist on Linux
// only, and not with the race detector, which sees nothing but Go's heap.
//
// A mapping is never returned to the system. A kernel that still runs when its memory is freed may
// access it until its next instruction finds the region dead, and that must not end the process.
// Mappings are therefore kept for later buffers, without their pages.
package lazymem
