"""Tile, depth, stages and cluster as the libraries spell them in a kernel's name."""

import pytest

from kernel_ledger.kernel_names import Spelling, library_name, spelling

CUTLASS2 = "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align8"
NAMES = {
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas":
        Spelling((128, 64), 8, 3),
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas":
        Spelling((128, 256), 64),
    "nvjet_tst_192x192_64x4_1x2_h_bz_coopA_TNT": Spelling((192, 192), 64, 4, (1, 2)),
    "nvjet_sm90_hsh_128x256_64x4_2x1_v_bz_coopA_NNN": Spelling((128, 256), 64, 4, (2, 1)),
    f"void cutlass::Kernel2<{CUTLASS2}>({CUTLASS2}::Params)": Spelling((256, 128), 32, 3),
    "cutlass_80_simt_sgemm_256x128_8x4_nn_align1": Spelling((256, 128), 8, 4),
    "cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_bf16_128x256x64_2x1x1_0_tnn_align8_warpspecialized_pingpong":
        Spelling((128, 256), 64, None, (2, 1, 1)),
    "ampere_sgemm_128x64_nn": Spelling((128, 64)),
    "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn": Spelling((128, 256), 64, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_gemm_are_read_from_its_name(name):
    assert spelling(name) == NAMES[name]


@pytest.mark.parametrize(
    "name",
    [
        "splitKreduce_kernel",
        "triton_poi_fused_add_addmm_clamp_gelu_mul_0",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
        "fused_chain_vector",
    ],
)
def test_a_name_without_a_tile_says_nothing(name):
    assert spelling(name) == Spelling()


def test_a_cutlass_template_is_called_by_its_configuration():
    assert library_name(f"void cutlass::Kernel2<{CUTLASS2}>({CUTLASS2}::Params)") == CUTLASS2
    assert library_name("void at::native::reduce_kernel<512, 1>(int)") == "reduce_kernel"
