package snippets

import (
	"context"
	"fmt"

	"github.com/purecuda/cuda/graph/callable"
	"github.com/purecuda/cuda/graph/serve"
	"github.com/purecuda/cuda/ptx/kernels"
)

func Example_servingBatches() {
	_, ctx, _ := open()
	// [batcher]
	f := func(t *callable.Trace[[][]float32]) (output, error) {
		x := callable.StageRows(t, func(in []float32) []float32 { return in }) // the rows of all calls of a batch
		t.Try(kernels.MulScalar(x, x, float32(2)))
		t.Try(kernels.AddScalar(x, x, float32(1)))
		return callable.Result(t, x), nil
	}
	example := make([]float32, elements) // one row
	batcher := must(serve.NewBatcher(ctx, f, example, serve.WithBatch(32, 0), serve.WithReplicas(2)))
	defer batcher.Close()
	check(batcher.Call(context.Background(), []float32{1, 2, 3, 4}, func(out output, i int) error {
		fmt.Println(out.Slice()[i*elements : (i+1)*elements]) // row i belongs to this call
		return nil
	}))
	// [end]
	// [batchstats]
	s := batcher.Stats()
	fmt.Printf("%d batches of %.1f calls, %d rows of padding\n", s.Batches(), s.CallsPerBatch(), s.Padded)
	// [end]

	// Output:
	// [3 5 7 9]
	// 1 batches of 1.0 calls, 0 rows of padding
}
