package main

import (
	"fmt"
	"slices"
	"time"
)

// rounds returns how many times each of the two ways decodes the sequence. The program prints
// medians.
func (m *model) rounds() int {
	if m.Emulated {
		return 1
	}
	return 5
}

// measure decodes the sequence alternately in both ways, and checks that each run produces the
// tokens in want.
func (m *model) measure(every int, ways [2]func() error, want []int32) (result [2]timing, err error) {
	var host, wall [2][]time.Duration
	for range m.rounds() {
		for i, way := range ways {
			clear(m.seen.Slice())
			t, err := m.decode(every, way)
			if err != nil {
				return result, err
			}
			if got := m.seen.Slice(); !slices.Equal(got, want) {
				return result, fmt.Errorf("the tokens are %v, by the first run %v", got, want)
			}
			host[i], wall[i] = append(host[i], t.host), append(wall[i], t.wall)
		}
	}
	for i := range result {
		result[i] = timing{median(host[i]), median(wall[i])}
	}
	return result, nil
}

func median(v []time.Duration) time.Duration {
	slices.Sort(v)
	return v[len(v)/2]
}
