package isa

const tableControl = `
bra ; [uni] ; l ; ; branch
brx.idx ; [uni] ; s:u32 l ; 6.0/30 ; branchtable
call ; [uni] ; x x? x? x? ; ; call
ret ; [uni] ;
exit ; ;
trap ; ;
brkpt ; ; ; 1.0/11
pmevent ; ; i(0..15) ; 1.4
pmevent ; mask ; i(0..65535) ; 3.0/20
nanosleep ; T=u32 ; s:T ; 6.3/70
bar.sync ; ; s:u32# s:u32#? ; ; barrier
bar.cta.sync ; ; s:u32# s:u32#? ; 7.8 ; barrier
bar.arrive ; ; s:u32# s:u32# ; 2.0/20 ; barrier
bar.cta.arrive ; ; s:u32# s:u32# ; 7.8/20 ; barrier
bar.red ; popc T=u32 ; d:T s:u32# p! ; 2.0/20 ; barrier
bar.red ; popc T=u32 ; d:T s:u32# s:u32# p! ; 2.0/20 ; barrier
bar.red ; and|or T=pred ; d:T s:u32# p! ; 2.0/20 ; barrier
bar.red ; and|or T=pred ; d:T s:u32# s:u32# p! ; 2.0/20 ; barrier
bar.cta.red ; popc T=u32 ; d:T s:u32# p! ; 7.8/20 ; barrier
bar.cta.red ; popc T=u32 ; d:T s:u32# s:u32# p! ; 7.8/20 ; barrier
bar.cta.red ; and|or T=pred ; d:T s:u32# p! ; 7.8/20 ; barrier
bar.cta.red ; and|or T=pred ; d:T s:u32# s:u32# p! ; 7.8/20 ; barrier
bar.warp.sync ; ; s:u32# ; 6.0/30
barrier.sync ; [aligned] ; s:u32# s:u32#? ; 6.0/30 ; barrier
barrier.cta.sync ; [aligned] ; s:u32# s:u32#? ; 7.8/30 ; barrier
barrier.arrive ; [aligned] ; s:u32# s:u32# ; 6.0/30 ; barrier
barrier.cta.arrive ; [aligned] ; s:u32# s:u32# ; 7.8/30 ; barrier
barrier.red ; popc [aligned] T=u32 ; d:T s:u32# p! ; 6.0/30 ; barrier
barrier.cta.red ; popc [aligned] T=u32 ; d:T s:u32# p! ; 7.8/30 ; barrier
barrier.red ; popc [aligned] T=u32 ; d:T s:u32# s:u32# p! ; 6.0/30 ; barrier
barrier.cta.red ; popc [aligned] T=u32 ; d:T s:u32# s:u32# p! ; 7.8/30 ; barrier
barrier.red ; and|or [aligned] T=pred ; d:T s:u32# p! ; 6.0/30 ; barrier
barrier.cta.red ; and|or [aligned] T=pred ; d:T s:u32# p! ; 7.8/30 ; barrier
barrier.red ; and|or [aligned] T=pred ; d:T s:u32# s:u32# p! ; 6.0/30 ; barrier
barrier.cta.red ; and|or [aligned] T=pred ; d:T s:u32# s:u32# p! ; 7.8/30 ; barrier
barrier.cluster.arrive ; [release@8.0|relaxed@8.0] [aligned] ; ; 7.8/90
barrier.cluster.wait ; [acquire@8.0] [aligned] ; ; 7.8/90
membar ; cta|gl|sys@2.0/20 ; ; 1.4
membar.proxy ; alias ; ; 7.5/70
fence ; [sc|acq_rel] $scope ; ; 6.0/70
fence ; acquire|release $scope ; ; 8.6/70
fence.proxy ; alias ; ; 7.5/70
fence.proxy ; async ; ; 8.0/90
fence.proxy ; async global|shared::cta|shared::cluster ; ; 8.0/90
fence.proxy ; async::generic acquire sync_restrict::shared::cluster cluster ; ; 8.6/90
fence.proxy ; async::generic release sync_restrict::shared::cta cluster ; ; 8.6/90
fence ; acquire sync_restrict::shared::cluster cluster ; ; 8.6/90
fence ; release sync_restrict::shared::cta cluster ; ; 8.6/90
fence.proxy ; tensormap::generic release $scope ; ; 8.3/90
fence.proxy ; tensormap::generic acquire $scope ; a i:u32(128..128) ; 8.3/90
fence.mbarrier_init ; release cluster ; ; 8.0/90
griddepcontrol ; launch_dependents|wait ; ; 7.8/90
setmaxnreg ; inc|dec sync aligned T=u32 ; i:u32(24..256) ; 8.0/90a
tensormap.replace ; tile global_address [global|shared::cta] T=b1024 T=b64 ; a s:b64 ; 8.3/90a
tensormap.replace ; tile rank [global|shared::cta] T=b1024 T=b32 ; a s:b32 ; 8.3/90a
tensormap.replace ; tile box_dim|global_dim|element_stride [global|shared::cta] T=b1024 T=b32 ; a i(0..4) s:b32 ; 8.3/90a
tensormap.replace ; tile global_stride [global|shared::cta] T=b1024 T=b64 ; a i(0..4) s:b64 ; 8.3/90a
tensormap.replace ; tile elemtype [global|shared::cta] T=b1024 T=b32 ; a i(0..12) ; 8.3/90a
tensormap.replace ; tile interleave_layout [global|shared::cta] T=b1024 T=b32 ; a i(0..2) ; 8.3/90a
tensormap.replace ; tile swizzle_mode [global|shared::cta] T=b1024 T=b32 ; a i(0..3) ; 8.3/90a
tensormap.replace ; tile fill_mode [global|shared::cta] T=b1024 T=b32 ; a i(0..1) ; 8.3/90a
tensormap.cp_fenceproxy ; global shared::cta tensormap::generic release $scope sync aligned ; a a i:u32(128..128) ; 8.3/90
`

