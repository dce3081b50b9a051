// Package graph is CUDA graphs: work that is described once and replayed with
// one call.
//
// A [Graph] is nodes and the dependencies between them. [Graph.Instantiate] makes
// an [Exec] of it, and [Exec.Launch] runs that on a stream, any number of times.
// What nodes do are the driver.Op values that streams execute too, so the same
// list of operations can be run at once, captured, added by hand, or used to
// change what a graph does.
//
//	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
//		return sc.DoAll(upload, kernel, download)
//	})
//	x, err := g.Instantiate()
//	for range steps {
//		err = x.Launch(s)
//	}
//	err = s.Wait(ctx)
//
// # Making graphs
//
//   - Record what is sent to a stream: [Capture], or [Begin] and [Recording.End]
//     where code cannot be put into a function. A [Scope] records on one stream;
//     [Scope.Fork] and [Scope.Join] draw in others, [Scope.Parallel] records
//     branches without any, [Scope.Burst] and [Scope.DoAll] record many
//     operations at what C pays, [Scope.Add] returns the node. [CaptureInto] continues a graph that exists,
//     [CaptureValue] and [CaptureReady] return what the function made besides.
//   - By hand, where nothing can be captured or the structure is known: [New],
//     [Graph.Add] and its kin. Many nodes at a time are [Graph.AddBatch] and
//     [Graph.AddChain], and the same many nodes again and again a [Plan].
//   - From a list: [Record] captures it or adds it by hand, whichever is possible.
//   - From what operations read and write: a [Flow] derives the dependencies, as
//     few as give the same results as one operation after the other.
//
// # Nodes and dependencies
//
// A [Node] is a small value. It can be set ([Node.Set]), named, destroyed and
// asked for its type, parameters, launch attributes, identifiers and neighbours.
// [Graph.Nodes] and [Graph.Edges] list what there is. [Graph.AddAfter] and
// [Graph.AddEdges] make dependencies with data, such as [Programmatic] ones.
// [Graph.AddChild] puts a copy of a graph into a node, [Graph.AddChildMove] the
// graph itself. [Graph.AddNode], [Node.SetParams] and [Exec.SetParams] take CUDA's
// own parameters for whatever has no operation here.
//
// # Control flow on the device
//
// A conditional node runs the graphs in it, its bodies, as a [Cond] says, which
// kernels set: [Graph.AddIf], [Graph.AddIfElse], [Graph.AddWhile] and
// [Graph.AddSwitch], or within a capture [Scope.If], [Scope.IfElse], [Scope.While]
// and [Scope.Switch]. [Cond.Set], [Cond.SetTo] and [SetWhen] make operations
// that set a condition, [Cond.Within] bounds the rounds of a loop.
//
// # Launching and changing
//
// Between launches an [Exec] is changed node by node ([Exec.Set], [Exec.SetBatch],
// [Exec.Enable]) or as a whole: [Exec.Update] says whether that is possible, and
// why not and at which node, [Exec.Apply] instantiates anew where it is not.
// Arguments that change with every launch are bound once ([Bind], [BindName],
// [BindConfig]);
// [Bindings.Launch] sends those that changed together with the launch, in one
// crossing. [Exec.Stage] prepares the next launch, [Exec.Run] and [Exec.Wait] wait.
//
// Package graph/callable does all of that for a function of its inputs: it copies
// each call's input, replays, returns the output, records again when constants
// changed and keeps a graph for each shape.
//
// # Memory
//
//   - A [Scalar] is one value at a fixed address, set between replays.
//   - [AddAlloc] and [Graph.AddFree], in a capture [Allocate] and [Scope.Free],
//     have the graph allocate and free while it runs.
//   - Package graph/cache is an allocator for captured and other work whose blocks
//     never move under a live graph.
//   - A [Pool] keeps things alive for several graphs; [Graph.RetainUserObject] ties
//     the end of something to the end of a graph.
//
// # Seeing
//
// [Graph.Snapshot] returns a graph as plain data, and [Exec.Snapshot] also which
// nodes are off. [Graph.Profile] measures each node on the device and returns a
// snapshot with the times. Package graph/view draws snapshots and finds the critical
// path. [Graph.Check] finds nodes that touch the same memory without an order between
// them.
//
// # What a graph keeps alive
//
// The parameters of a node refer to kernels, memory, events and host functions.
// A graph retains what its nodes refer to now, and an Exec what it was made or
// last changed with; both until they are closed or changed, and an Exec that
// runs until that run is over. So buffers and modules may be dropped, and
// closed, while a graph still uses them. Work that a capture records past its
// [Scope], through libraries or raw calls, is not seen: see [Scope.Keep] and
// [Graph.Keep].
//
// A Graph, an Exec, a Plan and all else here that has a Close wants to be closed,
// in any order. What is dropped instead is destroyed by the collector and
// reported as a leak.
//
// # Goroutines
//
// CUDA does not synchronise its graph objects; these do. Any goroutine may use
// any Graph or Exec at any time, calls on one of them take turns. What differs
// says so: a [Flow], a [Burst] and the setting of [Bindings] are for one goroutine
// at a time. An open capture in a mode other than [ModeRelaxed]
// belongs to the goroutine that began it, which is held on its OS thread until it
// ends. Functions that are handed in (to Capture and Relaxed) are called
// by the goroutine that hands them in.
//
// # Versions
//
// Graphs need a driver of CUDA 11.4 or later. What came later names the version
// where it is described, as (CUDA 12.3); on an older driver it returns an error
// that says so and matches driver.ErrNotSupported. Nothing else changes with the
// driver's version.
//
// # Errors
//
// Errors name the objects and say what to do. Those of the driver, and those that
// are found before it is asked, match its codes by errors.Is, such as
// driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED; uses of what is closed match
// driver.ErrClosed, and [ErrEnded] is for scopes whose capture is over. What
// goes wrong while a graph runs is the error of a later call, mostly of a wait.
//
// That an update is not possible is no error: an [UpdateResult] says why not and at
// which node. A capture that was invalidated says which call did it, as far as that
// can be known, also where that call's own error was dropped.
//
// This package imports package driver, and of package loader the lock and the
// frames of batches. Nothing else of the module.
package graph
