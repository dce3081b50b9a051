// Package lazymem creates large zeroed buffers whose pages take no memory until they are accessed.
//
// Go's heap clears a reused block as a whole. The operating system zeroes a mapping page by page on
// first access, so a kernel that writes to a small part of a large allocation is cheap. Mappings
// are used only on Linux, and not under the race detector, which tracks only Go's heap.
//
// A mapping is never unmapped. When memory is freed while a kernel still runs, the kernel may
// access it until its next instruction notices the free. That access must not crash the process.
// The mapping is therefore kept for later buffers, but its pages are returned to the system.
package lazymem
