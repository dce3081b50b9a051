#ifndef MINI_CUDA_H
#define MINI_CUDA_H
/* A driver API in miniature, with one of each of the things the generator has
 * to understand. It is ours, not NVIDIA's. */
#include <stdlib.h>
#include <stdint.h>

#define cuThingAdd cuThingAdd_v2
#define cuThingMake cuThingMakeWithFlags
#define MINI_API_PTSZ(api) api
#define cuThingOpen MINI_API_PTSZ(cuThingOpen)

#define CUDA_VERSION 13000
#define CU_MAGIC 0x10
#define CU_THING_NONE ((CUthing)0x1)
#define CU_SECOND_NAME CU_COLOR_RED
#define CU_END ((void*)0)

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef unsigned long long CUaddress_v2;
typedef CUaddress_v2 CUaddress;
typedef struct CUthing_st *CUthing;
typedef void (*CUcallback)(void *userData);

typedef enum CUcolor_enum {
    CU_COLOR_RED = 0,
    CU_COLOR_BLUE = 1,
    CU_COLOR_AZURE = 1,
    CU_COLOR_ODD = -1
} CUcolor;

typedef enum CUthing_flags_enum { CU_THING_A = 1, CU_THING_B = 2 } CUthing_flags;

typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;

typedef struct CUbig_st { char reserved[64]; } CUbig;
typedef struct CUplace_st { int type; int id; } CUplace;

typedef struct CUparams_st {
    CUcolor type;
    union {
        struct { int x; void **args; } kernel;
        unsigned long long words[4];
    };
    union { int one; float two; } value;
    unsigned char _reserved[8];
} CUparams_v1;
typedef CUparams_v1 CUparams;

/** \defgroup CUDA_THING things
 * @{ */
CUresult cuThingAdd(CUthing *out, const CUparams *params, size_t n);
CUresult cuThingMakeWithFlags(CUthing *func, unsigned long long flags);
CUresult cuThingGetPlace(CUthing thing, int *place);
CUresult cuThingGetPlace_v2(CUthing thing, int *place, int *more);
CUresult cuThingOpen(CUthing *out, CUbig handle, unsigned int flags);
CUresult cuThingMove(CUthing thing, CUplace where);
CUresult cuThingScale(CUthing thing, float factor);
CUresult cuThingCall(CUthing thing, CUcallback fn, void *userData);
/** @} */

#if defined(__CUDA_API_VERSION_INTERNAL)
#undef cuThingAdd
#undef cuThingMake
CUresult cuThingAdd(CUthing *out, const CUparams *params);
CUresult cuThingAdd_ptsz(CUthing *out, const CUparams *params);
#endif
#endif
