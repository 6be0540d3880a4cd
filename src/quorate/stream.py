"""Tables that are larger than memory: the functions of `quorate` for sources that are read block by block.

A source is a folder or pattern of Parquet files, a pyarrow Dataset, a Zarr array, a memory-mapped .npy file, a text
table, or any iterable of blocks. Results equal those of the functions of the same names in `quorate`, bit for bit.
"""

from quorate._stream.block_consensus import BlockConsensus, compress, consensus
from quorate._stream.block_places import BlockPlacement, place
from quorate._stream.block_scores import evaluate
from quorate._stream.measurements import BlockEnsemble, cluster, generate

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
