"""Tables that are larger than memory: the functions of `quorate` for sources that are read block by block.

A source is a folder or pattern of Parquet files, a pyarrow Dataset, a Zarr array, a memory-mapped .npy file, a text
table, or any iterable of blocks. Results equal those of the functions of the same names in `quorate`, bit for bit.
"""

from quorate._blocks.consensus import BlockConsensus, compress, consensus
from quorate._blocks.evaluation import evaluate
from quorate._blocks.placing import BlockPlacement, place
from quorate.generation.in_blocks import BlockEnsemble, cluster, generate

__all__ = [
    "BlockConsensus",
    "BlockEnsemble",
    "BlockPlacement",
    "cluster",
    "compress",
    "consensus",
    "evaluate",
    "generate",
    "place",
]
