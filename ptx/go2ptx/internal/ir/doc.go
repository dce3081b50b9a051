// Package ir is the form in which the compiler holds a program between Go and PTX: functions of
// basic blocks in static single assignment, with scalar values only.
//
// # Values
//
// Integers have no sign; operations do. There are registers of 32 and 64 bits only. Go's int8,
// uint8, int16 and uint16 are I32 values that are always extended from their width, so lowering
// puts SExt8 and its like after each operation that can leave the width. A bool is a Bool in a
// register and a byte 0 or 1 in memory. Structs, arrays, slices and strings do not exist here:
// lowering takes them apart. The fp8 types are I32 values of 8 significant bits.
//
// # Memory
//
// A plain load or store may move, but no load crosses a store that may alias it. Atomic
// operations, fences, barriers and calls are fences for every pass. An address has a space; a
// pointer that was loaded from memory or that joins two spaces is Generic. A Slot is a variable
// of one thread in local memory, until a pass turns it into values.
//
// # Checks
//
// Check faults if its condition is false. It is an instruction, not the end of a block. It may
// move over stores, because memory after a fault is unspecified. It must not move over another
// Check, a barrier or another convergent operation, nor into a path that did not contain it:
// whether a thread faults, where, and with which values is what Go says.
//
// # Convergence
//
// The result of a convergent operation depends on which threads execute it together. No pass may
// duplicate it, or move it into or out of control flow that can diverge.
package ir
