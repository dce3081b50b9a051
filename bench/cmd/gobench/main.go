// Command gobench makes the benchmark's driver calls through this library's typed layer, as
// a program would. No goroutine is locked to a thread, and the program makes no context
// current.
package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/purecuda/cuda/bench/internal/child"
	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/graph"
)

func main() { child.Main(run) }

func run() error {
	d, err := driver.Open()
	if err != nil {
		return err
	}
	b, err := newBench(d)
	if err != nil {
		return err
	}
	if child.First() {
		return b.first()
	}
	if err := b.prepare(); err != nil {
		return err
	}
	description, err := b.description()
	if err != nil {
		return err
	}
	return child.Serve(description, b.rows())
}

type bench struct {
	driver  *driver.Driver
	context *driver.Context
	stream  *driver.Stream
	counter *driver.Buffer[uint32]
	launch  *driver.Launch
	step    *driver.Kernel

	copy           *driver.CopyOp
	event, timed   *driver.Event
	one, thousand  *graph.Exec
	nodes          []graph.Node // nodes of a graph with a thousand nodes
	graph          *graph.Graph // the graph that a sample is building
	batch          []driver.Op
	plans          map[int]*graph.Plan // plans of chains, by length of the chain
	changes        []graph.Change      // changes to the nodes
	added          []graph.Node
	items          []graph.Item // items of the chain that is added in one batch
	previous       [1]graph.Node
	currentContext driver.CUcontext
	steps          steps
	large          large
	execs          []*graph.Exec // the executable graphs of a sample
	updates        [2]*graph.Graph
	typed          typedSteps
	module         *driver.Module
	waits          waits
}

func newBench(d *driver.Driver) (*bench, error) {
	b := &bench{driver: d}
	device, err := d.Device(0)
	if err != nil {
		return nil, err
	}
	if b.context, err = device.PrimaryContext(); err != nil {
		return nil, err
	}
	if b.module, err = b.context.LoadModule(child.AddPTX); err != nil {
		return nil, err
	}
	add, err := b.module.Kernel("add")
	if err != nil {
		return nil, err
	}
	if b.step, err = b.module.Kernel("step"); err != nil {
		return nil, err
	}
	if b.stream, err = b.context.NewStream(); err != nil {
		return nil, err
	}
	if b.counter, err = driver.AllocFrom(b.context, []uint32{41}); err != nil {
		return nil, err
	}
	one := driver.LaunchConfig{Grid: driver.D1(1), Block: driver.D1(1)}
	b.launch, err = add.Prepare(one, b.counter)
	return b, err
}

func (b *bench) first() error {
	if err := b.stream.Do(b.launch); err != nil {
		return err
	}
	if err := b.stream.Wait(context.Background()); err != nil {
		return err
	}
	value := make([]uint32, 1)
	if err := b.counter.CopyTo(value); err != nil {
		return err
	}
	return child.Done(value[0])
}

func (b *bench) prepare() error {
	target, err := driver.Alloc[byte](b.context, child.CopyBytes)
	if err != nil {
		return err
	}
	host, err := driver.AllocHost[byte](b.context, child.CopyBytes)
	if err != nil {
		return err
	}
	if b.copy, err = driver.Upload(target, host); err != nil {
		return err
	}
	b.batch = make([]driver.Op, child.Chain)
	for i := range b.batch {
		b.batch[i] = b.launch
	}
	var errs [4]error
	b.event, errs[0] = b.context.NewEvent()
	b.timed, errs[1] = b.context.NewEvent(driver.WithTiming())
	b.one, _, errs[2] = b.chain(1)
	b.thousand, b.nodes, errs[3] = b.chain(child.Chain)
	b.plans = map[int]*graph.Plan{}
	for _, n := range b.nodes {
		b.changes = append(b.changes, graph.Change{Node: n, Op: b.launch})
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if err := b.prepareTyped(); err != nil {
		return err
	}
	return errors.Join(b.prepareSteps(), b.prepareWaits(b.module))
}

func (b *bench) chain(n int) (*graph.Exec, []graph.Node, error) {
	g, err := graph.New(b.context)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]graph.Node, n)
	for i := range nodes {
		if nodes[i], err = g.Add(b.launch, nodes[max(i-1, 0):i]...); err != nil {
			return nil, nil, err
		}
	}
	exec, err := g.Instantiate()
	return exec, nodes, err
}

func (b *bench) description() (string, error) {
	name, err := b.context.Device().Name()
	version := b.driver.Version()
	return fmt.Sprintf("typed layer, %s, %s, driver %d.%d", runtime.Version(), name, version/1000, version%1000/10), err
}
