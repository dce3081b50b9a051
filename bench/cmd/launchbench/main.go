// Command launchbench launches every kernel of package signatures with its generated
// launcher, passing all arguments in each launch. The kernels have no code.
//
// "launchbench list FOLDER" writes the input of the C program that makes the same launches.
// The input is the PTX files, and list.txt with the kernels, grids and parameters.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/internal/checks/launches"
	"github.com/purecuda/cuda/internal/checks/launches/signatures"
)

func main() { child.Main(run) }

func run() error {
	b, err := newBench()
	if err != nil {
		return err
	}
	if len(os.Args) > 2 && os.Args[1] == "list" {
		return b.list(os.Args[2])
	}
	rows, err := b.rows()
	if err != nil {
		return err
	}
	name, err := b.context.Device().Name()
	if err != nil {
		return err
	}
	version := b.context.Driver().Version()
	return child.Serve(fmt.Sprintf("generated launchers, %s, %s, driver %d.%d",
		runtime.Version(), name, version/1000, version%1000/10), rows)
}

type bench struct {
	context *driver.Context
	stream  *driver.Stream
	args    *launches.Args
}

func newBench() (*bench, error) {
	d, err := driver.Open()
	if err != nil {
		return nil, err
	}
	device, err := d.Device(0)
	if err != nil {
		return nil, err
	}
	b := &bench{}
	if b.context, err = device.PrimaryContext(); err != nil {
		return nil, err
	}
	if b.stream, err = b.context.NewStream(); err != nil {
		return nil, err
	}
	b.args, err = launches.NewArgs(b.context)
	return b, err
}

func (b *bench) rows() (map[string]child.Row, error) {
	rows := map[string]child.Row{}
	settle := func() error { return b.stream.Wait(context.Background()) }
	for _, l := range launches.All() {
		_, _, do, err := l.In(b.context, b.args)
		if err != nil {
			return nil, err
		}
		rows[l.Kernel] = child.Row{After: settle, Run: func(n int) error {
			for range n {
				if err := do(b.stream); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return rows, nil
}

// list writes the input files of the C program.
func (b *bench) list(dir string) error {
	var list bytes.Buffer
	for _, l := range launches.All() {
		k, cfg, _, err := l.In(b.context, b.args)
		if err != nil {
			return err
		}
		params, ok := k.Params()
		if !ok {
			return fmt.Errorf("the parameters of %v are not known", k)
		}
		fmt.Fprintln(&list, filepath.Join(dir, l.Text), l.Kernel, cfg.Grid.X, max(cfg.Grid.Y, 1), max(cfg.Grid.Z, 1),
			cfg.Block.X, max(cfg.Block.Y, 1), max(cfg.Block.Z, 1), len(params), sizes(params))
	}
	return errors.Join(texts(dir), os.WriteFile(filepath.Join(dir, "list.txt"), list.Bytes(), 0o666))
}

func sizes(params []driver.Param) string {
	var s string
	for _, p := range params {
		size := int(p.Size)
		if p.Pointer {
			size = -1
		}
		s += fmt.Sprintf("%d ", size)
	}
	return s
}

func texts(dir string) error {
	files, err := signatures.Texts.ReadDir(".")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := signatures.Texts.ReadFile(f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
