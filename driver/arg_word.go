package driver

// ArgWord is an argument that stands for a word of 64 bits, as the handles of
// package graph do, which are more to Go than their number. A kernel declares
// the parameter as .u64, .s64 or .b64.
type ArgWord interface{ ArgWord() uint64 }

const wordSize = 8
