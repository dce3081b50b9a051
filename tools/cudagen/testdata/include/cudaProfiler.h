#ifndef MINI_PROFILER_H
#define MINI_PROFILER_H
#include <cuda.h>
/** \defgroup CUDA_PROFILER profiler
 * @{ */
CUresult cuProfilerStart(void);
/** @} */
#endif
