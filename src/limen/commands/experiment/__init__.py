"""Run the papers' experiments, or show their results."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # as `limen.experiment` has them
    from limen.commands.experiment.fit import fit as fit
    from limen.commands.experiment.run import run as run
    from limen.commands.experiment.show import show as show
