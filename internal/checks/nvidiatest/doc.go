// Package nvidiatest tests the library against parts of NVIDIA's software that run without a GPU:
// three generations of the driver library, the assembler ptxas, the run-time compiler NVRTC and the
// toolkit's stub library. The tests require the build tag nvidia. make test-nvidia downloads these
// parts and runs the tests.
package nvidiatest
