package main

// It prints the same on a GPU and on the emulator: 1 + 20 launches + 20 nodes.
func Example() {
	main()
	// Output: [41 141]
}
