package gpu

// CacheHint is advice on how long the caches keep a value. It must be a constant.
type CacheHint uint8

// The hints for loads and stores, with the PTX modifiers of a load and a store.
const (
	CacheAll       CacheHint = iota // all levels: .ca, .wb
	CacheGlobal                     // not the L1 cache: .cg, .cg
	CacheStreaming                  // the value is used once: .cs, .cs
	CacheLastUse                    // the value is not used again: .lu, .wb
	CacheVolatile                   // do not use cached values: .cv, .wt
)

// LoadNC returns *p through the cache for data that does not change while the kernel runs
// (ld.global.nc, __ldg). T is a number, or an array of numbers that a vector load supports.
//
//gpu:intrinsic
func LoadNC[T any](p *T) T { return *p }

// LoadCached returns *p with a cache hint, which must be a constant. T is a number, or an array of
// numbers that a vector load supports.
//
//gpu:intrinsic
func LoadCached[T any](p *T, hint CacheHint) T { return *p }

// StoreCached stores v in *p with a cache hint, which must be a constant.
//
//gpu:intrinsic
func StoreCached[T any](p *T, v T, hint CacheHint) { *p = v }

// LoadVolatile returns *p. The compiler neither removes nor merges it (ld.volatile).
//
//gpu:intrinsic
func LoadVolatile[T AtomicValue](p *T) T { return atomicLoad(p, nil) }

// StoreVolatile stores v in *p. The compiler neither removes nor merges it (st.volatile).
//
//gpu:intrinsic
func StoreVolatile[T AtomicValue](p *T, v T) { atomicStore(p, v, nil) }

// PrefetchL1 requests that the L1 cache load the line that contains *p.
//
//gpu:intrinsic
func PrefetchL1[T any](p *T) { _ = *p }

// PrefetchL2 requests that the L2 cache load the line that contains *p.
//
//gpu:intrinsic
func PrefetchL2[T any](p *T) { _ = *p }

// CopyAsync starts a copy from global to shared memory (cp.async). T has a size of 4, 8 or 16 bytes
// and both addresses are aligned to the size. The copy is complete after WaitGroup, for the
// calling thread, and for the block after the following Sync. It requires sm_80.
//
//gpu:intrinsic
func CopyAsync[T any](t Thread, dst, src *T) { copyAsync(t, dst, src, true) }

// CopyAsyncIf is CopyAsync if ok is true. Otherwise it does not read src, which may be an invalid
// address, and clears *dst.
//
//gpu:intrinsic
func CopyAsyncIf[T any](t Thread, dst, src *T, ok bool) { copyAsync(t, dst, src, ok) }

// CommitGroup makes a group of all calls of CopyAsync since the previous group
// (cp.async.commit_group).
//
//gpu:intrinsic
func (t Thread) CommitGroup() { t.commitGroup() }

// WaitGroup waits until at most n of the thread's most recent groups are incomplete
// (cp.async.wait_group). n must be a constant.
//
//gpu:intrinsic
func (t Thread) WaitGroup(n int) { t.waitGroup(n) }

// CopyBulk starts a copy from global to shared memory (cp.async.bulk). The bytes complete the
// transaction of bar, which must expect them: see Barrier.ArriveExpect. The slices have the same
// length. Addresses and size are multiples of 16 bytes. One thread makes the call. It requires
// sm_90.
//
//gpu:intrinsic
func CopyBulk[T any](t Thread, dst, src []T, bar *Barrier) { copyBulk(t, dst, src, bar) }

// CopyBulkOut starts a copy from shared to global memory (cp.async.bulk). WaitBulkGroup waits for
// it. CopyBulk describes the sizes. The thread must call FenceAsync after the last write to src,
// and Sync if other threads wrote it.
//
//gpu:intrinsic
func CopyBulkOut[T any](t Thread, dst, src []T) { copyBulkOut(t, dst, src) }

// CommitBulkGroup makes a group of all calls of CopyBulkOut since the previous group.
//
//gpu:intrinsic
func (t Thread) CommitBulkGroup() { t.commitBulkGroup() }

// WaitBulkGroup waits until at most n of the thread's most recent groups of CopyBulkOut are
// incomplete. n must be a constant.
//
//gpu:intrinsic
func (t Thread) WaitBulkGroup(n int) { t.waitBulkGroup(n) }

// FenceAsync makes the thread's writes to shared memory visible to bulk copies
// (fence.proxy.async.shared::cta).
//
//gpu:intrinsic
func (t Thread) FenceAsync() {}
