// Package nvidiatest holds tests against the parts of NVIDIA's software that
// run without a GPU: three generations of the driver library, the assembler
// ptxas, the run-time compiler NVRTC and the toolkit's stub library. They are built with the tag nvidia
// and run by make test-nvidia, which downloads those parts.
package nvidiatest
