package main

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
	"github.com/purecuda/cuda/ptx/gpu/math32"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// The kernels that a step needs besides those of package kernels. They read the position from memory,
// so one graph serves all positions.

// extend puts the key and the value of the token into row *position of the caches.
//
//gpu:kernel block=128
func extend(t gpu.Thread, keys, values, key, value []float32, position *int32) {
	if i := t.GlobalX(); i < len(key) {
		at := int(*position)*len(key) + i
		keys[at], values[at] = key[i], value[i]
	}
}

// attend computes the mean of the values up to *position, for one query in each block. The weights
// are the softmax of scale times the products of their keys with the query. dim is the length of a
// query, and width the length of a row of the caches, which holds the keys or values of all heads.
// shared queries use the same key and value.
//
// A block takes as many positions at a time as it has threads. Each thread multiplies the query by
// one key. Then it adds four columns of some of the values. If a larger product appears, the
// threads scale down what they have added before.
//
//gpu:kernel block=256
func attend(t gpu.Thread, out, query, keys, values []float32, position *int32, dim, width, shared uint32, scale float32) {
	q := gpu.Shared[[threads / 4]vector4](t)
	weight := gpu.Shared[[threads]float32](t)
	thread, vectors := uint32(t.ThreadX()), dim/4
	column, part, parts := thread%vectors, thread/vectors, threads/vectors
	head := int(uint32(t.BlockX()) / shared * dim)
	if thread < vectors {
		q[thread] = vectorAt(query, t.BlockX()*int(dim)+int(4*thread))
	}
	t.Sync()

	count := uint32(*position) + 1
	top, total := float32(math.Inf(-1)), float32(0)
	var sum vector4
	for begin := uint32(0); begin < count; begin += threads {
		score := float32(math.Inf(-1))
		if begin+thread < count {
			row := int(begin+thread)*int(width) + head
			score = 0
			for i := range vectors {
				score += q[i].dot(vectorAt(keys, row+int(4*i)))
			}
			score *= scale
		}
		larger := together(t, max(top, score), func(a, b float32) float32 { return max(a, b) })
		w, shrink := math32.Exp(score-larger), math32.Exp(top-larger)
		weight[thread] = w
		total = total*shrink + together(t, w, func(a, b float32) float32 { return a + b })
		top, sum = larger, sum.times(shrink)
		for r := part; r < min(count-begin, threads); r += parts {
			row := int(begin+r)*int(width) + head
			sum = sum.plus(vectorAt(values, row+int(4*column)).times(weight[r]))
		}
		t.Sync() // the next positions replace the weights
	}

	sums := gpu.Shared[[threads]vector4](t)
	sums[thread] = sum
	t.Sync()
	if part == 0 {
		for i := uint32(1); i < parts; i++ {
			sum = sum.plus(sums[i*vectors+column])
		}
		*(*vector4)(out[t.BlockX()*int(dim)+int(4*column):]) = sum.times(1 / total)
	}
}

// together combines the values of all threads of a block. Each thread gets the result.
func together(t gpu.Thread, v float32, combine func(a, b float32) float32) float32 {
	warps := gpu.Shared[[threads / 32]float32](t)
	for lanes := 16; lanes > 0; lanes /= 2 {
		v = combine(v, gpu.ShuffleXor(t, v, lanes))
	}
	t.Sync() // the threads have read the previous values
	if t.ThreadX()%32 == 0 {
		warps[t.ThreadX()/32] = v
	}
	t.Sync()
	v = warps[0]
	for _, w := range warps[1:] {
		v = combine(v, w)
	}
	return v
}

// vector4 is loaded and stored as a whole.
type vector4 [4]float32

func vectorAt(x []float32, i int) vector4 { return *(*vector4)(x[i:]) }

func (v vector4) times(k float32) vector4 { return vector4{k * v[0], k * v[1], k * v[2], k * v[3]} }

func (v vector4) plus(w vector4) vector4 {
	return vector4{v[0] + w[0], v[1] + w[1], v[2] + w[2], v[3] + w[3]}
}

func (v vector4) dot(w vector4) float32 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] + v[3]*w[3] }

// perturb divides the logits by the temperature and adds noise of the Gumbel distribution. The
// largest sum is then a sample of the softmax. The host computes the same noise in reference.go.
//
//gpu:kernel block=128
func perturb(t gpu.Thread, scores, logits []float32, position *int32, seed uint32, sharpness float32) {
	i := t.GlobalX()
	if i >= len(scores) {
		return
	}
	bits := mix(mix(mix(seed)+uint32(*position)) + uint32(i))
	uniform := (float32(bits>>9) + 0.5) / (1 << 23) // exact, neither 0 nor 1
	scores[i] = logits[i]*sharpness - math32.Log(-math32.Log(uniform))
}

// advance increments the position. The token there is already in the sequence for the first prompt
// positions. After them, it is the one that was chosen.
//
//gpu:kernel block=1
func advance(t gpu.Thread, sequence []int32, token *int64, position *int32, prompt int32) {
	next := *position + 1
	if next < prompt {
		*token = int64(sequence[next])
	} else {
		sequence[next] = int32(*token)
	}
	*position = next
}
