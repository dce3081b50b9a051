// Package graph is CUDA graphs: work that is described once and replayed with one call.
//
// A [Graph] consists of nodes and the dependencies between them. [Graph.Instantiate] creates an
// [Exec] from it, and [Exec.Launch] runs that on a stream, any number of times. Nodes do the same
// driver.Op values that streams execute. So one list of operations can be run directly, captured,
// added by hand, or used to change a graph.
//
//	g, err := graph.Capture(s, graph.ModeThreadLocal, func(sc *graph.Scope) error {
//		return sc.Do(upload, kernel, download)
//	})
//	x, err := g.Instantiate()
//	for range steps {
//		err = x.Launch(s)
//	}
//	err = s.Wait(ctx)
//
// # Creating graphs
//
//   - Record the work of a stream with [Capture]. If you cannot put the recorded code in one
//     function, use [Begin] and [Recording.End]. A [Scope] records on one stream. [Scope.Fork] and
//     [Scope.Join] add others, [Scope.Parallel] records branches without other streams,
//     [Scope.Do] records one or many operations, [Scope.Burst] one launch many times with other
//     arguments, and [Scope.Add] returns the node. [WithTarget] extends an existing graph.
//   - By hand, if the work cannot be captured or its structure is known: [New], [Graph.Add] and
//     similar methods. To add many nodes at once, use [Graph.AddBatch], for a sequence with
//     [Chain]. To add the same nodes repeatedly, use a [Plan].
//   - From what operations read and write: package graph/dataflow derives the fewest dependencies
//     that give the same results as running the operations in order.
//
// # Nodes and dependencies
//
// A [Node] is a small value. It can be set ([Node.Set]), named and destroyed, and it has a type,
// parameters, launch attributes, identifiers and neighbours. [Graph.Nodes] and [Graph.Edges] list
// the graph. [ParamsOf] reads parameters. [Graph.AddEdges] adds dependencies, also with data, such as
// [Programmatic] ones. [Graph.AddChild] puts a copy of a graph into a node, [Graph.AddChildMove]
// the graph itself. [Graph.AddNode], [Node.SetParams] and [Exec.SetParams] take CUDA's own
// parameters for nodes that have no operation here.
//
// # Control flow on the device
//
// A conditional node runs its nested graphs, the bodies, depending on a [Cond], which kernels set:
// [Graph.AddIf], [Graph.AddIfElse], [Graph.AddWhile] and [Graph.AddSwitch], or within a capture
// [Scope.If], [Scope.IfElse], [Scope.While] and [Scope.Switch]. [Cond.Set], [Cond.SetTo] and
// [Cond.SetWhen] return operations that set a condition, and [Cond.Within] limits the rounds of a
// loop.
//
// # Launching and changing
//
// Between launches an [Exec] can be changed node by node ([Exec.Set], [Exec.SetBatch],
// [Exec.Enable]) or as a whole. [Exec.Update] returns whether that is possible, and if not, why and
// at which node, and [WithReinstantiate] instantiates anew then. Bind arguments that change with every
// launch once ([Bind], [BindName], [BindConfig]). [Bindings.Launch] then sends the changed ones
// together with the launch in one native call. [Exec.Stage] prepares the next launch, [Exec.Run]
// and [Exec.Wait] wait.
//
// Package graph/callable does all of that for a function of its inputs. It copies each call's
// input, replays, returns the output, records again when constants changed and keeps a graph for
// each shape. It also captures functions that return a value.
//
// # Memory
//
//   - A [Scalar] is one value at a fixed address, set between replays.
//   - [AddAlloc] and [Graph.AddFree], in a capture [Allocate] and [Scope.Free], make the graph
//     allocate and free while it runs.
//   - Package graph/cache is an allocator for captured and other work whose blocks never move while
//     a live graph uses them.
//   - A [Pool] keeps things alive for several graphs. [Graph.RetainUserObject] ties the end of an
//     object to the end of a graph.
//
// # Inspecting
//
// [Graph.Snapshot] returns a graph as plain data, and [Exec.Snapshot] also which nodes are off.
// [Graph.Profile] measures each node on the device and returns a snapshot with the times. Package
// graph/view draws snapshots and finds the critical path. [Graph.Check] finds unordered nodes that
// access the same memory.
//
// # What a graph keeps alive
//
// The parameters of a node refer to kernels, memory, events and host functions. A graph retains
// what its nodes currently refer to, and an Exec what it was created or last changed with. Both do
// so until they are closed or changed, and a running Exec until its run has ended. So buffers and
// modules may become unreachable, or be closed, while a graph still uses them. Work that a capture
// records without its [Scope], through libraries or raw calls, is not known to the graph: see
// [Scope.Keep] and [Graph.Keep].
//
// A Graph, an Exec, a Plan and everything else here with a Close method must be closed, in any
// order. What becomes unreachable instead is destroyed after a garbage collection and reported as a
// leak.
//
// # Goroutines
//
// CUDA does not synchronise its graph objects, but this package does. Any goroutine may use any
// Graph or Exec at any time, and calls on one of them take turns. Exceptions say so: a
// [Burst] and setting [Bindings] are for one goroutine at a time. An open capture in a mode other
// than [ModeRelaxed] belongs to the goroutine that began it, which is locked to its OS thread until
// the capture ends. Functions passed in (to Capture and Relaxed) are called by the goroutine that
// passes them.
//
// # Versions
//
// Graphs require a driver of CUDA 11.4 or later. Documentation of later features names the version,
// as in (CUDA 12.3). On an older driver they return an error that says so and matches
// driver.ErrNotSupported. Nothing else depends on the driver's version.
//
// # Errors
//
// Errors name the objects and say what to do. Those of the driver, and those detected before the
// driver is called, match its codes with errors.Is, such as
// driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED. Uses of closed objects match driver.ErrClosed, and
// uses of a scope after its capture match [ErrEnded]. If a graph fails while it runs, a later call
// returns the error, usually a wait.
//
// An impossible update is not an error: an [UpdateResult] says why, and at which node. The error of
// an invalidated capture names the call that caused it, as far as that is known, even if that
// call's own error was ignored.
//
// This package imports package driver, and the lock and batches of package loader, but no other
// package of the module.
package graph
