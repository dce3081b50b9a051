// Package ptx parses and prints PTX, the text form of NVIDIA's virtual instruction set. It
// covers PTX ISA 3.x to 9.x and does not need a driver.
//
//   - [Parse] returns a syntax tree with positions, and reports every syntax error
//     it finds with its line and what was expected there.
//   - [Module.String] prints a tree as text that parses to the same tree.
//   - [Signatures] reads only what a launch needs (kernels, their parameters and
//     launch bounds) at the speed of a scan, for use while a module is loaded.
//
// Parsing takes linear time for any text: less than 100 µs per KiB on a machine that parses
// ordinary modules at 50 MB/s.
//
// Instructions are not checked against the ISA: any opcode with any modifiers parses, so
// text for a newer ISA also parses. Code that executes or rewrites instructions decides
// which ones it supports.
//
// The package imports only light parts of the standard library, because package driver
// imports it to read kernel signatures.
package ptx
