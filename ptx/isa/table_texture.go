package isa

// Modifiers and types of texture and surface instructions. Their operands are not checked, because
// nothing in this library executes such instructions.
const tableTexture = `
tex ; 1d|2d|3d|a1d|a2d|cube|acube v4|v2 T=u32|s32|f32|f16@4.2|f16x2@4.2 T=s32|f32 ; x x x? x? x?
tex ; base|level|grad 1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms v4|v2 T=u32|s32|f32|f16|f16x2 T=s32|f32 ; x x x? x? x? x? x? ; 2.0/20
tex ; 2dms|a2dms v4|v2 T=u32|s32|f32|f16|f16x2 T=s32 ; x x x? x? x? ; 3.2/20
tld4 ; r|g|b|a 2d|a2d|cube|acube v4 T=u32|s32|f32|f16|f16x2 T=f32 ; x x x? x? x? ; 2.2/20
txq ; width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples|force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2 T=b32 ; x x ; 1.5
txq ; level width|height|depth T=b32 ; x x x ; 4.3/30
istypep ; T=texref|samplerref|surfref ; d:pred x ; 4.0/30
suld ; b 1d|2d|3d|a1d|a2d [ca|cg|cs|cv] [v2|v4] T=b8|b16|b32|b64 trap|clamp|zero ; x x ; 2.0/20
sust ; b 1d|2d|3d|a1d|a2d [wb|cg|cs|wt] [v2|v4] T=b8|b16|b32|b64 trap|clamp|zero ; x x ; 2.0/20
sust ; p 1d|2d|3d [wb|cg|cs|wt] [v2|v4] T=b32|u32|s32|f32 trap|clamp|zero ; x x ; 2.0/20
sured ; b|p add|min|max|and|or 1d|2d|3d T=u32|u64|s32|b32|s64 trap|clamp|zero ; x x ; 3.0/20
suq ; width|height|depth|channel_data_type|channel_order|array_size|memory_layout T=b32 ; x x ; 1.5
`
