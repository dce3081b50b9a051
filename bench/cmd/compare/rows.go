package main

// row is one driver call that every caller measures.
type row struct {
	name       string // name of the row in commands
	title      string
	operations int // number of operations per sample
	samples    int // number of samples per turn

	ratio  float64 // budget: at most this many times C; 0 means none
	extra  float64 // budget: at most this many ns more than C; 0 means none
	atMost float64 // budget: at most this many ns; 0 means none
	vsCgo  bool    // budget: not slower than cgo
	allocs float64 // budget: at most this many allocations; 0 means maxAllocs

	overCgo float64 // budget: at most this many times cgo; 0 means none

	lessThan string  // budget: faster than the row with this name
	times    float64 // budget: minimum factor by which the row must be faster than lessThan
}

// Launches are sampled in runs that fit in the driver's queue of about a thousand entries.
// In longer runs, a launch would wait for the device.
var rows = []row{
	{name: "ctx_get_current", title: "cuCtxGetCurrent", operations: 50_000, samples: 3, extra: 30, vsCgo: true},
	{name: "node_add", title: "kernel node added", operations: 1000, samples: 3, overCgo: 1.10},
	{name: "node_add_batch", title: "kernel nodes added, 1,000 by AddPlan (per node)", operations: 1000, samples: 3, ratio: 1.03},
	{name: "node_add_chain", title: "kernel nodes added, 1,000 by AddBatch (per node)", operations: 1000, samples: 3},
	{name: "node_update", title: "kernel node's parameters set in an exec, after a launch", operations: 1000, samples: 3, overCgo: 1.10},
	{name: "node_update_batch", title: "kernel nodes' parameters set, 1,000 in a batch (per node)", operations: 1000, samples: 3, ratio: 1.15},
	{name: "launch", title: "kernel launch", operations: 500, samples: 3, ratio: 1.05, vsCgo: true},
	{name: "launch_step", title: "ptx2go launch, all arguments anew", operations: 500, samples: 3, ratio: 1.10},
	{name: "launch_step_args", title: "ptx2go launch, prepared, one argument anew", operations: 500, samples: 3, ratio: 1.10},
	{name: "graph_launch_1", title: "graph launch, 1 node", operations: 200, samples: 3, ratio: 1.05, vsCgo: true},
	{name: "graph_launch_1000", title: "graph launch, 1,000 nodes", operations: 20, samples: 2, ratio: 1.05, vsCgo: true},
	{name: "recapture", title: "1,000 launches recaptured one by one, exec updated, graph closed", operations: 4, samples: 3, ratio: 1.30, allocs: perGraph},
	{name: "recapture_burst", title: "the same, recorded in a Burst", operations: 4, samples: 3, ratio: 1.10, allocs: perGraph},
	{name: "recapture_all", title: "the same, 1,000 prepared launches recorded by one Do", operations: 4, samples: 3, allocs: perGraph},
	{name: "set_10", title: "10 of 1,000 nodes' parameters changed, and launch (bound)", operations: 20, samples: 2, ratio: 1.10, lessThan: "recapture_burst", times: 20},
	{name: "set_10_batch", title: "the same by SetBatch and Launch", operations: 20, samples: 2},
	{name: "set_10_each", title: "the same by Set and Launch", operations: 20, samples: 2, ratio: 1.15},
	{name: "scalar_set", title: "Scalar set (C: cuMemsetD32Async)", operations: 200, samples: 3},
	{name: "event_record_timing", title: "event record (with timing)", operations: 500, samples: 3, ratio: 1.05, vsCgo: true},
	{name: "event_record", title: "event record (without timing)", operations: 500, samples: 3, vsCgo: true},
	{name: "copy_4k", title: "async copy, 4 KiB page-locked to device", operations: 500, samples: 3, ratio: 1.05, vsCgo: true},
	{name: "launch_shared_16", title: "one exec launched by 16 goroutines (C: threads and a mutex)", operations: 3200, samples: 3, vsCgo: true},
	{name: "capture_empty", title: "capture begun and ended, graph closed", operations: 200, samples: 3, ratio: 3, allocs: 3},
	{name: "capture_1000", title: "1,000 launches captured one by one, graph closed", operations: 4, samples: 3, ratio: 1.30, allocs: perGraph},
	{name: "capture_1000_all", title: "the same, by a list of operations", operations: 4, samples: 3, ratio: 1.05, allocs: perGraph},
	{name: "capture_1000_typed", title: "the same, by a generated launcher into a Burst", operations: 4, samples: 3, ratio: 1.05, allocs: perGraph},
	{name: "capture_1000_typed_each", title: "the same, by a generated launcher into the Scope", operations: 4, samples: 3, allocs: perGraph},
	{name: "update_1000", title: "exec updated from a graph of 1,000 nodes", operations: 10, samples: 3, ratio: 1.05},
	{name: "instantiate_1", title: "graph of 1 node instantiated", operations: 50, samples: 3, ratio: 1.15, allocs: 7},
	{name: "chain_100000", title: "kernel nodes added, 100,000 by AddBatch (per node)", operations: 100_000, samples: 1, ratio: 1.05},
	{name: "plan_100000", title: "kernel nodes added, 100,000 by AddPlan (per node)", operations: 100_000, samples: 1, ratio: 1.05},

	// Each operation is a whole wait, so a few operations are enough.
	{name: "wait_100us", title: "launch and wait that can be cancelled, kernel of 100 µs", operations: 40, samples: 3, ratio: 1.10},
	{name: "wait_1ms", title: "the same, kernel of 1 ms", operations: 8, samples: 3, ratio: 1.03},
	{name: "wait_100us_background", title: "launch and wait, kernel of 100 µs", operations: 40, samples: 3, ratio: 1.10},
	{name: "wait_crowd", title: "16 goroutines launch and wait (cancellable), kernels of 10 µs", operations: 16 * 40, samples: 3, vsCgo: true},
	{name: "wait_crowd_100us", title: "the same, kernels of 100 µs", operations: 16 * 10, samples: 3, vsCgo: true},
	{name: "event_query", title: "event query", operations: 2000, samples: 3, vsCgo: true},
	{name: "stream_query", title: "stream query", operations: 2000, samples: 3, vsCgo: true},
	{name: "alloc_async", title: "stream-ordered allocation and free", operations: 200, samples: 3, ratio: 1.50, allocs: perPair},
	{name: "alloc_async_slot", title: "the same into a buffer that is kept", operations: 200, samples: 3, ratio: 1.50},
	{name: "cache_hit", title: "Cache allocation and free (C: stream-ordered)", operations: 1000, samples: 3, atMost: 300, allocs: perPair},
	{name: "cache_hit_slot", title: "the same into a buffer that is kept", operations: 1000, samples: 3, atMost: 300},
	{name: "module_100", title: "PTX of 100 kernels loaded and found", operations: 4, samples: 3, ratio: 1.05, allocs: perModule},

	{name: table, title: "the whole function table resolved", operations: 1, samples: 5, atMost: 500_000},
}

// maxStart is the largest accepted difference from C, in ns, of the time from the start of a
// process to the result of its first kernel.
const maxStart = 5e6

// maxAllocs is the number of allocations per operation that still counts as 0. A sample may
// allocate a few objects once, such as the tables of a new graph.
const maxAllocs = 0.1

// perGraph is the number of allocations allowed for a graph of any size: the graph, its
// lifetime, and the objects that watch its capture.
const perGraph = 20

// Allocations allowed for each new object.
const (
	perPair   = 2   // for an allocation: the buffer and its lifetime
	perModule = 150 // for a module of 100 kernels: one object for each kernel, and the objects of the module itself
)

// table is the row that creates a function table in each operation. Its allocations are not
// limited.
const table = "table"
