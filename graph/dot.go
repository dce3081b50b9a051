package graph

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/purecuda/cuda/driver/cu"
)

// DriverDOT returns the driver's own drawing of the graph in the DOT language, with the details
// that flags select.
func (g *Graph) DriverDOT(flags cu.CUgraphDebugDot_flags) ([]byte, error) {
	// The driver only writes files.
	dir, err := os.MkdirTemp("", "purecuda")
	if err != nil {
		return nil, err
	}
	text, err := g.dotFile(filepath.Join(dir, "graph.dot"), flags)
	return text, errors.Join(err, os.RemoveAll(dir))
}

func (g *Graph) dotFile(path string, flags cu.CUgraphDebugDot_flags) ([]byte, error) {
	if err := g.printDOT(path, flags); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

func (g *Graph) printDOT(path string, flags cu.CUgraphDebugDot_flags) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	name := append([]byte(path), 0)
	err := g.d.CuGraphDebugDotPrint(g.raw, &name[0], uint32(flags))
	g.alive()
	if err != nil {
		return fmt.Errorf("drawing of %v: %w", g, err)
	}
	return nil
}
