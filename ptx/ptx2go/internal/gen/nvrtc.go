package gen

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/purecuda/cuda/ptx/nvrtc"
)

// compileNVRTC returns the PTX of a CUDA source, compiled by NVRTC. NVRTC does not require the CUDA
// toolkit. The error contains the compiler output with file and line.
func (c *Compiler) compileNVRTC(path string) ([]byte, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rtc, err := nvrtc.Open(nvrtc.WithoutCache())
	if err != nil {
		return nil, err
	}
	defer rtc.Close()
	p := nvrtc.Program{Name: path, Source: string(source), Arch: nvrtc.Arch(c.arch()), Headers: hostHeaders(), Options: c.Flags}
	installed, missing := rtc.CUDAIncludes()
	p.IncludePaths = installed
	if missing != nil {
		for _, name := range []string{"cuda_runtime.h", "cuda_runtime_api.h", "cuda.h", "device_launch_parameters.h"} {
			p.Headers[name] = "" // NVRTC provides the parts that kernels use
		}
	}
	r, err := rtc.Compile(context.Background(), p)
	if err == nil {
		return r.PTX, nil
	}
	if missing != nil && strings.Contains(err.Error(), "could not open source file") {
		err = fmt.Errorf("%w\n%w", err, missing)
	}
	return nil, fmt.Errorf("NVRTC %d.%d: %w", rtc.Version()/1000, rtc.Version()%1000/10, err)
}

// hostHeaders returns replacements for the C headers that kernel sources often include.
// NVRTC lacks these headers but has their functions built in. The types match its targets.
func hostHeaders() map[string]string {
	const types = `#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t;
typedef long long int64_t; typedef unsigned long long uint64_t;
typedef long long intptr_t; typedef unsigned long long uintptr_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define UINT64_MAX 18446744073709551615ULL
`
	const limits = `#pragma once
#define CHAR_BIT 8
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295U
#define LLONG_MIN (-9223372036854775807LL - 1)
#define LLONG_MAX 9223372036854775807LL
#define ULLONG_MAX 18446744073709551615ULL
`
	const floats = `#pragma once
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-07f
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
`
	const mathematics = `#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
`
	return map[string]string{
		"stdint.h": types, "cstdint": types + "namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; " +
			"using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t; }\n",
		"limits.h": limits, "climits": limits, "float.h": floats, "cfloat": floats, "math.h": mathematics, "cmath": mathematics,
		"stddef.h": "", "cstddef": "", "stdio.h": "", "cstdio": "", "string.h": "", "cstring": "",
		"assert.h": "", "cassert": "",
	}
}
