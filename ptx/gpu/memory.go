package gpu

// CacheHint advises the caches how long to keep a value. Arguments of this type must be constants.
type CacheHint uint8

// The cache hints, with the PTX modifiers for loads and for stores.
const (
	CacheAll       CacheHint = iota // all levels: .ca, .wb
	CacheGlobal                     // bypass the L1 cache: .cg, .cg
	CacheStreaming                  // the value is used once: .cs, .cs
	CacheLastUse                    // the value is not used again: .lu, .wb
	CacheVolatile                   // do not use cached values: .cv, .wt
)

// LoadNC returns *p and may use the cache for data that does not change while the kernel runs
// (ld.global.nc, __ldg). T must be a number, or an array of numbers that a vector load supports.
//
//gpu:intrinsic
func LoadNC[T any](p *T) T { return *p }

// LoadCached returns *p, loaded with a cache hint, which must be a constant. T must be a number, or
// an array of numbers that a vector load supports.
//
//gpu:intrinsic
func LoadCached[T any](p *T, hint CacheHint) T { return *p }

// StoreCached stores v in *p with a cache hint, which must be a constant.
//
//gpu:intrinsic
func StoreCached[T any](p *T, v T, hint CacheHint) { *p = v }

// LoadVolatile returns *p. The compiler neither removes nor merges the load (ld.volatile).
//
//gpu:intrinsic
func LoadVolatile[T AtomicValue](p *T) T { return atomicLoad(p, nil) }

// StoreVolatile stores v in *p. The compiler neither removes nor merges the store (st.volatile).
//
//gpu:intrinsic
func StoreVolatile[T AtomicValue](p *T, v T) { atomicStore(p, v, nil) }

// PrefetchL1 prefetches the cache line that contains *p into the L1 cache.
//
//gpu:intrinsic
func PrefetchL1[T any](p *T) { _ = *p }

// PrefetchL2 prefetches the cache line that contains *p into the L2 cache.
//
//gpu:intrinsic
func PrefetchL2[T any](p *T) { _ = *p }

// CopyAsync starts a copy from global to shared memory (cp.async). The size of T must be 4, 8 or 16
// bytes, and both addresses must be aligned to that size. The copy is complete for the calling
// thread after WaitGroup, and for the block after the next Sync. It requires sm_80.
//
//gpu:intrinsic
func CopyAsync[T any](t Thread, dst, src *T) { copyAsync(t, dst, src, true) }

// CopyAsyncIf is CopyAsync if ok is true. Otherwise it clears *dst and does not read src, which may
// then be an invalid address.
//
//gpu:intrinsic
func CopyAsyncIf[T any](t Thread, dst, src *T, ok bool) { copyAsync(t, dst, src, ok) }

// CommitGroup combines all calls of CopyAsync since the previous group into a group
// (cp.async.commit_group).
//
//gpu:intrinsic
func (t Thread) CommitGroup() { t.commitGroup() }

// WaitGroup waits until all but the n most recent groups of the thread are complete
// (cp.async.wait_group). n must be a constant.
//
//gpu:intrinsic
func (t Thread) WaitGroup(n int) { t.waitGroup(n) }

// CopyBulk starts a copy from global to shared memory (cp.async.bulk). The copied bytes count
// toward the current phase of bar, which must expect them: see Barrier.ArriveExpect. The slices
// must have the same length. Addresses and size must be multiples of 16 bytes. A single thread
// makes the call. It requires sm_90.
//
//gpu:intrinsic
func CopyBulk[T any](t Thread, dst, src []T, bar *Barrier) { copyBulk(t, dst, src, bar) }

// CopyBulkOut starts a copy from shared to global memory (cp.async.bulk). WaitBulkGroup waits for
// it. The requirements on addresses and sizes are those of CopyBulk. The thread must call
// FenceAsync after the last write to src. If other threads wrote to src, Sync is required as well.
//
//gpu:intrinsic
func CopyBulkOut[T any](t Thread, dst, src []T) { copyBulkOut(t, dst, src) }

// CommitBulkGroup combines all calls of CopyBulkOut since the previous group into a group.
//
//gpu:intrinsic
func (t Thread) CommitBulkGroup() { t.commitBulkGroup() }

// WaitBulkGroup waits until all but the n most recent CopyBulkOut groups of the thread are
// complete. n must be a constant.
//
//gpu:intrinsic
func (t Thread) WaitBulkGroup(n int) { t.waitBulkGroup(n) }

// FenceAsync makes the thread's writes to shared memory visible to bulk copies
// (fence.proxy.async.shared::cta).
//
//gpu:intrinsic
func (t Thread) FenceAsync() {}
