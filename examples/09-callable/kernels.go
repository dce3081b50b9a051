package main

import (
	"math"

	"github.com/purecuda/cuda/ptx/gpu"
)

//go:generate go run github.com/purecuda/cuda/ptx/cmd/go2ptx

// All kernels have a block for each sequence and a thread for each element of its vector. They read
// the position from memory, so one graph serves all positions.

// project writes row *position of a cache: the product of w and the embedding of the token.
//
//gpu:kernel block=32
func project(t gpu.Thread, cache, w, embedding []float32, tokens []uint32, position *uint32) {
	sequence, i := t.BlockX(), t.ThreadX()
	row := sequence*rows + int(*position)
	cache[row*width+i] = dot(vector(w, i), vector(embedding, int(tokens[sequence])))
}

// attend computes the mean of the values up to *position. Their weights are 2 to the power of
// sharpness times the product of query and key. If a larger product appears, it scales down the sums.
//
//gpu:kernel block=32
func attend(t gpu.Thread, mean, queries, keys, values []float32, position *uint32, sharpness float32) {
	sequence, i := t.BlockX(), t.ThreadX()
	first, last := sequence*rows, sequence*rows+int(*position)
	query, top := vector(queries, last), float32(math.Inf(-1))
	var sum, weights float32
	for row := first; row <= last; row++ {
		score := sharpness * dot(query, vector(keys, row))
		higher := max(top, score)
		shrink, weight := gpu.ApproxExp2(top-higher), gpu.ApproxExp2(score-higher)
		sum = sum*shrink + weight*values[row*width+i]
		weights = weights*shrink + weight
		top = higher
	}
	mean[sequence*width+i] = sum / weights
}

// choose computes the logits, and selects the token with the largest one.
//
//gpu:kernel block=32
func choose(t gpu.Thread, next []uint32, logits, w, mean []float32) {
	sequence, i := t.BlockX(), t.ThreadX()
	own := vector(logits, sequence)
	own[i] = dot(vector(w, i), vector(mean, sequence))
	t.Sync() // the first thread reads the logits of all threads
	if i > 0 {
		return
	}
	best := 0
	for k := range own {
		if own[k] > own[best] {
			best = k
		}
	}
	next[sequence] = uint32(best)
}

// vector returns row i of a matrix.
func vector(matrix []float32, i int) []float32 { return matrix[i*width:][:width] }

func dot(a, b []float32) float32 {
	sum := float32(0)
	for i := range width {
		sum += a[i] * b[i]
	}
	return sum
}
