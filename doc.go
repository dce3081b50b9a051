// Package cuda is the root of the module: CUDA from Go without cgo. It exports nothing.
// Programs import
//
//   - github.com/purecuda/cuda/driver: devices, streams, memory, kernels
//   - github.com/purecuda/cuda/graph: CUDA graphs
//   - github.com/purecuda/cuda/driver/anywhere: a driver on any machine, or an emulator if
//     there is no GPU
//   - github.com/purecuda/cuda/ptx/kernels: kernels for common operations
//
// Start at https://github.com/purecuda/cuda/blob/main/docs/getting-started.md.
package cuda

import _ "github.com/purecuda/cuda/driver" // so that "go get github.com/purecuda/cuda" also gets the module's dependencies
