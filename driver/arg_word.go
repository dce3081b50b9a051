package driver

// ArgWord is a kernel argument that converts to a 64-bit word, such as the handles of package
// graph. The kernel declares the parameter as .u64, .s64 or .b64.
type ArgWord interface{ ArgWord() uint64 }

const wordSize = 8
