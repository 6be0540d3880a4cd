"""Times on a CUDA card, beside the processor of the same machine and beside peers: docs/gpu.md."""
