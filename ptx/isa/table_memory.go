package isa

const tableMove = `
mov ; T=pred ; d:T s:T+!
mov ; T=$word ; d:T s:T+&
mov ; T=b128 ; d:T s:T ; 8.3/70
mov ; v2|v4 T=$word ; d:T*v s:T*v+ ; ; memory
mov ; v2|v4 T=$word ; d:T*v s:T+&& ; ; memory
mov ; T=b32 ; d:b16*2 s:T+&
mov ; T=b32 ; d:T s:b16*2
mov ; T=b32 ; d:b8*4 s:T+&
mov ; T=b32 ; d:T s:b8*4
mov ; T=b16 ; d:b8*2 s:T
mov ; T=b16 ; d:T s:b8*2
mov ; T=b64 ; d:b32*2 s:T+&
mov ; T=b64 ; d:T s:b32*2+
mov ; T=b64 ; d:b16*4 s:T+&
mov ; T=b64 ; d:T s:b16*4
mov ; T=b128 ; d:b64*2 s:T ; 8.3/70
mov ; T=b128 ; d:T s:b64*2 ; 8.3/70
mov ; T=b128 ; d:b32*4 s:T ; 8.3/70
mov ; T=b128 ; d:T s:b32*4 ; 8.3/70
cvta ; global|local|const@3.1|shared|shared::cta@7.8|shared::cluster@7.8/90|param@7.7/70|param::entry@8.3/70 T=u32|u64 ; d:T s:T& ; 2.0/20 ; cvta
cvta.to ; global|local|const@3.1|shared|shared::cta@7.8|shared::cluster@7.8/90|param@7.7/70|param::entry@8.3/70 T=u32|u64 ; d:T s:T ; 2.0/20
isspacep ; global|local|const@3.1|shared|shared::cta@7.8|shared::cluster@7.8/90|param@7.7/70|param::entry@8.3/70 ; d:pred s:u64 ; 2.0/20
isspacep ; global|local|const@3.1|shared|shared::cta@7.8|shared::cluster@7.8/90|param@7.7/70|param::entry@8.3/70 ; d:pred s:u32 ; 2.0/20
mapa ; [shared::cluster] T=u32|u64 ; d:T s:T& s:u32 ; 7.8/90
mapa ; shared::cluster T=u32|u64 ; d:T s:T& s:u32 ; 7.8/90
getctarank ; [shared::cluster] T=u32|u64 ; d:u32 s:T& ; 7.8/90
getctarank ; shared::cluster T=u32|u64 ; d:u32 s:T& ; 7.8/90

cvt ; [sat] T=$any T=$any ; d:T~ s:U~+ ; ; cvtint
cvt ; $iround [sat] T=$any T=f16|f64 ; d:T~ s:U~
cvt ; $iround [ftz@1.4] [sat] T=$any T=f32 ; d:T~ s:U~
cvt ; $iround T=u16|s16|u32|s32|u64|s64 T=bf16 ; d:T~ s:U ; 7.8/90
cvt ; $round [sat] T=f16|f64 T=$any ; d:T~ s:U~
cvt ; $round [sat] T=f16 T=f64 ; d:T~ s:U~
cvt ; $round [ftz@1.4] [sat] T=f16 T=f32 ; d:T~ s:U~
cvt ; $round [ftz@1.4] [sat] T=f32 T=$any|f64 ; d:T~ s:U~
cvt ; [$iround] [sat] T=f16 T=f16 ; d:T~ s:U~
cvt ; [$iround] [sat] T=f64 T=f64 ; d:T~ s:U~
cvt ; [$iround] [ftz@1.4] [sat] T=f32 T=f32 ; d:T~ s:U~
cvt ; [ftz@1.4] [sat] T=f32 T=f16 ; d:T~ s:U~
cvt ; [ftz@1.4] [sat] T=f64 T=f32 ; d:T~ s:U~
cvt ; [sat] T=f64 T=f16 ; d:T~ s:U~
cvt ; [$round] T=f16 T=bf16 ; d:T~ s:U ; 7.8/90
cvt ; [$round] T=bf16 T=f16 ; d:T s:U~ ; 7.8/90
cvt ; [$round] T=f64 T=bf16 ; d:T~ s:U ; 7.8/90
cvt ; $round T=bf16 T=u8@8.0|s8@8.0|u16|s16|u32|s32|u64|s64|f64 ; d:T s:U~ ; 7.8/90
cvt ; [$iround] T=bf16 T=bf16 ; d:T s:U ; 7.8/90
cvt ; [$round] [ftz] T=f32 T=bf16 ; d:T~ s:U ; 7.1/80
cvt ; $round [ftz] T=bf16 T=f32 ; d:T s:U~ ; 7.0/80
cvt ; rn|rz relu T=f16 T=f32 ; d:T~ s:U~ ; 7.0/80
cvt ; rn|rz relu T=bf16 T=f32 ; d:T s:U~ ; 7.0/80
cvt ; rn|rz satfinite T=f16 T=f32 ; d:T~ s:U~ ; 8.1/70
cvt ; rn|rz satfinite relu T=f16 T=f32 ; d:T~ s:U~ ; 8.1/80
cvt ; rn|rz satfinite [relu] T=bf16 T=f32 ; d:T s:U~ ; 8.1/80
cvt ; rn|rz [relu] T=f16x2 T=f32 ; d:T~ s:U~ s:U~ ; 7.0/80
cvt ; rn|rz [relu] T=bf16x2 T=f32 ; d:T s:U~ s:U~ ; 7.0/80
cvt ; rn|rz satfinite [relu] T=f16x2 T=f32 ; d:T~ s:U~ s:U~ ; 8.1/80
cvt ; rn|rz satfinite [relu] T=bf16x2 T=f32 ; d:T s:U~ s:U~ ; 8.1/80
cvt ; rna T=tf32 T=f32 ; d:T r:U~ ; 7.0/80
cvt ; rna satfinite T=tf32 T=f32 ; d:T r:U~ ; 8.1/80
cvt ; rn|rz [relu] T=tf32 T=f32 ; d:T s:U~ ; 7.8/90
cvt ; rn satfinite [relu] T=e4m3x2|e5m2x2 T=f32 ; d:T s:U s:U ; 7.8/90
cvt ; rn satfinite [relu] T=e4m3x2|e5m2x2 T=f16x2 ; d:T s:U ; 7.8/90
cvt ; rn [relu] T=f16x2 T=e4m3x2|e5m2x2 ; d:T s:U ; 7.8/90
cvt ; rn satfinite [relu] T=e4m3x2|e5m2x2 T=f32 ; d:T s:U s:U ; 8.1/89
cvt ; rn satfinite [relu] T=e4m3x2|e5m2x2 T=f16x2 ; d:T s:U ; 8.1/89
cvt ; rn [relu] T=f16x2 T=e4m3x2|e5m2x2 ; d:T s:U ; 8.1/89
cvt.pack ; sat T=u16|s16 T=s32 ; d:b32 s:U s:U ; 6.5/72
cvt.pack ; sat T=u8|s8 T=s32 T=b32 ; d:b32 s:U s:U s:V ; 6.5/72
cvt.pack ; sat T=u4|s4|u2|s2 T=s32 T=b32 ; d:b32 s:U s:U s:V ; 6.5/75
prefetch ; [global|local] L1|L2 ; a ; 2.0/20
prefetch ; [global] L2::evict_last|L2::evict_normal ; a ; 7.4/80
prefetch ; [const|param] tensormap ; a ; 8.0/90
prefetchu ; L1 ; a ; 2.0/20
applypriority ; [global] L2::evict_normal ; a i:u32(128..128) ; 7.4/80
discard ; [global] L2 ; a i:u32(128..128) ; 7.4/80
createpolicy.fractional ; L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged T=b64 ; d:u64 s:f32? ; 7.4/80 ; fraction
createpolicy.fractional ; L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged T=b64 ; d:u64 s:f32? ; 7.4/80 ; fraction
createpolicy.range ; [global] L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged [L2::evict_first|L2::evict_unchanged] T=b64 ; d:T a s:u32 s:u32 ; 7.4/80
createpolicy.cvt ; L2 T=b64 ; d:T s:T ; 7.4/80
stacksave ; T=u32|u64 ; d:T ; 7.3/52
stackrestore ; T=u32|u64 ; r:T ; 7.3/52
alloca ; T=u32|u64 ; d:T s:T i:u32? ; 7.3/52 ; alloca
`

