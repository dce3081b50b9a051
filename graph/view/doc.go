// Package view draws CUDA graphs as diagrams and tables and finds their critical path.
//
// The functions for graphs read a graph.Snapshot, which Graph.Snapshot, Exec.Snapshot and
// Graph.Profile return. Exec.Snapshot also reports disabled nodes, and Graph.Profile the time of
// each node.
//
//	s, err := g.Profile(ctx, stream)
//	path, total := view.CriticalPath(s)
//	err = view.WriteTable(os.Stdout, s)
//
// [WriteDOT] and [WriteMermaid] draw the graph. [WriteTable] writes a line for each node.
// [Summarize] counts nodes and edges.
//
// [WriteArena] and [WriteArenaSVG] draw the memory of an arena.
package view
