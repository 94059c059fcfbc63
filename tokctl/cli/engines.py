"""`--engine`: the cluster that counts or encodes in place of this machine."""

from typing import TYPE_CHECKING

from tokctl.cli.world import Console
from tokctl.core.errors import BadOption

if TYPE_CHECKING:
    from tokctl.extras.ray import Cluster


def cluster(world: Console, name: str) -> "Cluster":
    """Return the cluster called `name`, without connecting to it.

    Args:
        world: where the cluster's notes go.
        name: `ray`, or the address of a Ray cluster: `ray://HOST:PORT`.

    Raises:
        TokctlError: no engine has this name.
    """
    if name != "ray" and not name.startswith("ray://"):
        raise BadOption(
            f"invalid value {name!r} for the engine",
            "choose ray, or ray://HOST:PORT",
            "unknown-name",
        )
    from tokctl.extras.ray import Cluster

    return Cluster(None if name == "ray" else name, tell=world.note)
