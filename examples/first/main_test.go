package main

// The output must be the same on a GPU and on the emulator.
func Example() {
	main()
	// Output: [2047 3071 4095]
}
