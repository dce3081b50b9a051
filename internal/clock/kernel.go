package clock

import "github.com/purecuda/cuda/ptx/gpu"

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// count runs for the given time and stores how many clock cycles and nanoseconds passed.
//
//gpu:kernel block=1
func count(t gpu.Thread, passed []int64, nanoseconds int64) {
	cycles, begin := t.Clock64(), t.GlobalTimer()
	now := begin
	for now-begin < nanoseconds {
		now = t.GlobalTimer()
	}
	passed[0] = t.Clock64() - cycles
	passed[1] = now - begin
}
