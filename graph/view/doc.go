// Package view draws CUDA graphs as diagrams and tables and finds their critical path.
//
// All functions read a graph.Snapshot. It comes from a graph (Graph.Snapshot), an executable graph
// (Exec.Snapshot) or a measured run (Graph.Profile). The snapshot of an executable graph also
// reports disabled nodes. The snapshot of a measured run has the time of each node.
//
//	s, err := g.Profile(ctx, stream)
//	path, total := view.CriticalPath(s)
//	err = view.WriteTable(os.Stdout, s)
//
// [WriteDOT] and [WriteMermaid] draw the graph. [WriteTable] writes a line for each node.
// [Summarize] counts nodes and edges.
package view