// Loads and stores: weak ones, which may have cache hints, and those with a memory scope.
const tableMemory = `
ld ; [weak@6.0/70] [const|global|local|param|param::entry@8.3|param::func@8.3|$shared] [ca@2.0/20|cg@2.0/20|cs@2.0/20|lu@2.0/20|cv@2.0/20] [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; ; memory prefetch load
ld ; [weak@6.0/70] [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 7.4/70 ; memory prefetch
ld ; [weak] [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate|ca|cg|cs|lu|cv] L2::cache_hint [L2::64B|L2::128B|L2::256B] [v2|v4] T=$mem ; d:T*v~ a s:u64 ; 7.4/80 ; memory
ld ; volatile [global|$shared] [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 1.1 ; memory prefetch
ld ; relaxed|acquire $scope [global|$shared] [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 6.0/70 ; memory prefetch
ld ; relaxed|acquire $scope [global] L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 7.4/70 ; memory prefetch
ld ; relaxed|acquire $scope [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] L2::cache_hint [L2::64B|L2::128B|L2::256B] [v2|v4] T=$mem ; d:T*v~ a s:u64 ; 7.4/80 ; memory
ld ; mmio relaxed|acquire@9.9 sys [global] T=$mem ; d:T~ a ; 8.2/70 ; memory
ld ; global [ca|cg|cs] nc [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 3.1/32 ; memory
ld ; global nc L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate [L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80] [v2|v4] T=$mem ; d:T*v~ a ; 7.4/70 ; memory
ld ; global nc [ca|cg|cs|L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] L2::cache_hint [L2::64B|L2::128B|L2::256B] [v2|v4] T=$mem ; d:T*v~ a s:u64 ; 7.4/80 ; memory
ld ; [weak|volatile] [global|$shared] T=b128 ; d:T a ; 8.3/70
ld ; [weak] const|local|param|param::entry|param::func T=b128 ; d:T a ; 8.3/70
ld ; relaxed|acquire cta|cluster@7.8/90|gpu|sys@8.4 [global|$shared] T=b128 ; d:T a ; 8.3/70
ldu ; [global] [v2|v4] T=$mem ; d:T*v~ a ; 2.0/20 ; memory
st ; [weak@6.0/70] [global|local|param|param::func@8.3|$shared] [wb@2.0/20|cg@2.0/20|cs@2.0/20|wt@2.0/20] [v2|v4] T=$mem ; a s:T*v~ ; ; memory store
st ; [weak] [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] [v2|v4] T=$mem ; a s:T*v~ ; 7.4/70 ; memory
st ; [weak] [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate|wb|cg|cs|wt] L2::cache_hint [v2|v4] T=$mem ; a s:T*v~ s:u64 ; 7.4/80 ; memory
st ; volatile [global|$shared] [v2|v4] T=$mem ; a s:T*v~ ; 1.1 ; memory
st ; relaxed|release $scope [global|$shared] [v2|v4] T=$mem ; a s:T*v~ ; 6.0/70 ; memory
st ; relaxed|release $scope [global] L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate [v2|v4] T=$mem ; a s:T*v~ ; 7.4/70 ; memory
st ; relaxed|release $scope [global] [L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate] L2::cache_hint [v2|v4] T=$mem ; a s:T*v~ s:u64 ; 7.4/80 ; memory
st ; mmio relaxed sys [global] T=$mem ; a s:T~ ; 8.2/70 ; memory
st ; [weak|volatile] [global|$shared] T=b128 ; a s:T ; 8.3/70
st ; [weak] local|param|param::func T=b128 ; a s:T ; 8.3/70
st ; relaxed|release cta|cluster@7.8/90|gpu|sys@8.4 [global|$shared] T=b128 ; a s:T ; 8.3/70
st.async ; [weak] [shared::cluster] mbarrier::complete_tx::bytes [v2|v4] T=b32|u32|s32|f32|b64|u64|s64|f64 ; a s:T*v a ; 8.1/90 ; memory
st.async ; [weak] [shared::cluster] mbarrier::complete_tx::bytes v2|v4 T=f32 ; a s:b32*v a ; 8.1/90 ; memory
st.async ; [weak] [shared::cluster] mbarrier::complete_tx::bytes v2|v4 T=f64 ; a s:b64*v a ; 8.1/90 ; memory
`

