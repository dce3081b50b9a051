package isa

// Matrix instructions. The shape and the types determine the number of registers in a fragment; see
// "Matrix Fragments" in the PTX ISA.
const tableMatrix = `
ldmatrix ; sync aligned m8n8 x1 [trans] [shared|shared::cta@7.8] T=b16 ; d:b32*1 a ; 6.5/75
ldmatrix ; sync aligned m8n8 x2 [trans] [shared|shared::cta@7.8] T=b16 ; d:b32*2 a ; 6.5/75
ldmatrix ; sync aligned m8n8 x4 [trans] [shared|shared::cta@7.8] T=b16 ; d:b32*4 a ; 6.5/75
stmatrix ; sync aligned m8n8 x1 [trans] [shared|shared::cta] T=b16 ; a s:b32*1 ; 7.8/90
stmatrix ; sync aligned m8n8 x2 [trans] [shared|shared::cta] T=b16 ; a s:b32*2 ; 7.8/90
stmatrix ; sync aligned m8n8 x4 [trans] [shared|shared::cta] T=b16 ; a s:b32*4 ; 7.8/90
movmatrix ; sync aligned m8n8 trans T=b16 ; d:b32 r:b32 ; 7.8/75

wmma.load ; a|b sync aligned@6.3 row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared|shared::cta@7.8] T=f16 ; d:f16x2*8 a s:u32? ; 6.0/70
wmma.load ; a|b sync row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared] T=f16 ; d:f16x2*8 a s:u32? ; 6.0/70 <6.3
wmma.load ; c sync aligned@6.3 row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared|shared::cta@7.8] T=f16 ; d:f16x2*4 a s:u32? ; 6.0/70
wmma.load ; c sync row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared] T=f16 ; d:f16x2*4 a s:u32? ; 6.0/70 <6.3
wmma.load ; c sync aligned@6.3 row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared|shared::cta@7.8] T=f32 ; d:f32*8 a s:u32? ; 6.0/70
wmma.load ; c sync row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared] T=f32 ; d:f32*8 a s:u32? ; 6.0/70 <6.3
wmma.store ; d sync aligned@6.3 row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared|shared::cta@7.8] T=f16 ; a s:f16x2*4 s:u32? ; 6.0/70
wmma.store ; d sync row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared] T=f16 ; a s:f16x2*4 s:u32? ; 6.0/70 <6.3
wmma.store ; d sync aligned@6.3 row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared|shared::cta@7.8] T=f32 ; a s:f32*8 s:u32? ; 6.0/70
wmma.store ; d sync row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 [global|shared] T=f32 ; a s:f32*8 s:u32? ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f16 T=f16 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f16 T=f16 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f16 T=f16 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.5
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f16 T=f16 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f16 T=f32 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f16 T=f32 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f16 T=f32 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.5
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f16 T=f32 ; d:f16x2*4 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f32 T=f16 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f32 T=f16 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f32 T=f16 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.5
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f32 T=f16 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f16x2*4 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f32 T=f32 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 T=f32 T=f32 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.3
wmma.mma ; sync aligned@6.3 row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f32 T=f32 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.5
wmma.mma ; sync row|col row|col m16n16k16|m8n32k16@6.1|m32n8k16@6.1 satfinite T=f32 T=f32 ; d:f32*8 s:f16x2*8 s:f16x2*8 s:f32*8 ; 6.0/70 <6.3
wmma.load ; a|b sync aligned row|col m16n16k16 [global|shared|shared::cta@7.8] T=s8|u8 ; d:b32*2 a s:u32? ; 6.3/72
wmma.load ; a sync aligned row|col m32n8k16 [global|shared|shared::cta@7.8] T=s8|u8 ; d:b32*4 a s:u32? ; 6.3/72
wmma.load ; b sync aligned row|col m32n8k16 [global|shared|shared::cta@7.8] T=s8|u8 ; d:b32*1 a s:u32? ; 6.3/72
wmma.load ; a sync aligned row|col m8n32k16 [global|shared|shared::cta@7.8] T=s8|u8 ; d:b32*1 a s:u32? ; 6.3/72
wmma.load ; b sync aligned row|col m8n32k16 [global|shared|shared::cta@7.8] T=s8|u8 ; d:b32*4 a s:u32? ; 6.3/72
wmma.load ; c sync aligned row|col m16n16k16|m8n32k16|m32n8k16 [global|shared|shared::cta@7.8] T=s32 ; d:s32*8 a s:u32? ; 6.3/72
wmma.store ; d sync aligned row|col m16n16k16|m8n32k16|m32n8k16 [global|shared|shared::cta@7.8] T=s32 ; a s:s32*8 s:u32? ; 6.3/72
wmma.mma ; sync aligned row|col row|col m16n16k16 [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*8 r:b32*2 r:b32*2 s:s32*8 ; 6.3/72 ; sametypes
wmma.mma ; sync aligned row|col row|col m32n8k16 [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*8 r:b32*4 s:b32*1 s:s32*8 ; 6.3/72 ; sametypes
wmma.mma ; sync aligned row|col row|col m8n32k16 [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*8 s:b32*1 r:b32*4 s:s32*8 ; 6.3/72 ; sametypes
wmma.load ; a sync aligned row m8n8k32 [global|shared|shared::cta@7.8] T=s4|u4 ; d:b32*1 a s:u32? ; 6.3/75
wmma.load ; b sync aligned col m8n8k32 [global|shared|shared::cta@7.8] T=s4|u4 ; d:b32*1 a s:u32? ; 6.3/75
wmma.load ; a sync aligned row m8n8k128 [global|shared|shared::cta@7.8] T=b1 ; d:b32*1 a s:u32? ; 6.3/75
wmma.load ; b sync aligned col m8n8k128 [global|shared|shared::cta@7.8] T=b1 ; d:b32*1 a s:u32? ; 6.3/75
wmma.load ; c sync aligned row|col m8n8k32|m8n8k128 [global|shared|shared::cta@7.8] T=s32 ; d:s32*2 a s:u32? ; 6.3/75
wmma.store ; d sync aligned row|col m8n8k32|m8n8k128 [global|shared|shared::cta@7.8] T=s32 ; a s:s32*2 s:u32? ; 6.3/75
wmma.mma ; sync aligned row col m8n8k32 [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 6.3/75 ; sametypes rowcol
wmma.mma ; xor popc sync aligned row col m8n8k128 T=s32 T=b1 T=b1 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 6.3/75 ; rowcol
wmma.mma ; and popc sync aligned row col m8n8k128 T=s32 T=b1 T=b1 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 7.1/80 ; rowcol
wmma.load ; a|b sync aligned row|col m16n16k16 [global|shared|shared::cta@7.8] T=bf16 ; d:b32*4 a s:u32? ; 7.0/80
wmma.load ; a sync aligned row|col m8n32k16 [global|shared|shared::cta@7.8] T=bf16 ; d:b32*2 a s:u32? ; 7.0/80
wmma.load ; b sync aligned row|col m8n32k16 [global|shared|shared::cta@7.8] T=bf16 ; d:b32*8 a s:u32? ; 7.0/80
wmma.load ; a sync aligned row|col m32n8k16 [global|shared|shared::cta@7.8] T=bf16 ; d:b32*8 a s:u32? ; 7.0/80
wmma.load ; b sync aligned row|col m32n8k16 [global|shared|shared::cta@7.8] T=bf16 ; d:b32*2 a s:u32? ; 7.0/80
wmma.mma ; sync aligned row|col row|col m16n16k16 T=f32 T=bf16 T=bf16 T=f32 ; d:f32*8 r:b32*4 r:b32*4 s:f32*8 ; 7.0/80
wmma.mma ; sync aligned row|col row|col m8n32k16 T=f32 T=bf16 T=bf16 T=f32 ; d:f32*8 r:b32*2 r:b32*8 s:f32*8 ; 7.0/80
wmma.mma ; sync aligned row|col row|col m32n8k16 T=f32 T=bf16 T=bf16 T=f32 ; d:f32*8 r:b32*8 r:b32*2 s:f32*8 ; 7.0/80
wmma.load ; a|b sync aligned row|col m16n16k8 [global|shared|shared::cta@7.8] T=tf32 ; d:b32*4 a s:u32? ; 7.0/80
wmma.load ; c sync aligned row|col m16n16k8 [global|shared|shared::cta@7.8] T=f32 ; d:f32*8 a s:u32? ; 7.0/80
wmma.store ; d sync aligned row|col m16n16k8 [global|shared|shared::cta@7.8] T=f32 ; a s:f32*8 s:u32? ; 7.0/80
wmma.mma ; sync aligned row|col row|col m16n16k8 T=f32 T=tf32 T=tf32 T=f32 ; d:f32*8 r:b32*4 r:b32*4 s:f32*8 ; 7.0/80
wmma.load ; a|b sync aligned row|col m8n8k4 [global|shared|shared::cta@7.8] T=f64 ; d:f64*1 a s:u32? ; 7.0/80
wmma.load ; c sync aligned row|col m8n8k4 [global|shared|shared::cta@7.8] T=f64 ; d:f64*2 a s:u32? ; 7.0/80
wmma.store ; d sync aligned row|col m8n8k4 [global|shared|shared::cta@7.8] T=f64 ; a s:f64*2 s:u32? ; 7.0/80
wmma.mma ; sync aligned row|col row|col m8n8k4 [rn|rz|rm|rp] T=f64 T=f64 T=f64 T=f64 ; d:f64*2 s:f64*1 s:f64*1 s:f64*2 ; 7.0/80

mma ; sync aligned m8n8k4 row|col row|col T=f16 T=f16 T=f16 T=f16 ; d:f16x2*4 s:f16x2*2 s:f16x2*2 s:f16x2*4 ; 6.4/70
mma ; sync aligned m8n8k4 row|col row|col T=f32 T=f16 T=f16 T=f32 ; d:f32*8 s:f16x2*2 s:f16x2*2 s:f32*8 ; 6.4/70
mma ; sync aligned m8n8k4 row|col row|col T=f32 T=f16 T=f16 T=f16 ; d:f32*8 s:f16x2*2 s:f16x2*2 s:f16x2*4 ; 6.4/70
mma ; sync aligned m16n8k8 row col T=f16 T=f16 T=f16 T=f16 ; d:f16x2*2 s:f16x2*2 s:f16x2*1 s:f16x2*2 ; 6.5/75 ; rowcol
mma ; sync aligned m16n8k8 row col T=f32 T=f16 T=f16 T=f32 ; d:f32*4 s:f16x2*2 s:f16x2*1 s:f32*4 ; 6.5/75 ; rowcol
mma ; sync aligned m16n8k16 row col T=f16 T=f16 T=f16 T=f16 ; d:f16x2*2 s:f16x2*4 s:f16x2*2 s:f16x2*2 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k16 row col T=f32 T=f16 T=f16 T=f32 ; d:f32*4 s:f16x2*4 s:f16x2*2 s:f32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k8 row col T=f32 T=bf16 T=bf16 T=f32 ; d:f32*4 r:b32*2 s:b32*1 s:f32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k16 row col T=f32 T=bf16 T=bf16 T=f32 ; d:f32*4 r:b32*4 r:b32*2 s:f32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k4 row col T=f32 T=tf32 T=tf32 T=f32 ; d:f32*4 r:b32*2 s:b32*1 s:f32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k8 row col T=f32 T=tf32 T=tf32 T=f32 ; d:f32*4 r:b32*4 r:b32*2 s:f32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k32 row col T=f32 T=e4m3|e5m2 T=e4m3|e5m2 T=f32 ; d:f32*4 r:b32*4 r:b32*2 s:f32*4 ; 8.4/89 ; rowcol
mma ; sync aligned m16n8k16 row col T=f32 T=e4m3|e5m2 T=e4m3|e5m2 T=f32 ; d:f32*4 r:b32*2 s:b32*1 s:f32*4 ; 8.7/89 ; rowcol
mma ; sync aligned m16n8k16 row col T=f16 T=e4m3|e5m2 T=e4m3|e5m2 T=f16 ; d:f16x2*2 r:b32*2 s:b32*1 s:f16x2*2 ; 8.7/89 ; rowcol
mma ; sync aligned m16n8k32 row col T=f16 T=e4m3|e5m2 T=e4m3|e5m2 T=f16 ; d:f16x2*2 r:b32*4 r:b32*2 s:f16x2*2 ; 8.7/89 ; rowcol
mma ; sync aligned m8n8k4 row col [rn|rz|rm|rp] T=f64 T=f64 T=f64 T=f64 ; d:f64*2 s:f64*1 s:f64*1 s:f64*2 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k4 row col [rn|rz|rm|rp] T=f64 T=f64 T=f64 T=f64 ; d:f64*4 s:f64*2 s:f64*1 s:f64*4 ; 7.8/90 ; rowcol
mma ; sync aligned m16n8k8 row col [rn|rz|rm|rp] T=f64 T=f64 T=f64 T=f64 ; d:f64*4 s:f64*4 s:f64*2 s:f64*4 ; 7.8/90 ; rowcol
mma ; sync aligned m16n8k16 row col [rn|rz|rm|rp] T=f64 T=f64 T=f64 T=f64 ; d:f64*4 s:f64*8 s:f64*4 s:f64*4 ; 7.8/90 ; rowcol
mma ; sync aligned m8n8k16 row col [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 6.5/75 ; rowcol
mma ; sync aligned m16n8k16 row col [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*4 r:b32*2 s:b32*1 s:s32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k32 row col [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*4 r:b32*4 r:b32*2 s:s32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m8n8k32 row col [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 6.5/75 ; rowcol
mma ; sync aligned m16n8k32 row col [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*4 r:b32*2 s:b32*1 s:s32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k64 row col [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*4 r:b32*4 r:b32*2 s:s32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m8n8k128 row col xor|and@7.1/80 popc T=s32 T=b1 T=b1 T=s32 ; d:s32*2 s:b32*1 s:b32*1 s:s32*2 ; 7.0/75 ; rowcol
mma ; sync aligned m16n8k128 row col xor|and@7.1/80 popc T=s32 T=b1 T=b1 T=s32 ; d:s32*4 r:b32*2 s:b32*1 s:s32*4 ; 7.0/80 ; rowcol
mma ; sync aligned m16n8k256 row col xor|and@7.1/80 popc T=s32 T=b1 T=b1 T=s32 ; d:s32*4 r:b32*4 r:b32*2 s:s32*4 ; 7.0/80 ; rowcol
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k16 row col T=f16 T=f16 T=f16 T=f16 ; d:f16x2*2 s:f16x2*2 s:f16x2*2 s:f16x2*2 x i(0..3) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k16 row col T=f32 T=f16 T=f16 T=f32 ; d:f32*4 s:f16x2*2 s:f16x2*2 s:f32*4 x i(0..3) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k32 row col T=f16 T=f16 T=f16 T=f16 ; d:f16x2*2 s:f16x2*4 s:f16x2*4 s:f16x2*2 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k32 row col T=f32 T=f16 T=f16 T=f32 ; d:f32*4 s:f16x2*4 s:f16x2*4 s:f32*4 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k16 row col T=f32 T=bf16 T=bf16 T=f32 ; d:f32*4 r:b32*2 r:b32*2 s:f32*4 x i(0..3) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k32 row col T=f32 T=bf16 T=bf16 T=f32 ; d:f32*4 r:b32*4 r:b32*4 s:f32*4 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k8 row col T=f32 T=tf32 T=tf32 T=f32 ; d:f32*4 r:b32*2 r:b32*2 s:f32*4 x i(0..3) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k16 row col T=f32 T=tf32 T=tf32 T=f32 ; d:f32*4 r:b32*4 r:b32*4 s:f32*4 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k32 row col [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*4 r:b32*2 r:b32*2 s:s32*4 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k64 row col [satfinite] T=s32 T=s8|u8 T=s8|u8 T=s32 ; d:s32*4 r:b32*4 r:b32*4 s:s32*4 x i(0..0) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k64 row col [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*4 r:b32*2 r:b32*2 s:s32*4 x i(0..1) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k128 row col [satfinite] T=s32 T=s4|u4 T=s4|u4 T=s32 ; d:s32*4 r:b32*4 r:b32*4 s:s32*4 x i(0..0) ; 7.1/80 ; rowcol sparse
mma ; sp|sp::ordered_metadata@8.5 sync aligned m16n8k64 row col T=f32 T=e4m3|e5m2 T=e4m3|e5m2 T=f32 ; d:f32*4 r:b32*4 r:b32*4 s:f32*4 x i(0..0) ; 8.4/89 ; rowcol sparse

wgmma.fence,wgmma.commit_group ; sync [aligned] ; ; 8.0/90a
wgmma.wait_group ; sync aligned ; i:u32 ; 8.0/90a
wgmma.mma_async ; [sp] sync aligned $m64k16 T=f16|f32 T=f16 T=f16 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k16 T=f32 T=bf16 T=bf16 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k32 T=f16|f32 T=f16 T=f16 ; x x x x x? x? x? x? x? x? ; 8.2/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k32 T=f32 T=bf16 T=bf16 ; x x x x x? x? x? x? x? x? ; 8.2/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k8|$m64k16 T=f32 T=tf32 T=tf32 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k32|$m64k64 T=f16|f32 T=e4m3|e5m2 T=e4m3|e5m2 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
wgmma.mma_async ; [sp] sync aligned $m64k32|$m64k64 [satfinite] T=s32 T=s8|u8 T=s8|u8 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
wgmma.mma_async ; sync aligned $m64k256 and popc T=s32 T=b1 T=b1 ; x x x x x? x? x? x? x? x? ; 8.0/90a ; wgmma
`

