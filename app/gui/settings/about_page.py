"""What this is, what it is made of, and where it keeps its files."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFormLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from app.desktop.settings import Settings
from app.desktop.updates import PAGE
from app.gui.settings.controls import Toggle
from app.gui.settings.licences import LICENCES
from app.gui.settings.page import Page
from app.gui.settings.rows import Row
from app.gui.settings.services import Services
from app.gui.style import tokens
from app.gui.style.icons import icon
from app.gui.style.theme import theme

_PACKAGES = ("PySide6_Essentials", "torch", "numpy", "websockets", "sounddevice", "huggingface_hub")
_TABLE_ROWS = 6


def versions() -> tuple[tuple[str, str], ...]:
    """Return what is installed, by name and version; nothing is imported to find out."""
    found = [("Python", platform.python_version()), ("Qt", qVersion())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:  # an optional one
            continue
    return (("Nearfield", version("nearfield")), *found, ("System", platform.platform(terse=True)))


class AboutPage(Page):
    """Versions, folders, licences."""

    def __init__(self, settings: Settings, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._services = services
        self.what = self.add_text()
        self.versions_heading = self.add_heading()
        table = QWidget()
        form = QFormLayout(table)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(tokens.L)
        form.setVerticalSpacing(tokens.XS)
        for name, number in versions():
            self.system = QLabel(name)  # in the end the last, the only one that is no proper name
            form.addRow(self.system, _selectable(number))
        self.add(table)
        self.copy = QPushButton(icon("copy"), "")
        self.copy.clicked.connect(self._on_copy)
        self.column.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignLeft)
        self.updates = self.add(Toggle(settings, "window.check_for_updates"))
        self.newer = self.add(_selectable(""))
        self.files_heading = self.add_heading()
        self.logs, self.open_logs = self._add_place(services.log_folder, services.log_folder)
        self.file, self.open_file = self._add_place(settings.path, settings.path.parent)
        self.licences_heading = self.add_heading()
        self.licence_text = self.add_text()
        self.licences = self.add(_licence_table())
        theme().changed.connect(self._fit)
        self._fit()
        self.finish()

    def open_page(self) -> None:
        """Look whether a newer version has become known."""
        self._show_newer()

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("About"))
        self.what.setText(
            self.tr(
                "Nearfield speaks where you are: a server makes codes of the words, this computer makes"
                " sound of them."
            )
        )
        self.versions_heading.setText(self.tr("Versions"))
        self.system.setText(self.tr("System"))
        self.copy.setText(self.tr("&Copy the versions"))
        self.updates.name(
            self.tr("Look for a &newer version once a day"),
            self.tr(
                "It asks pypi.org for Nearfield's newest version, which shows it this computer's network"
                " address. Nothing else about you or this computer is sent, and nothing is installed."
            ),
        )
        self._show_newer()
        self.files_heading.setText(self.tr("Files"))
        self.logs.name(self.tr("&Log, to be sent along with a report"))
        self.file.name(self.tr("&Settings"))
        for button, name in (
            (self.open_logs, self.tr("Open the folder of the log")),
            (self.open_file, self.tr("Open the folder of the settings")),
        ):
            button.setText(self.tr("Open"))
            button.setAccessibleName(name)
        self.licences_heading.setText(self.tr("Licences"))
        self.licence_text.setText(
            self.tr(
                "Nearfield is free software under the Apache License 2.0. It is made with these packages:"
            )
        )
        self.licences.setHorizontalHeaderLabels([self.tr("Package"), self.tr("Licence")])
        self.licences.setAccessibleName(self.tr("Packages and their licences"))

    def _add_place(self, path: Path, folder: Path) -> tuple[Row, QPushButton]:
        shown = QLineEdit(str(path))
        shown.setReadOnly(True)
        shown.setCursorPosition(0)
        row = self.add(Row(shown))
        button = QPushButton(icon("folder"), "")
        button.clicked.connect(lambda: self._services.open_folder(folder))
        row.beside.addWidget(button)
        return row, button

    def _show_newer(self) -> None:
        newer = self._services.newer_version()
        text = self.tr("Nearfield {0} can be had at {1}.").format(newer, PAGE) if newer else ""
        self.newer.setText(text)
        self.newer.setVisible(bool(text))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(f"{name} {number}" for name, number in versions()))

    def _fit(self) -> None:
        header = self.licences.horizontalHeader().sizeHint().height()
        self.licences.setFixedHeight(
            header + _TABLE_ROWS * self.licences.verticalHeader().defaultSectionSize()
        )


def _selectable(text: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _licence_table() -> QTableWidget:
    table = QTableWidget(len(LICENCES), 2)
    for at, row in enumerate(LICENCES):
        for column, text in enumerate(row):
            table.setItem(at, column, QTableWidgetItem(text))
    table.verticalHeader().hide()
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    return table
