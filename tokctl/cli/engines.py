"""`--engine`: clusters that do what one machine does."""

from typing import TYPE_CHECKING

from tokctl.cli.world import World
from tokctl.errors import TokctlError, printable

if TYPE_CHECKING:
    from tokctl.ray import Cluster


def cluster(world: World, name: str) -> "Cluster":
    """The engine of that name; TokctlError if there is none. Nothing is connected yet."""
    if name != "ray" and not name.startswith("ray://"):
        raise TokctlError(f"there is no engine {name!r}", "choose ray, or ray://HOST:PORT")
    from tokctl.ray import Cluster

    def tell(line: str) -> None:
        world.say(f"note: {printable(line)}")

    return Cluster(None if name == "ray" else name, tell=tell)
