// Command first captures work once and replays it: it is the program that the
// README shows, which prints the same on a GPU and on the emulator.
package main
