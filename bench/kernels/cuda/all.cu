// All kernels of the list, in the order of cases/list.go.
#include "saxpy.cu"
#include "sum.cu"
