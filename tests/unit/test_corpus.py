"""Every real object of a kind that we read can be decoded, the fully populated ones of each release among them."""

from __future__ import annotations

import json

import pytest

from exporter.kube.decode import Decoder
from tests.corpus import objects
from tests.judging import api_kinds
from tests.shared import SHARED


@pytest.mark.skipif(SHARED is None, reason="the reference data (../shared) is not here")
@pytest.mark.parametrize("name", [name for name in api_kinds() if name != "Namespace"])
def test_every_object_of_the_kind_decodes(name: str) -> None:
    kind = api_kinds()[name]
    decoder = Decoder(kind)
    decoded = 0
    for path, thing in objects():
        if thing["kind"] == name and str(thing["apiVersion"]).partition("/")[0] in (kind.group, "v1"):
            if not thing["metadata"].get("name"):
                continue  # made by a generateName: never listed like this
            seen = decoder.object(json.dumps(thing, default=str).encode())
            assert not seen.why, f"{path}: {seen.why}"
            decoded += 1
    assert decoded
