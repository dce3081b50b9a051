package language

// RefusedGo contains calls, rejected by the compiler, to functions in the Go distribution. For each
// of them, the compiler reports one error at the call.
var RefusedGo = []Refusal{
	{Imports: "fmt", Code: "/**/fmt.Println(n)", Error: "fmt.Println is not available in kernels: use gpu.Printf"},
	{Imports: "fmt os", Code: "/**/fmt.Fprintf(os.Stderr, \"%d\", n)", Error: "fmt.Fprintf is not available in kernels: use gpu.Printf"},
	{Imports: "fmt", Code: "f := fmt.Print; /**/f(n)", Error: "fmt.Print is not available in kernels: use gpu.Printf"},
	{Imports: "fmt", Code: "panic(/**/fmt.Sprintf(\"%d\", n))", Error: "fmt.Sprintf is not available in kernels: use gpu.Printf, or a constant string"},
	{Imports: "fmt", Code: "if err := /**/fmt.Errorf(\"%d\", n); err != nil { x[0] = 1 }", Error: "fmt.Errorf is not available in kernels: return a bool instead of an error, or use gpu.Assert"},
	{Imports: "errors", Code: "if /**/errors.Is(errors.New(\"a\"), errors.New(\"b\")) { x[0] = 1 }", Error: "errors.Is is not available in kernels: return a bool instead of an error, or use gpu.Assert"},
	{Imports: "log", Code: "/**/log.Printf(\"%d\", n)", Error: "log.Printf is not available in kernels: use gpu.Printf"},
	{Imports: "log", Code: "/**/log.Fatal(n)", Error: "log.Fatal is not available in kernels: use gpu.Assert, or panic with a constant string"},
	{Imports: "sync", Code: "/**/mu.Lock(); x[0]++", Decls: "var mu sync.Mutex", Error: "sync.Mutex.Lock is not available in kernels: use t.Sync between the threads of a block, and gpu.Atomic… for shared counters"},
	{Imports: "sync/atomic", Code: "/**/atomic.AddInt32(&x[0], 1)", Error: "atomic.AddInt32 is not available in kernels: use gpu.AtomicAdd"},
	{Imports: "sync/atomic", Code: "x[0] = /**/hits.Load()", Decls: "var hits atomic.Int32", Error: "atomic.Int32.Load is not available in kernels: use gpu.AtomicLoad"},
	{Imports: "time", Code: "_ = /**/time.Now().Unix()", Error: "time.Now is not available in kernels: use t.GlobalTimer for nanoseconds, or t.Clock64 for cycles"},
	{Imports: "time", Code: "/**/time.Sleep(time.Millisecond)", Error: "time.Sleep is not available in kernels: use t.Sleep"},
	{Imports: "math/rand", Code: "x[0] = int32(/**/rand.Intn(n))", Error: "rand.Intn is not available in kernels: pass random numbers to the kernel, or write a generator in it"},
	{Imports: "math/rand/v2", Code: "x[0] = /**/rand.Int32()", Error: "rand.Int32 is not available in kernels: pass random numbers to the kernel, or write a generator in it"},
	{Imports: "os", Code: "if len(/**/os.Args) > 1 { x[0] = 1 }", Error: "os.Args is not available in kernels: use it on the host, and pass the result to the kernel"},
	{Imports: "strconv", Code: "x[0] = int32(len(/**/strconv.Itoa(n)))", Error: "strconv.Itoa is not available in kernels: use constant strings and []byte, and build other text on the host"},
	{Imports: "strings", Code: "x[0] = int32(len(/**/strings.Repeat(\"ab\", n)))", Error: "strings.Repeat is not available in kernels: use constant strings and []byte, and build other text on the host"},
	{Imports: "sort", Code: "/**/sort.Slice(x, func(i, j int) bool { return x[i] < x[j] })", Error: "sort.Slice is not available in kernels: sort on the host, or write the sort in the kernel"},
	{Imports: "slices", Code: "/**/slices.SortFunc(x, func(a, b int32) int { return int(b - a) })", Error: "slices.SortFunc cannot be compiled for kernels (in slices.SortFunc: a recursive or noinline function cannot have a parameter or result of type func(a int32, b int32) int): use it on the host, or write it in the kernel"},
}
