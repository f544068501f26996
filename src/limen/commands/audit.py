"""Compute a model's cache, state and limits from its config.

>>> import limen
>>> limen.audit({"model_type": "gpt_oss"}, context=4096).kv_bytes_per_token
Fraction(73728, 1)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from limen.audits.request import Request
from limen.commands._command import Picture, Shown, command_of
from limen.core.option import Argument

if TYPE_CHECKING:
    from limen.audits.reading import Audit

    Config = str | Path | Mapping[str, Any]
else:
    Config = str


@command_of(
    Request,
    example="limen audit examples/configs/gpt_oss_120b.json --context 131072",
    answers=(
        Shown(
            "limen.audits.report:AuditReport",
            "limen.render.audit:lines_of",
            html="limen.render.notebook:audit",
            picture="limen.render.card:one",
            page="limen.render.card:page_of",
        ),
        Shown(
            "limen.audits.report:AuditsReport",
            "limen.render.audit:lines_of_several",
            html="limen.render.notebook:audits",
            picture="limen.render.card:several",
        ),
    ),
    together="limen.audits.report:AuditsReport",
    picture=Picture(
        "--card",
        "Draw the result into this file: .svg, .png, .pdf or .html.",
        ready="limen.render.card:card_ready",
        save="limen.render.card:save_card",
    ),
)
def audit(
    config: Annotated[
        Config,
        Argument(
            "One or more: a config.json, its folder, a .gguf file, or a model name on the hub.",
            reads=True,
            each=True,
        ),
    ],
    request: Request,
) -> Audit:
    """Several models are put side by side."""
    from limen.audits.loading import load
    from limen.audits.reading import audit

    if isinstance(config, Mapping):
        return audit(config, "config", request)
    return audit(*load(str(config)), request)
