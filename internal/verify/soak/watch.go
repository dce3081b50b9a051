package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/purecuda/cuda/driver"
)

type sample struct {
	at      time.Duration
	device  uint64 // bytes of device memory in use
	heap    uint64 // bytes of live Go objects
	runtime uint64 // bytes that the Go runtime obtained from the system
	host    uint64 // resident bytes; 0 if the system does not report them
	threads uint64 // threads of the process; 0 if the system does not report them
	objects uint64 // open handles
}

// watcher takes samples until finish is called.
type watcher struct {
	stop    chan struct{}
	done    chan struct{}
	samples []sample
	err     error
}

// samplesWanted is the number of samples in a run of at least 2.4 seconds.
const samplesWanted = 240

// watch starts sampling. Samples include all memory in use on the device, so no other process may
// use the device.
func watch(c *driver.Context, d time.Duration) *watcher {
	w := &watcher{stop: make(chan struct{}), done: make(chan struct{})}
	go w.run(c, max(d/samplesWanted, 10*time.Millisecond))
	return w
}

func (w *watcher) run(c *driver.Context, every time.Duration) {
	defer close(w.done)
	begin := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			s, err := take(c)
			s.at = time.Since(begin)
			w.samples, w.err = append(w.samples, s), errors.Join(w.err, err)
		}
	}
}

func take(c *driver.Context) (sample, error) {
	free, total, err := c.MemInfo()
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(m)
	return sample{
		device:  total - free,
		heap:    m[0].Value.Uint64(),
		runtime: m[1].Value.Uint64() - m[2].Value.Uint64(),
		host:    1024 * status("VmRSS:"),
		threads: status("Threads:"),
		objects: uint64(len(driver.OpenObjects())),
	}, err
}

// status returns the number of a field in /proc/self/status.
func status(field string) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0 // the system is not Linux
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

// enough is the minimum duration of a run in which growth is an error. At the beginning of a run,
// everything grows.
const enough = 20 * time.Second

// finish prints the medians of each tenth of the run. If the run was long enough, finish also
// returns an error if resource use grew from the second tenth to the last.
func (w *watcher) finish(out io.Writer) error {
	close(w.stop)
	<-w.done
	const parts = 10
	if len(w.samples) < 2*parts {
		fmt.Fprintf(out, "%d samples, too few to see growth\n", len(w.samples))
		return w.err
	}
	fmt.Fprintln(out, "medians of each tenth: end of it, device memory, Go heap, Go runtime, resident memory (MiB), threads, open handles")
	var tenths []sample
	for i := range parts {
		m := median(w.samples[i*len(w.samples)/parts : (i+1)*len(w.samples)/parts])
		tenths = append(tenths, m)
		fmt.Fprintf(out, "%8.1fs %8d %6.1f %6.1f %6.1f %5d %6d\n",
			m.at.Seconds(), m.device>>20, mib(m.heap), mib(m.runtime), mib(m.host), m.threads, m.objects)
	}
	if tenths[parts-1].at < enough {
		fmt.Fprintln(out, "too short a run to judge growth by")
		return w.err
	}
	return errors.Join(w.err, grown(tenths[1], tenths[parts-1]))
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// grown returns an error that lists the resources of which the last sample uses more than the first.
// It tolerates variation caused by the collector's pace, by threads that the runtime keeps, and by
// the driver's pools.
func grown(first, last sample) error {
	var errs []error
	for _, x := range []struct {
		what        string
		first, last uint64
		room        uint64
	}{
		{"device memory", first.device, last.device, 16 << 20},
		{"Go heap", first.heap, last.heap, first.heap/4 + 8<<20},
		{"resident memory", first.host, last.host, first.host/20 + 16<<20},
		{"threads", first.threads, last.threads, uint64(8 + runtime.GOMAXPROCS(0))},
		{"open handles", first.objects, last.objects, first.objects/2 + 50},
	} {
		if x.last > x.first+x.room {
			errs = append(errs, fmt.Errorf("%s grew from %d to %d", x.what, x.first, x.last))
		}
	}
	return errors.Join(errs...)
}

func median(s []sample) sample {
	pick := func(field func(sample) uint64) uint64 {
		values := make([]uint64, len(s))
		for i := range s {
			values[i] = field(s[i])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return sample{
		at:      s[len(s)-1].at,
		device:  pick(func(s sample) uint64 { return s.device }),
		heap:    pick(func(s sample) uint64 { return s.heap }),
		runtime: pick(func(s sample) uint64 { return s.runtime }),
		host:    pick(func(s sample) uint64 { return s.host }),
		threads: pick(func(s sample) uint64 { return s.threads }),
		objects: pick(func(s sample) uint64 { return s.objects }),
	}
}
