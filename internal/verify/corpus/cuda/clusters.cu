// Blocks in clusters that read each other's shared memory, since 9.0.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

//@ exchanged<<<4, 32>>>(in i32[128] random, out i32[128] zero) sm=90 cluster=2
extern "C" __global__ void exchanged(const int *in, int *out) {
#if __CUDA_ARCH__ >= 900
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    int i = blockIdx.x * 32 + threadIdx.x;
    s[threadIdx.x] = in[i];
    cluster.sync();
    int *other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
    out[i] = other[31 - threadIdx.x] + cluster.num_blocks();
    cluster.sync();
#endif
}

//@ fixed_size<<<4, 32>>>(out u32[512] zero) sm=90
extern "C" __global__ void
#if __CUDA_ARCH__ >= 900
__cluster_dims__(4, 1, 1)
#endif
fixed_size(unsigned *out) {
#if __CUDA_ARCH__ >= 900
    unsigned rank, n, *o = out + (blockIdx.x * 32 + threadIdx.x) * 4;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    o[0] = rank; o[1] = n; o[2] = threadIdx.x; o[3] = ~rank;
#endif
}
