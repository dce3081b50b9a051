// Package view draws CUDA graphs as pictures and tables and finds their critical path.
//
// Everything here reads a graph.Snapshot: that of a graph (Graph.Snapshot), of an
// executable graph, which also says which nodes are off (Exec.Snapshot), or of a
// measured run, which has the time of each node (Graph.Profile).
//
//	s, err := g.Profile(ctx, stream)
//	path, total := view.CriticalPath(s)
//	err = view.WriteTable(os.Stdout, s)
//
// [WriteDOT] and [WriteMermaid] draw, [WriteTable] writes a line for each node, and
// [Summarize] counts.
package view
