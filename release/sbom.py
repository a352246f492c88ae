"""The SBOM: which packages the product is installed with, and which asks for which, as CycloneDX JSON.

`python -m release.sbom` writes dist/kubevirt-steward-VERSION.cdx.json and prints its path. The same lock and the same
$SOURCE_DATE_EPOCH (seconds since 1970) give the same bytes.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from .licences import licence_of, runtime
from .locks import PROJECT, TOP, Locked, pyproject

__all__ = ["mistake", "sbom"]

_SCHEMA = SchemaVersion.V1_6


def sbom(packages: Iterable[Locked], version: str, moment: datetime) -> str:
    """The document, of the packages of a lock; `version` is the product's."""
    found = {each.name: each for each in packages}
    product = _component(PROJECT, version, "Apache-2.0", ComponentType.APPLICATION)
    parts = {name: _component(name, each.version, licence_of(each)) for name, each in found.items()}
    made = Bom(components=parts.values())
    made.metadata.component = product
    made.metadata.timestamp = moment
    for name, part in parts.items():
        part.external_references.add(_files(part, found[name].hashes))
    for asking in (PROJECT, *parts):
        asked = [parts[name] for name, each in found.items() if asking in each.via]
        made.register_dependency(product if asking == PROJECT else parts[asking], asked)
    content = ";".join(sorted(f"{name} {each.version} {' '.join(each.hashes)}" for name, each in found.items()))
    made.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"pkg:pypi/{PROJECT}@{version};{content}")
    return make_outputter(made, OutputFormat.JSON, _SCHEMA).output_as_string(indent=2) + "\n"


def mistake(text: str) -> str | None:
    """What CycloneDX's schema has against a document; None if nothing."""
    found = JsonStrictValidator(_SCHEMA).validate_str(text)
    return None if found is None else repr(found)


def _component(name: str, version: str, licence: str, type_: ComponentType = ComponentType.LIBRARY) -> Component:
    url = PackageURL("pypi", None, name, version)
    return Component(
        name=name, version=version, type=type_, purl=url, bom_ref=str(url), licenses=[LicenseExpression(licence)]
    )


def _files(part: Component, hashes: Iterable[str]) -> ExternalReference:
    """The wheels and source archives that the lock admits."""
    each = [HashType(alg=HashAlgorithm.SHA_256, content=value) for value in hashes]
    return ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(str(part.purl)), hashes=each)


def main() -> int:
    version = pyproject()["project"]["version"]
    moment = datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())), UTC)
    text = sbom(runtime(), version, moment)
    if why := mistake(text):
        print(f"the SBOM does not agree with the schema of CycloneDX {_SCHEMA.to_version()}: {why}", file=sys.stderr)
        return 1
    file = TOP / "dist" / f"{PROJECT}-{version}.cdx.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(file.relative_to(TOP))
    return 0


if __name__ == "__main__":
    sys.exit(main())
