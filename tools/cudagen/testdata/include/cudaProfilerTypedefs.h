#ifndef MINI_PROFILER_TYPEDEFS_H
#define MINI_PROFILER_TYPEDEFS_H
#include <cudaProfiler.h>
typedef CUresult (*PFN_cuProfilerStart_v4000)(void);
#endif
