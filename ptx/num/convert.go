package num

import "strconv"

func text(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

func convert[From, To any](from []From, one func(From) To) []To {
	to := make([]To, len(from))
	for i, f := range from {
		to[i] = one(f)
	}
	return to
}
