// Package graph implements CUDA graphs: work that is described once and replayed with one call.
//
// A [Graph] consists of nodes and the dependencies between them. [Graph.Instantiate] creates an
// [Exec] from it, and [Exec.Launch] runs the Exec on a stream, any number of times. Nodes run the
// same driver.Op values that streams execute. So one list of operations can be run directly,
// captured, added by hand, or used to change a graph.
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
//   - Build it node by node, if the work cannot be captured or its structure is known: [New],
//     [Graph.Add] and similar methods. To add many nodes at once, use [Graph.AddBatch], for a
//     sequence with [Chain]. To add the same nodes repeatedly, use a [Plan].
//   - Derive it from the accesses of operations: package graph/dataflow finds the fewest
//     dependencies that give the same results as running the operations in order.
//
// # Nodes and dependencies
//
// A [Node] is a small value. It can be set ([Node.Set]), named and destroyed. It has a type,
// parameters, launch attributes, identifiers and neighbours. [Graph.Nodes] and [Graph.Edges] list
// the graph. [ParamsOf] reads parameters. [Graph.AddEdges] adds dependencies, including those with
// edge data such as [Programmatic]. [Graph.AddChild] adds a node with a copy of a graph.
// [Graph.AddChildMove] adds a node with the graph itself. [Graph.AddNode], [Node.SetParams] and
// [Exec.SetParams] accept CUDA's own parameters, for nodes that have no operation here.
//
// # Control flow on the device
//
// A conditional node runs its nested graphs, the bodies, depending on a [Cond], which kernels set.
// To add one, use [Graph.AddIf], [Graph.AddIfElse], [Graph.AddWhile] or [Graph.AddSwitch]. In a
// capture, use [Scope.If], [Scope.IfElse], [Scope.While] or [Scope.Switch]. [Cond.Set],
// [Cond.SetTo] and [Cond.SetWhen] return operations that set a condition, and [Cond.Within] limits
// the iterations of a loop.
//
// # Launching and changing
//
// Between launches an [Exec] can be changed node by node ([Exec.Set], [Exec.SetBatch],
// [Exec.Enable]) or as a whole. [Exec.Update] reports whether an update is possible and, if not,
// why and at which node. With [WithReinstantiate], it instantiates the Exec anew if an update is
// impossible. If an argument changes with every launch, bind it once ([Bind], [BindName],
// [BindConfig]). [Bindings.Launch] then sends the changed arguments and the launch in one native
// call. [Exec.Stage] prepares the next launch. [Exec.Run] and [Exec.Wait] wait.
//
// Package graph/callable does all of this for a function of its inputs. For each call it copies the
// input, replays and returns the output. It records again when constants change, and keeps a graph
// for each shape. It also captures functions that return a value.
//
// # Memory
//
//   - A [Scalar] is one value at a fixed address, set between replays.
//   - [AddAlloc] and [Graph.AddFree], or in a capture [Allocate] and [Scope.Free], make the graph
//     allocate and free while it runs.
//   - Memory of package graph/cache never moves while a live graph uses it.
//   - Graphs that never run together share memory of package graph/arena.
//   - A [Pool] keeps objects alive for several graphs. [Graph.RetainUserObject] ties the lifetime
//     of a user object to a graph.
//
// # Inspecting
//
// [Graph.Snapshot] returns a graph as plain data. [Exec.Snapshot] also reports which nodes are
// disabled. [Graph.Profile] measures each node on the device and returns a snapshot with the times.
// Package graph/view draws snapshots and finds the critical path. [Graph.Check] finds unordered
// nodes that access the same memory.
//
// # What a graph keeps alive
//
// The parameters of a node refer to kernels, memory, events and host functions. A graph retains the
// objects that its nodes currently refer to. An Exec retains the objects that it was created or
// last changed with. Both retain them until they are closed or changed, and a running Exec also
// until its run has ended. So buffers and modules may become unreachable, or be closed, while a
// graph still uses them. The graph does not know the objects of work that libraries or raw calls
// record without the [Scope]: see [Scope.Keep] and [Graph.Keep].
//
// A Graph, an Exec, a Plan and everything else here with a Close method must be closed, in any
// order. An object that becomes unreachable instead is destroyed after a garbage collection and
// reported as a leak.
//
// # Goroutines
//
// CUDA does not synchronise its graph objects, but this package does. Any goroutine may use any
// Graph or Exec at any time, and calls on one object are serialised. There are two exceptions: only
// one goroutine at a time may use a [Burst] or set [Bindings]. An open capture in a mode other than
// [ModeRelaxed] belongs to the goroutine that began it. That goroutine is locked to its OS thread
// until the capture ends. Capture and Relaxed call the functions passed to them on the caller's
// goroutine.
//
// # Versions
//
// Graphs require a driver of CUDA 11.4 or later. The documentation of a later feature names its
// version, as in (CUDA 12.3). On an older driver the feature returns an error that names the
// version and matches driver.ErrNotSupported. Nothing else depends on the driver's version.
//
// # Errors
//
// Errors name the objects and the remedy. With errors.Is they match the driver's codes, such as
// driver.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, even if they were detected before the driver was
// called. Uses of closed objects match driver.ErrClosed, and uses of a scope after its capture
// match [ErrEnded]. If a graph fails while it runs, a later call, usually a wait, returns the
// error.
//
// An impossible update is not an error: the [UpdateResult] has the reason and the node. The error
// of an invalidated capture names the call at fault, if known, even if the program ignored that
// call's own error.
package graph
