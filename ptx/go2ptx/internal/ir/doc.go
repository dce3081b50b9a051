// Package ir defines the compiler's intermediate representation between Go and PTX: functions that
// consist of basic blocks in static single assignment form, with scalar values only.
//
// # Values
//
// Integer types have no signedness; operations do. Registers are 32 or 64 bits wide. Go's int8,
// uint8, int16 and uint16 are represented as I32 values that are always sign- or zero-extended from
// their width, so lowering adds an SExt8 or similar instruction after each operation whose result
// can exceed that width. A bool is a Bool in a register and a byte that is 0 or 1 in memory.
// Structs, arrays, slices and strings do not exist at this level: lowering splits them into
// scalars. The fp8 types are I32 values with 8 significant bits.
//
// # Memory
//
// Passes may move a plain load or store, but must not move a load across a store that may alias it.
// Every pass must treat atomic operations, fences, barriers and calls as fences. The type of an
// address includes its state space. A pointer that was loaded from memory, or that can point to
// either of two spaces, is Generic. A Slot is a local-memory variable of one thread that a pass may
// later turn into values.
//
// # Checks
//
// A Check faults if its condition is false. It is an ordinary instruction and does not end a block.
// A pass may move it across stores, because the contents of memory after a fault are unspecified. A
// pass must not move it across another Check, a barrier or another convergent operation, or onto a
// path that did not contain it: Go's semantics determine whether a thread faults, where, and with
// which values.
//
// # Convergence
//
// The result of a convergent operation depends on which threads execute it together. No pass may
// duplicate such an operation, or move it into or out of control flow that can diverge.
package ir
