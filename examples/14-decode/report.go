package main

import (
	"fmt"
	"slices"
	"time"
)

// The requirements that -bench checks if the host reads every token.
const (
	leastSpeedup   = 1.3 // minimum ratio of tokens per second: graph divided by launches
	leastHostRatio = 20  // minimum ratio of host times: launches divided by graph
)

// compareWays checks the results. It then decodes with separate launches and with a graph,
// and prints the times of both ways.
func (m *model) compareWays() error {
	a, err := m.follow(m.checked)
	if err != nil {
		return fmt.Errorf("by launches: %w", err)
	}
	tokens := slices.Clone(m.seen.Slice())
	m.Printf("%v", m.config)
	m.Printf("%d kernels and a copy for each token, %d tokens: %v", len(m.ops)-1, m.tokens, beginning(tokens))
	m.Printf("%d logits of %d tokens agree with the reference in float64; largest error %.2g, tolerance %.0e",
		a.logits, min(m.checked, m.tokens), a.worst, tolerance)

	begin := time.Now()
	exec, err := m.capture()
	if err != nil {
		return err
	}
	m.Printf("recorded once into a graph, in %v", time.Since(begin).Round(time.Microsecond))
	ways := [2]func() error{m.launches, func() error { return exec.Launch(m.Stream) }}
	m.Printf("\n%-28s %-16s %12s %20s", "the host reads", "", "tokens/s", "host time per token")
	for _, every := range []int{1, 16} {
		times, err := m.measure(every, ways, tokens)
		if err != nil {
			return err
		}
		m.print(every, times)
		if err := m.bar(every, times); err != nil {
			return err
		}
	}
	m.Printf("\n%d sequences by launches and %d by replays have the same tokens", 1+2*m.rounds(), 2*m.rounds())
	if m.Emulated {
		m.Printf("(times of the emulator say nothing about a GPU)")
	}
	return nil
}

// beginning formats the first tokens.
func beginning(tokens []int32) string {
	if len(tokens) <= 16 {
		return fmt.Sprint(tokens)
	}
	return fmt.Sprintf("%v ...", tokens[:16])
}

func (m *model) print(every int, t [2]timing) {
	reads := "every token"
	if every > 1 {
		reads = fmt.Sprintf("after every %d tokens", every)
	}
	for i, way := range []string{"launches", "graph"} {
		m.Printf("%-28s %-16s %12.0f %17.2f µs", reads, way, float64(time.Second)/float64(t[i].wall), float64(t[i].host)/1e3)
	}
	speedup, host := ratios(t)
	m.Printf("%-28s %-16s %10.2f × %13.1f × less", "", "the graph has", speedup, host)
}

// ratios returns how many times faster the graph is than the launches, by tokens per second and by
// host time.
func ratios(t [2]timing) (speedup, host float64) {
	return float64(t[0].wall) / float64(t[1].wall), float64(t[0].host) / float64(t[1].host)
}

// bar returns an error if -bench was given and the graph misses a requirement. It ignores the host
// time unless the host reads every token, because launches may otherwise wait for space in the
// driver's queue.
func (m *model) bar(every int, t [2]timing) error {
	speedup, host := ratios(t)
	if m.bars && (speedup < leastSpeedup || every == 1 && host < leastHostRatio) {
		return fmt.Errorf("a bar is missed: the graph makes %.2f × the tokens per second (at least %.1f) and takes %.1f × less host time (at least %d)",
			speedup, leastSpeedup, host, leastHostRatio)
	}
	return nil
}
