"""What Windows shows of a program in its properties; read by nearfield.spec."""

from __future__ import annotations

import re

_FORM = """\
VSVersionInfo(
  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, flags=0x0, OS=0x40004, fileType=0x1),
  kids=[
    StringFileInfo([StringTable('040904B0', [
      StringStruct('CompanyName', {company!r}),
      StringStruct('FileDescription', {description!r}),
      StringStruct('FileVersion', {version!r}),
      StringStruct('InternalName', {name!r}),
      StringStruct('LegalCopyright', {licence!r}),
      StringStruct('OriginalFilename', {file!r}),
      StringStruct('ProductName', {name!r}),
      StringStruct('ProductVersion', {version!r}),
    ])]),
    VarFileInfo([VarStruct('Translation', [1033, 1200])]),
  ],
)
"""


def version_resource(name: str, version: str, company: str, licence: str, file: str) -> str:
    """Return the text that PyInstaller reads as a program's version resource.

    Args:
        name: the project's, as ``nearfield``.
        version: the project's; Windows wants four numbers, so what is no number is left out there.
        company: who made it.
        licence: as an expression.
        file: name of the program's file.

    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    parts = [min(int(part), 65_535) for part in found[0].split(".")] if found else []
    return _FORM.format(
        numbers=tuple([*parts, 0, 0, 0, 0][:4]),
        name=name.capitalize(),
        description=name.capitalize(),
        version=version,
        company=company,
        licence=licence,
        file=file,
    )
