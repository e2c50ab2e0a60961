"""Which CUDA API calls launch work, by their names; both tools record them by these."""


def is_kernel_launch(api: str) -> bool:
    """Whether a CUDA API call launches kernels (cudaLaunchKernel*, cuLaunchKernel*, cooperative ones)."""
    return "LaunchKernel" in api or "LaunchCooperativeKernel" in api


def is_graph_launch(api: str) -> bool:
    """Whether a CUDA API call replays a graph: it launches many operations, kernels or copies."""
    return "GraphLaunch" in api


def launches(api: str) -> bool:
    """Whether a CUDA API call starts kernels, itself or through a graph."""
    return is_kernel_launch(api) or is_graph_launch(api)