const tableWarp = `
vote ; [all|any|uni] T=pred ; d:T p! ; 1.2/12 <6.4/70
vote ; ballot T=b32 ; d:T p! ; 2.0/20 <6.4/70
vote ; sync all|any|uni T=pred ; d:T p! s:u32# ; 6.0/30
vote ; sync T=pred ; d:T p! s:u32# ; 7.8/90 <8.5
vote ; sync ballot T=b32 ; d:T p! s:u32# ; 6.0/30
shfl ; up|down|bfly|idx T=b32 ; d:T| s:T s:T s:T ; 3.0/30 <6.4/70
shfl ; sync up|down|bfly|idx T=b32 ; d:T| s:T s:T s:T s:u32# ; 6.0/30
match ; any sync T=b32|b64 ; d:b32 s:T s:u32# ; 6.0/70
match ; all sync T=b32|b64 ; d:b32_| s:T s:u32# ; 6.0/70
activemask ; T=b32 ; d:T ; 6.2/30
redux ; sync add|min|max T=u32|s32 ; d:T s:T s:u32# ; 7.0/80
redux ; sync $bool T=b32 ; d:T s:T s:u32# ; 7.0/80
elect ; sync ; d:b32_|^ s:u32# ; 8.0/90
`

const tableAsync = `
multimem.ld_reduce ; [weak] [global] add|min|max T=u32|s32|u64 ; d:T a ; 8.1/90
multimem.ld_reduce ; [weak] [global] min|max T=s64 ; d:T a ; 8.1/90
multimem.ld_reduce ; [weak] [global] $bool T=b32|b64 ; d:T a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] add|min|max T=u32|s32|u64 ; d:T a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] min|max T=s64 ; d:T a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] $bool T=b32|b64 ; d:T a ; 8.1/90
multimem.ld_reduce ; [weak] [global] add [acc::f32@8.2|acc::f16@8.6] v2|v4|v8 T=f16|bf16 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; [weak] [global] add [acc::f32@8.2|acc::f16@8.6] [v2|v4] T=f16x2|bf16x2 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; [weak] [global] min|max v2|v4|v8 T=f16|bf16 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; [weak] [global] min|max [v2|v4] T=f16x2|bf16x2 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; [weak] [global] add [v2|v4] T=f32 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; [weak] [global] add T=f64 ; d:T a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] add [acc::f32@8.2|acc::f16@8.6] v2|v4|v8 T=f16|bf16 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] add [acc::f32@8.2|acc::f16@8.6] [v2|v4] T=f16x2|bf16x2 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] min|max v2|v4|v8 T=f16|bf16 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] min|max [v2|v4] T=f16x2|bf16x2 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] add [v2|v4] T=f32 ; d:T*v a ; 8.1/90
multimem.ld_reduce ; relaxed|acquire $scope [global] add T=f64 ; d:T a ; 8.1/90
multimem.cp.async.bulk ; global shared::cta bulk_group [cp_mask] ; x x x x? ; 9.1/90
multimem.cp.reduce.async.bulk ; global shared::cta bulk_group add|min|max|and|or|xor|inc|dec [noftz] T=b32|b64|u32|s32|u64|s64|f16|bf16|f32|f64 ; x x x x? ; 9.1/90
multimem.st ; [weak] [global] T=b32|b64|u32|s32|u64|s64 ; a s:T ; 8.1/90
multimem.st ; relaxed|release $scope [global] T=b32|b64|u32|s32|u64|s64 ; a s:T ; 8.1/90
multimem.st ; [weak] [global] v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.st ; [weak] [global] [v2|v4] T=f16x2|bf16x2|f32 ; a s:T*v ; 8.1/90
multimem.st ; [weak] [global] T=f64 ; a s:T ; 8.1/90
multimem.st ; relaxed|release $scope [global] v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.st ; relaxed|release $scope [global] [v2|v4] T=f16x2|bf16x2|f32 ; a s:T*v ; 8.1/90
multimem.st ; relaxed|release $scope [global] T=f64 ; a s:T ; 8.1/90
multimem.red ;  [global] add|min|max T=u32|s32|u64 ; a s:T ; 8.1/90
multimem.red ;  [global] min|max T=s64 ; a s:T ; 8.1/90
multimem.red ;  [global] $bool T=b32|b64 ; a s:T ; 8.1/90
multimem.red ;  [global] add v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.red ;  [global] add [v2|v4] T=f16x2|bf16x2 ; a s:T*v ; 8.1/90
multimem.red ;  [global] min|max v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.red ;  [global] min|max v2|v4 T=f16x2|bf16x2 ; a s:T*v ; 8.1/90
multimem.red ;  [global] add [v2|v4] T=f32 ; a s:T*v ; 8.1/90
multimem.red ;  [global] add T=f64 ; a s:T ; 8.1/90
multimem.red ; relaxed|release $scope [global] add|min|max T=u32|s32|u64 ; a s:T ; 8.1/90
multimem.red ; relaxed|release $scope [global] min|max T=s64 ; a s:T ; 8.1/90
multimem.red ; relaxed|release $scope [global] $bool T=b32|b64 ; a s:T ; 8.1/90
multimem.red ; relaxed|release $scope [global] add v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.red ; relaxed|release $scope [global] add [v2|v4] T=f16x2|bf16x2 ; a s:T*v ; 8.1/90
multimem.red ; relaxed|release $scope [global] min|max v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
multimem.red ; relaxed|release $scope [global] min|max v2|v4 T=f16x2|bf16x2 ; a s:T*v ; 8.1/90
multimem.red ; relaxed|release $scope [global] add [v2|v4] T=f32 ; a s:T*v ; 8.1/90
multimem.red ; relaxed|release $scope [global] add T=f64 ; a s:T ; 8.1/90
cp.async ; ca shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i ; 7.0/80 ; cpasync
cp.async ; ca shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i s:u32 ; 7.0/80 ; cpasync
cp.async ; ca shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i p! ; 7.5/80 ; cpasync
cp.async ; ca shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i s:b64 ; 7.4/80 ; cpasync
cp.async ; ca shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i s:u32 s:b64 ; 7.4/80 ; cpasync
cp.async ; ca shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i p! s:b64 ; 7.5/80 ; cpasync
cp.async ; cg shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i ; 7.0/80 ; cpasync16
cp.async ; cg shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i s:u32 ; 7.0/80 ; cpasync16
cp.async ; cg shared|shared::cta@7.8 global [L2::64B@7.4|L2::128B@7.4|L2::256B@7.4] ; a a i p! ; 7.5/80 ; cpasync16
cp.async ; cg shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i s:b64 ; 7.4/80 ; cpasync16
cp.async ; cg shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i s:u32 s:b64 ; 7.4/80 ; cpasync16
cp.async ; cg shared|shared::cta@7.8 global L2::cache_hint [L2::64B|L2::128B|L2::256B] ; a a i p! s:b64 ; 7.5/80 ; cpasync16
cp.async.commit_group ; ; ; 7.0/80
cp.async.wait_group ; ; i:u32 ; 7.0/80
cp.async.wait_all ; ; ; 7.0/80
cp.async.mbarrier.arrive ; [noinc] [shared|shared::cta@7.8] T=b64 ; a ; 7.0/80
cp.async.bulk ; shared::cluster global mbarrier::complete_tx::bytes ; a a s:u32%16 a ; 8.0/90
cp.async.bulk ; shared::cta global mbarrier::complete_tx::bytes ; a a s:u32%16 a ; 8.6/90
cp.async.bulk ; shared::cluster|shared::cta@8.6 global mbarrier::complete_tx::bytes L2::cache_hint ; a a s:u32%16 a s:b64 ; 8.0/90
cp.async.bulk ; shared::cluster global mbarrier::complete_tx::bytes multicast::cluster ; a a s:u32%16 a s:u16 ; 8.0/90
cp.async.bulk ; shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint ; a a s:u32%16 a s:u16 s:b64 ; 8.0/90
cp.async.bulk ; shared::cluster shared::cta mbarrier::complete_tx::bytes ; a a s:u32%16 a ; 8.0/90
cp.async.bulk ; global shared::cta bulk_group ; a a s:u32%16 ; 8.0/90
cp.async.bulk ; global shared::cta bulk_group L2::cache_hint ; a a s:u32%16 s:b64 ; 8.0/90
cp.async.bulk ; global shared::cta bulk_group cp_mask ; a a s:u32%16 s:b16 ; 8.6/100
cp.async.bulk.prefetch ; L2 global ; a s:u32%16 ; 8.0/90
cp.async.bulk.prefetch ; L2 global L2::cache_hint ; a s:u32%16 s:b64 ; 8.0/90
cp.async.bulk.commit_group ; ; ; 8.0/90
cp.async.bulk.wait_group ; [read] ; i:u32 ; 8.0/90
cp.async.bulk.tensor ; 1d|2d|3d|4d|5d shared::cluster|shared::cta@8.6 global [tile|im2col|im2col::w@8.6|im2col::w::128@8.6|tile::gather4@8.6] mbarrier::complete_tx::bytes [multicast::cluster] [cta_group::1@8.6|cta_group::2@8.6] [L2::cache_hint] ; a a a x? x? x? ; 8.0/90 ; tensor
cp.async.bulk.tensor ; 1d|2d|3d|4d|5d global shared::cta [tile|im2col_no_offs|tile::scatter4@8.6] bulk_group [L2::cache_hint] ; a a x? ; 8.0/90 ; tensor
cp.async.bulk.prefetch.tensor ; 1d|2d|3d|4d|5d L2 global [tile|im2col|im2col::w@8.6|im2col::w::128@8.6|tile::gather4@8.6] [L2::cache_hint] ; a x? x? ; 8.0/90 ; tensor
cp.reduce.async.bulk ; shared::cluster shared::cta mbarrier::complete_tx::bytes and|or|xor T=b32 ; a a s:u32%16 a ; 8.0/90
cp.reduce.async.bulk ; shared::cluster shared::cta mbarrier::complete_tx::bytes add T=u32|s32|u64 ; a a s:u32%16 a ; 8.0/90
cp.reduce.async.bulk ; shared::cluster shared::cta mbarrier::complete_tx::bytes inc|dec T=u32 ; a a s:u32%16 a ; 8.0/90
cp.reduce.async.bulk ; shared::cluster shared::cta mbarrier::complete_tx::bytes min|max T=u32|s32 ; a a s:u32%16 a ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group and|or|xor T=b32|b64 ; a a s:u32%16 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group add T=u32|s32|u64|f32|f64 ; a a s:u32%16 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group inc|dec T=u32 ; a a s:u32%16 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group min|max T=u32|s32|u64|s64|f16|bf16 ; a a s:u32%16 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group L2::cache_hint and|or|xor T=b32|b64 ; a a s:u32%16 s:b64 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group L2::cache_hint add T=u32|s32|u64|f32|f64 ; a a s:u32%16 s:b64 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group L2::cache_hint inc|dec T=u32 ; a a s:u32%16 s:b64 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group L2::cache_hint min|max T=u32|s32|u64|s64|f16|bf16 ; a a s:u32%16 s:b64 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group add noftz T=f16|bf16 ; a a s:u32%16 ; 8.0/90
cp.reduce.async.bulk ; global shared::cta bulk_group L2::cache_hint add noftz T=f16|bf16 ; a a s:u32%16 s:b64 ; 8.0/90
cp.reduce.async.bulk.tensor ; 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor [tile|im2col_no_offs] bulk_group [L2::cache_hint] ; a a x? ; 8.0/90 ; tensor
mbarrier.init ; [shared|shared::cta@7.8] T=b64 ; a s:u32 ; 7.0/80
mbarrier.inval ; [shared|shared::cta@7.8] T=b64 ; a ; 7.0/80
mbarrier.expect_tx,mbarrier.complete_tx ; [shared|shared::cta|shared::cluster] T=b64 ; a s:u32 ; 8.0/90
mbarrier.expect_tx,mbarrier.complete_tx ; relaxed cta|cluster [shared|shared::cta|shared::cluster] T=b64 ; a s:u32 ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; [shared|shared::cta@7.8] T=b64 ; d:T_ a ; 7.0/80
mbarrier.arrive,mbarrier.arrive_drop ; [shared|shared::cta] T=b64 ; d:T_ a s:u32(1..4294967295) ; 7.8/90
mbarrier.arrive,mbarrier.arrive_drop ; release cta|cluster [shared|shared::cta] T=b64 ; d:T_ a s:u32(1..4294967295)? ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; relaxed cta|cluster [shared|shared::cta] T=b64 ; d:T_ a s:u32(1..4294967295)? ; 8.6/90
mbarrier.arrive,mbarrier.arrive_drop ; shared::cluster T=b64 ; n a s:u32(1..4294967295)? ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; release|relaxed@8.6 cta|cluster shared::cluster T=b64 ; n a s:u32(1..4294967295)? ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; expect_tx [shared|shared::cta] T=b64 ; d:T_ a s:u32 ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; expect_tx release|relaxed@8.6 cta|cluster [shared|shared::cta] T=b64 ; d:T_ a s:u32 ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; expect_tx shared::cluster T=b64 ; n a s:u32 ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; expect_tx release|relaxed@8.6 cta|cluster shared::cluster T=b64 ; n a s:u32 ; 8.0/90
mbarrier.arrive,mbarrier.arrive_drop ; noComplete [shared|shared::cta@7.8] T=b64 ; d:T_ a s:u32(1..4294967295) ; 7.0/80
mbarrier.arrive,mbarrier.arrive_drop ; noComplete release cta [shared|shared::cta] T=b64 ; d:T_ a s:u32(1..4294967295) ; 8.0/80
mbarrier.pending_count ; T=b64 ; d:u32 s:T ; 7.0/80
mbarrier.test_wait ; [shared|shared::cta@7.8] T=b64 ; d:pred a s:T ; 7.0/80
mbarrier.test_wait ; acquire@8.0|relaxed@8.6 cta@8.0|cluster@8.0/90 [shared|shared::cta@7.8] T=b64 ; d:pred a s:T ; 7.0/80
mbarrier.test_wait ; parity [shared|shared::cta@7.8] T=b64 ; d:pred a s:u32(0..1) ; 7.1/80
mbarrier.test_wait ; parity acquire@8.0|relaxed@8.6 cta@8.0|cluster@8.0/90 [shared|shared::cta@7.8] T=b64 ; d:pred a s:u32(0..1) ; 7.1/80
mbarrier.try_wait ; [shared|shared::cta] T=b64 ; d:pred a s:T s:u32? ; 7.8/90
mbarrier.try_wait ; acquire@8.0|relaxed@8.6 cta@8.0|cluster@8.0 [shared|shared::cta] T=b64 ; d:pred a s:T s:u32? ; 7.8/90
mbarrier.try_wait ; parity [shared|shared::cta] T=b64 ; d:pred a s:u32(0..1) s:u32? ; 7.8/90
mbarrier.try_wait ; parity acquire@8.0|relaxed@8.6 cta@8.0|cluster@8.0 [shared|shared::cta] T=b64 ; d:pred a s:u32(0..1) s:u32? ; 7.8/90
`
