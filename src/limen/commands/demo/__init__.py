"""Show one of the papers' illustrations."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # as `limen.demo` has them
    from limen.commands.demo.average import average as average
    from limen.commands.demo.concentration import concentration as concentration
    from limen.commands.demo.hierarchy import hierarchy as hierarchy
    from limen.commands.demo.indexes import indexes as indexes
    from limen.commands.demo.machine import machine as machine
    from limen.commands.demo.orthogonal import orthogonal as orthogonal
    from limen.commands.demo.pictures import pictures as pictures
    from limen.commands.demo.precision import precision as precision
    from limen.commands.demo.separation import separation as separation
    from limen.commands.demo.sparse import sparse as sparse
    from limen.commands.demo.width import width as width
