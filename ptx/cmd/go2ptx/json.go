package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/purecuda/cuda/ptx/go2ptx"
)

// result is the output of -json. Programs must check Format, which is incremented when the meaning
// of existing fields changes.
type result struct {
	Format int
	Errors []problem
	Stale  []string // paths of generated files
}

type problem struct {
	File         string // path of the file; for files of this library, only the file name
	Line, Column int
	Message      string
}

// printJSON prints the command's results. It returns err if err cannot be represented in the
// output.
func (c *command) printJSON(out io.Writer, err error) error {
	r := result{Format: 1, Errors: []problem{}, Stale: []string{}}
	var list go2ptx.Errors
	var stale staleError
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			file := e.Pos.Filename
			if path := c.loader.paths[file]; path != "" {
				file = path
			}
			r.Errors = append(r.Errors, problem{file, e.Pos.Line, e.Pos.Column, e.Msg})
		}
	case errors.As(err, &stale):
		r.Stale = stale
	case err != nil:
		return err
	}
	return json.NewEncoder(out).Encode(r)
}