const tableAtomic = `
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] exch T=b32|b64@1.2/12 ; d:T_ a s:T ; 1.1/11 ; atomic
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] and|or|xor T=b32|b64@3.1/32 ; d:T_ a s:T ; 1.1/11 ; atomic
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] add T=u32|s32|u64@1.2/12|f32@2.0/20|f64@5.0/60 ; d:T_ a s:T ; 1.1/11 ; atomic
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] min|max T=u32|s32|u64@3.1/32|s64@3.1/32 ; d:T_ a s:T ; 1.1/11 ; atomic
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] inc|dec T=u32 ; d:T_ a s:T ; 1.1/11 ; atomic
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] cas T=b16@6.3/70|b32|b64@1.2/12 ; d:T_ a s:T s:T ; 1.1/11 ; atomic
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global|$shared] exch T=b128 ; d:T_ a s:T ; 8.3/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global|$shared] cas T=b128 ; d:T_ a s:T s:T ; 8.3/90
atom ; [relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70] [cta|cluster@7.8/90|gpu|sys] [global|$shared] add noftz T=f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90 ; d:T_ a s:T ; 6.2/60
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint and|or|xor|exch T=b32|b64 ; d:T_ a s:T s:u64 ; 7.4/80
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint add T=u32|s32|u64|f32|f64 ; d:T_ a s:T s:u64 ; 7.4/80
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint min|max T=u32|s32|u64|s64 ; d:T_ a s:T s:u64 ; 7.4/80
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint inc|dec T=u32 ; d:T_ a s:T s:u64 ; 7.4/80
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint add noftz T=f16|f16x2|bf16@7.8/90|bf16x2@7.8/90 ; d:T_ a s:T s:u64 ; 7.4/80
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] add v2|v4 T=f32 ; d:T*v_ a s:T*v ; 8.1/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] L2::cache_hint add v2|v4 T=f32 ; d:T*v_ a s:T*v s:u64 ; 8.1/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] add|min|max noftz v2|v4|v8 T=f16|bf16 ; d:T*v_ a s:T*v ; 8.1/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] add|min|max noftz v2|v4 T=f16x2|bf16x2 ; d:T*v_ a s:T*v ; 8.1/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] L2::cache_hint add|min|max noftz v2|v4|v8 T=f16|bf16 ; d:T*v_ a s:T*v s:u64 ; 8.1/90
atom ; [relaxed|acquire|release|acq_rel] [cta|cluster|gpu|sys] [global] L2::cache_hint add|min|max noftz v2|v4 T=f16x2|bf16x2 ; d:T*v_ a s:T*v s:u64 ; 8.1/90
red ; [relaxed@6.0/70|release@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] and|or|xor T=b32|b64@3.1/32 ; a s:T ; 1.2/11 ; atomic
red ; [relaxed@6.0/70|release@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] add T=u32|s32|u64@1.2/12|f32@2.0/20|f64@5.0/60 ; a s:T ; 1.2/11 ; atomic
red ; [relaxed@6.0/70|release@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] min|max T=u32|s32|u64@3.1/32|s64@3.1/32 ; a s:T ; 1.2/11 ; atomic
red ; [relaxed@6.0/70|release@6.0/70] [cta@5.0/60|cluster@7.8/90|gpu@5.0/60|sys@5.0/60] [global|$shared] inc|dec T=u32 ; a s:T ; 1.2/11 ; atomic
red ; [relaxed@6.0/70|release@6.0/70] [cta|cluster@7.8/90|gpu|sys] [global|$shared] add noftz T=f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90 ; a s:T ; 6.2/60
red ; [relaxed|release] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint and|or|xor T=b32|b64 ; a s:T s:u64 ; 7.4/80
red ; [relaxed|release] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint add T=u32|s32|u64|f32|f64 ; a s:T s:u64 ; 7.4/80
red ; [relaxed|release] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint min|max T=u32|s32|u64|s64 ; a s:T s:u64 ; 7.4/80
red ; [relaxed|release] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint inc|dec T=u32 ; a s:T s:u64 ; 7.4/80
red ; [relaxed|release] [cta|cluster@7.8/90|gpu|sys] [global] L2::cache_hint add noftz T=f16|f16x2|bf16@7.8/90|bf16x2@7.8/90 ; a s:T s:u64 ; 7.4/80
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] add v2|v4 T=f32 ; a s:T*v ; 8.1/90
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] L2::cache_hint add v2|v4 T=f32 ; a s:T*v s:u64 ; 8.1/90
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] add|min|max noftz v2|v4|v8 T=f16|bf16 ; a s:T*v ; 8.1/90
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] add|min|max noftz v2|v4 T=f16x2|bf16x2 ; a s:T*v ; 8.1/90
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] L2::cache_hint add|min|max noftz v2|v4|v8 T=f16|bf16 ; a s:T*v s:u64 ; 8.1/90
red ; [relaxed|release] [cta|cluster|gpu|sys] [global] L2::cache_hint add|min|max noftz v2|v4 T=f16x2|bf16x2 ; a s:T*v s:u64 ; 8.1/90
red.async ; relaxed cluster [shared::cluster] mbarrier::complete_tx::bytes inc|dec T=u32 ; a s:T a ; 8.1/90
red.async ; relaxed cluster [shared::cluster] mbarrier::complete_tx::bytes min|max T=u32|s32 ; a s:T a ; 8.1/90
red.async ; relaxed cluster [shared::cluster] mbarrier::complete_tx::bytes add T=u32|s32|u64 ; a s:T a ; 8.1/90
red.async ; relaxed cluster [shared::cluster] mbarrier::complete_tx::bytes and|or|xor T=b32 ; a s:T a ; 8.1/90
`
