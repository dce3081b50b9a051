package main

import (
	"fmt"

	"github.com/purecuda/cuda/driver"
)

func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

func clock(p driver.Properties) string {
	return fmt.Sprintf("%d MHz, L2 cache of %.1f MiB", p.ClockKHz/1000, float64(p.L2Cache)/(1<<20))
}

func supported(p driver.Properties) (list []string) {
	for _, f := range []struct {
		what string
		has  bool
	}{
		{"cooperative launches", p.CooperativeLaunch},
		{"clusters", p.ClusterLaunch},
		{"memory pools", p.MemoryPools},
		{"managed memory", p.ManagedMemory},
		{"stream priorities", p.StreamPriorities},
		{"mapped host memory", p.CanMapHostMemory},
	} {
		if f.has {
			list = append(list, f.what)
		}
	}
	return list
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
