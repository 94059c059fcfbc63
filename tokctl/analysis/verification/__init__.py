"""Does a file give what the model gave? Ids and decoded text, compared on texts.

`verify` loads a file with tokctl, and with the library that defines its format where that
is installed, and encodes texts with each of them.
"""

from tokctl.analysis.verification.peers import PEERS, Reader
from tokctl.analysis.verification.result import Difference, Verification
from tokctl.analysis.verification.verify import verify

__all__ = ["PEERS", "Difference", "Reader", "Verification", "verify"]
