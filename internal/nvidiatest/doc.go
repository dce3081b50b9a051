// Package nvidiatest holds tests against parts of NVIDIA's software that run without a
// GPU: three generations of the driver library, the assembler ptxas, the run-time
// compiler NVRTC and the toolkit's stub library. The tests are built with the tag
// nvidia. make test-nvidia downloads those parts and runs them.
package nvidiatest
