// Package graph is CUDA graphs: work that is described once and replayed with
// one call.
//
// A [Graph] is made by recording what is sent to a stream ([Capture]), by hand
// ([New], [Graph.Add]), or from a list of operations ([Record]). Its nodes come
// from the same driver.Op values that streams execute; many at a time by
// [Graph.AddBatch], or by way of a [Plan] where graphs are built again and again.
// [Graph.Instantiate]
// makes an [Exec] of it, which is launched any number of times and changed
// between launches: as a whole ([Exec.Update], [Exec.Apply]) or node by node
// ([Exec.Set], [Exec.Enable]).
//
// # What a graph keeps alive
//
// The parameters of a node refer to kernels, memory, events and host functions.
// A graph retains what its nodes refer to now, and an Exec what it was made or
// last changed with; both until they are closed or changed, and an Exec that
// runs until that run is over. So buffers and modules may be dropped, and
// closed, while a graph still uses them. Work that a capture records past its
// [Scope], through libraries or raw calls, is not seen: see [Scope.Keep].
//
// # Goroutines
//
// CUDA does not synchronise its graph objects; these do. Any goroutine may use
// any Graph or Exec at any time, calls on one of them take turns. The exception
// is an open capture in a mode other than ModeRelaxed: it belongs to the
// goroutine that began it, which is held on its OS thread until it ends.
//
// This package imports package driver, and of package loader the lock. Nothing
// else of the module.
package graph
