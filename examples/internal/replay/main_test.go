package main

// The output must be the same on a GPU and on the emulator. Each element is incremented 41 times:
// once to load the kernel, 20 times by launches and 20 times by the graph.
func Example() {
	main()
	// Output: [41 141]
}