const tableVideo = `
vadd,vsub,vabsdiff,vmin,vmax ; T=u32|s32 T=u32|s32 T=u32|s32 [sat] ; d:T s:U=1 s:V=1 ; 2.0/20
vadd,vsub,vabsdiff,vmin,vmax ; T=u32|s32 T=u32|s32 T=u32|s32 [sat] ; d:T=1 s:U=1 s:V=1 s:T ; 2.0/20
vadd,vsub,vabsdiff,vmin,vmax ; T=u32|s32 T=u32|s32 T=u32|s32 [sat] add|min|max ; d:T s:U=1 s:V=1 s:T ; 2.0/20
vshl,vshr ; T=u32|s32 T=u32|s32 T=u32 [sat] clamp|wrap ; d:T s:U=1 s:V=1 ; 2.0/20
vshl,vshr ; T=u32|s32 T=u32|s32 T=u32 [sat] clamp|wrap ; d:T=1 s:U=1 s:V=1 s:T ; 2.0/20
vshl,vshr ; T=u32|s32 T=u32|s32 T=u32 [sat] clamp|wrap add|min|max ; d:T s:U=1 s:V=1 s:T ; 2.0/20
vmad ; T=u32|s32 T=u32|s32 T=u32|s32 [sat] [po] [shr7|shr15] ; d:T s:U=1- s:V=1- s:T- ; 2.0/20 ; vmad
vset ; T=u32|s32 T=u32|s32 $cmp ; d:u32 s:T=1 s:U=1 ; 2.0/20
vset ; T=u32|s32 T=u32|s32 $cmp ; d:u32=1 s:T=1 s:U=1 s:u32 ; 2.0/20
vset ; T=u32|s32 T=u32|s32 $cmp add|min|max ; d:u32 s:T=1 s:U=1 s:u32 ; 2.0/20
vadd2,vsub2,vavrg2,vabsdiff2,vmin2,vmax2 ; T=u32|s32 T=u32|s32 T=u32|s32 [sat|add] ; d:T=2 r:U=2 r:V=2 r:T ; 3.0/30
vadd4,vsub4,vavrg4,vabsdiff4,vmin4,vmax4 ; T=u32|s32 T=u32|s32 T=u32|s32 [sat|add] ; d:T=4 r:U=4 r:V=4 r:T ; 3.0/30
vset2 ; T=u32|s32 T=u32|s32 $cmp [add] ; d:u32=2 r:T=2 r:U=2 r:u32 ; 3.0/30
vset4 ; T=u32|s32 T=u32|s32 $cmp [add] ; d:u32=4 r:T=4 r:U=4 r:u32 ; 3.0/30
`
