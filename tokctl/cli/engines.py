"""`--engine`: clusters that do what one machine does."""

from typing import TYPE_CHECKING

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.ray import Cluster


def cluster(name: str) -> "Cluster":
    """The engine of that name; TokctlError where there is none. Nothing is connected yet."""
    if name != "ray" and not name.startswith("ray://"):
        raise TokctlError(f"there is no engine {name!r}", "choose ray, or ray://HOST:PORT")
    from tokctl.ray import Cluster

    return Cluster(None if name == "ray" else name)
