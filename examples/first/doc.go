// Command first captures work once and replays it. The README shows this program. It prints
// the same on a GPU and on the emulator.
package main
