package main

import "math"

// reference computes the model on the CPU in float64. It shares only the weights and the
// definition of the noise with the kernels.
type reference struct {
	*weights
	keys, values [][][]float64 // for each layer, a list with one vector for each position
}

func newReference(w *weights) *reference {
	return &reference{w, make([][][]float64, w.layers), make([][][]float64, w.layers)}
}

// step appends a token to the sequence and returns the logits of the next token.
func (r *reference) step(token int) []float64 {
	x := make([]float64, r.dim)
	for i := range x {
		x[i] = float64(r.embedding[token*r.dim+i])
	}
	for i, l := range r.blocks {
		add(x, times(l.output, r.attention(i, times(l.projections, r.normed(x, l.attentionNorm)))))
		both := times(l.gateUp, r.normed(x, l.mlpNorm))
		gate, up := both[:r.hidden], both[r.hidden:]
		for j, v := range gate {
			gate[j] = v / (1 + math.Exp(-v)) * up[j]
		}
		add(x, times(l.down, gate))
	}
	return times(r.last, r.normed(x, r.norm))
}

// attention returns the attention of a layer. The slice projected has the token's queries,
// keys and values.
func (r *reference) attention(layer int, projected []float64) []float64 {
	d, position := r.head(), len(r.keys[layer])
	for h := range r.heads + r.pairs {
		r.turn(projected[h*d:(h+1)*d], position)
	}
	keys := projected[r.dim : r.dim+r.pairs*d]
	r.keys[layer] = append(r.keys[layer], keys)
	r.values[layer] = append(r.values[layer], projected[r.dim+r.pairs*d:])
	out := make([]float64, r.dim)
	for h := range r.heads {
		at := h / (r.heads / r.pairs) * d
		r.mean(out[h*d:(h+1)*d], projected[h*d:(h+1)*d], layer, at)
	}
	return out
}

// mean adds the weighted mean of a head's values to out. The head begins at index at. The weights
// are the softmax of the products of the query with the keys.
func (r *reference) mean(out, query []float64, layer, at int) {
	scores, top := make([]float64, len(r.keys[layer])), math.Inf(-1)
	for t, key := range r.keys[layer] {
		for i, q := range query {
			scores[t] += q * key[at+i] / math.Sqrt(float64(len(query)))
		}
		top = max(top, scores[t])
	}
	sum := 0.0
	for _, s := range scores {
		sum += math.Exp(s - top)
	}
	for t, value := range r.values[layer] {
		for i := range out {
			out[i] += math.Exp(scores[t]-top) / sum * value[at+i]
		}
	}
}

// turn rotates each pair of elements (i, i+n) by the angle of its position.
func (r *reference) turn(head []float64, position int) {
	n := len(head) / 2
	for i := range n {
		angle := float64(position) * math.Pow(r.base, -float64(i)/float64(n))
		sin, cos := math.Sincos(angle)
		x, y := head[i], head[i+n]
		head[i], head[i+n] = x*cos-y*sin, x*sin+y*cos
	}
}

func (r *reference) normed(x []float64, weight []float32) []float64 {
	squares := 0.0
	for _, v := range x {
		squares += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(squares/float64(len(x))+r.epsilon) * float64(weight[i])
	}
	return out
}

func add(x, y []float64) {
	for i, v := range y {
		x[i] += v
	}
}

// times multiplies a matrix by a vector.
func times(w []float32, x []float64) []float64 {
	y := make([]float64, len(w)/len(x))
	for row := range y {
		sum := 0.0
		for i, v := range w[row*len(x) : (row+1)*len(x)] {
			sum += float64(v) * x[i]
		}
		y[row] = sum
	}
	return y
}

// noise returns the number that the kernel perturb adds to logit i at a position. It is a sample
// from the Gumbel distribution, derived from the seed.
func noise(seed uint32, position, i int) float64 {
	bits := mix(mix(mix(seed)+uint32(position)) + uint32(i))
	return -math.Log(-math.Log((float64(bits>>9) + 0.5) / (1 << 23)))
}

// mix spreads each bit over the number. The kernel perturb calls the same function.
func mix(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
