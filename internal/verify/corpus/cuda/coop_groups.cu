// Cooperative groups within a block: tiles, reductions, partitions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

//@ tiles<<<2, 64>>>(in i32[128] range(0,100), out i32[128] zero)
extern "C" __global__ void tiles(const int *in, int *out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = blockIdx.x * blockDim.x + block.thread_rank();
    int v = in[i];
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_xor(v, d);
    block.sync();
    out[i] = v * 100 + tile.thread_rank() + (tile.any(v > 500) ? 50 : 0);
}

//@ coalesced<<<1, 64>>>(in i32[64] range(0,100), out i32[64] zero, count i32[1] zero)
extern "C" __global__ void coalesced(const int *in, int *out, int *count) {
    int i = threadIdx.x;
    if (in[i] % 3 == 0) {
        auto active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, active.size());
        out[i] = active.shfl(in[i], 0) + active.thread_rank();
    }
}

//@ reduced<<<1, 96>>>(in i32[96] random, out i32[96] zero)
extern "C" __global__ void reduced(const int *in, int *out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int least = cg::reduce(warp, in[threadIdx.x], cg::less<int>());
    int all = cg::reduce(warp, in[threadIdx.x], cg::plus<int>());
    out[threadIdx.x] = least ^ all;
}

//@ grouped<<<2x1, 4x8>>>(out u32[64] zero)
extern "C" __global__ void grouped(unsigned *out) {
    auto block = cg::this_thread_block();
    dim3 g = block.group_index(), t = block.thread_index();
    auto grid = cg::this_grid();
    out[grid.thread_rank()] = g.x << 16 | t.y << 8 | t.x | (unsigned)grid.size() << 24;
}
