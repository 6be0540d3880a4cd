"""Tables that are larger than memory: consensus, evaluate and place on sources that are read block by block.

A source is a folder or pattern of Parquet files, a pyarrow Dataset, a Zarr array, a memory-mapped .npy file, a text
table, or any iterable of blocks. Results equal those of the functions of the same names in `quorate`, bit for bit.
"""

from quorate._blocks.consensus import BlockConsensus, compress, consensus
from quorate._blocks.evaluation import evaluate
from quorate._blocks.placing import BlockPlacement, place

__all__ = ["BlockConsensus", "BlockPlacement", "compress", "consensus", "evaluate", "place"]
