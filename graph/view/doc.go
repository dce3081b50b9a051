// Package view draws CUDA graphs as diagrams and tables and finds their critical path.
//
// All functions read a graph.Snapshot. It comes from a graph (Graph.Snapshot), from an
// executable graph, which also says which nodes are disabled (Exec.Snapshot), or from a measured
// run, which has the time of each node (Graph.Profile).
//
//	s, err := g.Profile(ctx, stream)
//	path, total := view.CriticalPath(s)
//	err = view.WriteTable(os.Stdout, s)
//
// [WriteDOT] and [WriteMermaid] draw the graph, [WriteTable] writes a line for each node, and
// [Summarize] counts nodes and edges.
package view
