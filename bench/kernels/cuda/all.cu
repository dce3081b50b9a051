// All kernels of the list, in the order of cases/list.go.
#include "saxpy.cu"
#include "halfscale.cu"
#include "sum.cu"
#include "argmax.cu"
#include "dot.cu"
#include "softmax.cu"
#include "norms.cu"
