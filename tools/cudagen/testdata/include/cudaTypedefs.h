#ifndef MINI_TYPEDEFS_H
#define MINI_TYPEDEFS_H
#include <cuda.h>
typedef CUresult (*PFN_cuThingAdd_v12030)(CUthing *out, const CUparams *params, size_t n);
typedef CUresult (*PFN_cuThingAdd_v11000)(CUthing *out, const CUparams *params);
typedef CUresult (*PFN_cuThingAdd_v12030_ptsz)(CUthing *out, const CUparams *params, size_t n);
typedef CUresult (*PFN_cuThingMakeWithFlags_v11040)(CUthing *func, unsigned long long flags);
typedef CUresult (*PFN_cuThingGetPlace_v2000)(CUthing thing, int *place);
typedef CUresult (*PFN_cuThingGetPlace_v13000)(CUthing thing, int *place, int *more);
typedef CUresult (*PFN_cuThingOpen_v4010)(CUthing *out, CUbig handle, unsigned int flags);
typedef CUresult (*PFN_cuThingMove_v12020)(CUthing thing, CUplace where);
typedef CUresult (*PFN_cuThingScale_v5000)(CUthing thing, float factor);
typedef CUresult (*PFN_cuThingCall_v5000)(CUthing thing, CUcallback fn, void *userData);
#endif
