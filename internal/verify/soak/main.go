// Command soak makes many goroutines use one GPU concurrently while the garbage collector runs
// continuously. No goroutine is locked to a thread. Each goroutine allocates, copies, launches and
// waits on streams that several goroutines share. It checks every word of every result and closes
// the objects it created. With -task graphs each goroutine has its own stream, on which it
// captures, builds, updates, replays and drops graphs. At the end no object may be open. The
// resources of the process and the device must not have grown since the first part of the run.
//
// The exit status is 1 if a result was wrong, a call failed, an object leaked or resource use grew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/purecuda/cuda/driver"
	"github.com/purecuda/cuda/driver/emulator"
)

type options struct {
	device     string
	task       string
	kinds      string
	goroutines int
	streams    int
	duration   time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.device, "device", "gpu", "gpu or emulator")
	flag.StringVar(&o.task, "task", "launches", "launches or graphs")
	flag.StringVar(&o.kinds, "kinds", "", "of graphs, with commas between: captures, nodes, updates, callbacks, loops, decisions, memory, cache, failures; all if empty")
	flag.IntVar(&o.goroutines, "goroutines", 1000, "goroutines at work")
	flag.IntVar(&o.streams, "streams", 8, "streams they share; graphs need one for each goroutine")
	flag.DurationVar(&o.duration, "duration", 30*time.Second, "how long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak: FAIL:", err)
		os.Exit(1)
	}
	fmt.Println("soak: PASS")
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.goroutines < 1 || o.streams < 1 || o.duration <= 0 {
		return errors.New("-goroutines, -streams and -duration must be positive")
	}
	if tasks[o.task] == nil {
		return fmt.Errorf("-task %s: choose launches or graphs", o.task)
	}
	if o.task == "graphs" {
		o.streams = o.goroutines
	}
	leaks := watchLeaks()
	d, err := open(o.device)
	if err != nil {
		return err
	}
	err = soakDevice(ctx, d, o, out)
	err = errors.Join(err, d.Close())
	return errors.Join(err, leaks.finish(out))
}

func open(device string) (*driver.Driver, error) {
	switch device {
	case "gpu":
		return driver.Open()
	case "emulator":
		d, err := driver.New(emulator.New(emulator.Config{}))
		if err != nil {
			return nil, err
		}
		return d, nil
	}
	return nil, fmt.Errorf("-device %s: choose gpu or emulator", device)
}

func soakDevice(ctx context.Context, d *driver.Driver, o options, out io.Writer) (err error) {
	device, err := d.Device(0)
	if err != nil {
		return err
	}
	name, err := device.Name()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, %d goroutines on %d streams for %v\n", name, o.task, o.goroutines, o.streams, o.duration)
	c, err := device.PrimaryContext()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, err := newSoak(c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	w := watch(c, o.duration)
	err = s.run(ctx, o.goroutines)
	grown := w.finish(out)
	fmt.Fprintln(out, s.counts.String())
	return errors.Join(append(c.CleanupErrors(), err, grown)...)
}
