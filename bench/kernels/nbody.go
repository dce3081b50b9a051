package kernels

import (
	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

// NBody moves bodies by the gravity between all pairs of them. positions has four numbers for each
// body, the last of which is the body's mass. velocities also has four numbers for each body. NBody
// writes the new positions to moved. A block reads all positions through shared memory, 256 at a
// time.
//
//gpu:kernel block=256 restrict=moved,velocities,positions
func NBody(t gpu.Thread, moved, velocities, positions []float32, step, damping float32) {
	tile := gpu.Shared[[256][4]float32](t)
	i := 4 * t.GlobalX()
	var p [4]float32
	if i+4 <= len(positions) {
		p = *(*[4]float32)(positions[i:])
	}
	var ax, ay, az float32
	for first := 0; first < len(positions); first += 4 * len(tile) {
		var q [4]float32
		if j := first + 4*t.ThreadX(); j+4 <= len(positions) {
			q = *(*[4]float32)(positions[j:])
		}
		tile[t.ThreadX()] = q
		t.Sync()
		for j := range tile {
			q := tile[j]
			dx, dy, dz := q[0]-p[0], q[1]-p[1], q[2]-p[2]
			r := math32.FastRsqrt(dx*dx + dy*dy + dz*dz + 0.01)
			s := q[3] * (r * r * r)
			ax += dx * s
			ay += dy * s
			az += dz * s
		}
		t.Sync()
	}
	if i+4 <= len(moved) && i+4 <= len(velocities) {
		v := *(*[4]float32)(velocities[i:])
		w := [4]float32{(v[0] + ax*step) * damping, (v[1] + ay*step) * damping, (v[2] + az*step) * damping, v[3]}
		*(*[4]float32)(moved[i:]) = [4]float32{p[0] + w[0]*step, p[1] + w[1]*step, p[2] + w[2]*step, p[3]}
		*(*[4]float32)(velocities[i:]) = w
	}
}
