"""Where the time of one call goes, by function: python -m benchmarks.gpu.profile '{"kind": "features", ...}'."""

from __future__ import annotations

import cProfile
import pstats
import sys

from benchmarks.gpu import case


def main(text: str) -> None:
    plain, profiles = case.Clock.lap, []

    def lap(self: case.Clock) -> float:
        """Begin a profile where the clock starts; the last one that was begun is that of the timed run."""
        if profiles:
            profiles[-1].disable()
        gone = plain(self)
        profiles.append(cProfile.Profile())
        profiles[-1].enable()
        return gone

    case.Clock.lap = lap  # type: ignore[method-assign]
    case.main(text)
    profiles[-1].disable()
    # the warm run and the timed run have as many laps; those of the timed run come last
    for profile in profiles[len(profiles) // 2 :]:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("cumulative").print_stats(32)


if __name__ == "__main__":
    main(sys.argv[1])
