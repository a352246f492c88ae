"""A contract of import-linter that says what a folder may import, and not what it may not."""

from __future__ import annotations

import grimp
from importlinter import Contract, ContractCheck, fields, output

__all__ = ["AllowedContract"]


class AllowedContract(Contract):
    """Of packages outside of the project, the modules of `folders` import `allowed` alone; of the standard library too,
    so that what is new to a folder is decided once, here.
    """

    type_name = "allowed"

    folders = fields.ListField(subfield=fields.ModuleField())
    allowed = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        broken = [
            (importer, imported)
            for folder in self.folders  # type: ignore[attr-defined] # a field is the list once it is read
            for importer in sorted({folder.name, *graph.find_descendants(folder.name)})
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if graph.is_module_squashed(imported) and imported.partition(".")[0] not in self.allowed  # type: ignore[operator]
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports {imported}, which is not in `allowed` of this contract")
