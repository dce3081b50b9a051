package main

// barriers describes how the compiler treats barriers in divergent code. The tests are in
// ptx/go2ptx/barriers_test.go.
const barriers = `## Barriers in divergent code

A barrier such as ` + "`t.Sync()`" + ` waits for all threads of the block that have not returned. If some threads skip it and continue, the result of the kernel is not defined, and the kernel may hang. The compiler evaluates conditions that depend only on the index in the block for each thread, if the directive fixes the size of the block.

| condition before the barrier, with block=256 | what the compiler does |
|---|---|
| ` + "`if t.ThreadX() < 7 {`" + `, and code follows the block | reports an error: only some threads reach the barrier |
| ` + "`if t.ThreadX() < 7 {`" + ` without block= in the directive, ` + "`if t.GlobalX() < n {`" + `, a loop with a count for each thread | ` + "`-explain`" + ` names the barrier: not all threads may reach it |
| ` + "`if t.GlobalX() >= n { return }`" + ` before the barrier | ` + "`-explain`" + ` says that the barrier does not wait for threads that return |
| ` + "`if t.ThreadX() < 2000 {`" + `, ` + "`if n > 7 {`" + `, ` + "`if t.BlockX() < 7 {`" + ` | nothing: all threads of a block take the same side |

The early return is the most frequent mistake: the kernel does not hang, but threads that return do not load their part of shared memory. Let all threads reach the barrier, and put conditions around the accesses instead. ` + "`BarrierSync`" + ` with a number of threads and functions of a warp are for some threads, and are not errors.

`
