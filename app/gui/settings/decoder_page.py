"""What turns codec tokens into sound: which weights, where, how exactly."""

from __future__ import annotations

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from app.config import Config
from app.desktop.settings import Settings
from app.gui.settings.checkpoint_row import CheckpointRow
from app.gui.settings.controls import Number, OneOf
from app.gui.settings.download_row import DownloadRow
from app.gui.settings.page import Page
from app.gui.settings.services import Services
from app.gui.style.icons import icon

_PRECISIONS = {
    "exact": QT_TRANSLATE_NOOP("DecoderPage", "Exact"),
    "auto": QT_TRANSLATE_NOOP("DecoderPage", "Automatic"),
    "fast": QT_TRANSLATE_NOOP("DecoderPage", "Fast"),
}
_MEANINGS = {
    "exact": QT_TRANSLATE_NOOP(
        "DecoderPage",
        "The same sound as the original decoder's, in 32-bit numbers. Right for most computers.",
    ),
    "auto": QT_TRANSLATE_NOOP(
        "DecoderPage",
        "Measures once how fast this computer is each way, and takes less exact numbers only where that is"
        " clearly faster and cannot be heard.",
    ),
    "fast": QT_TRANSLATE_NOOP(
        "DecoderPage",
        "Less exact numbers wherever this computer has instructions for them. Saves memory, and on some"
        " computers time.",
    ),
}
_DEVICES = {
    "cpu": QT_TRANSLATE_NOOP("DecoderPage", "Processor (CPU)"),
    "cuda": QT_TRANSLATE_NOOP("DecoderPage", "Graphics card (CUDA)"),
}


class DecoderPage(Page):
    """Checkpoint, device, precision, threads."""

    def __init__(self, settings: Settings, services: Services, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.about = self.add_text()
        self.checkpoint = self.add(CheckpointRow(settings, services))
        self.browse = QPushButton(icon("folder"), "")
        self.browse.clicked.connect(self._browse)
        self.checkpoint.beside.addWidget(self.browse)
        self.download = self.add(DownloadRow(services.fetch))
        self.checkpoint.missing.connect(self.download.offer)
        self.download.fetched.connect(self.checkpoint.use)
        self.device = self.add(OneOf(settings, "decoder.device"))
        self.precision = self.add(OneOf(settings, "decoder.precision"))
        self.threads = self.add(Number(settings, "decoder.threads", (0, 256), 1))
        self._precision = "exact"
        self.finish()

    def open_page(self) -> None:
        """Look whether the weights are there."""
        self.checkpoint.look()

    def show_config(self, config: Config) -> None:
        """Show what is in force."""
        super().show_config(config)
        self._precision = config.decoder.precision
        self.precision.explain(self.tr(str(_MEANINGS[self._precision])))

    def retranslate(self) -> None:
        """Set all texts."""
        self.title.setText(self.tr("Decoder"))
        self.about.setText(
            self.tr(
                "For servers that send codec tokens. A server that decodes itself needs nothing of this,"
                " and the demo brings its own."
            )
        )
        self.checkpoint.name(
            self.tr("&Weights"),
            self.tr("A folder with speech_tokenizer in it, or the name of a repository, such as {0}.").format(
                "Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice"
            ),
        )
        self.browse.setText(self.tr("&Choose a folder…"))
        self.device.name(self.tr("&Runs on"))
        self.device.offer([(device, self.tr(str(text))) for device, text in _DEVICES.items()])
        self.device.explain(
            self.tr("Where there is no such graphics card, the processor is used and a notice says so.")
        )
        self.precision.name(self.tr("&Precision"))
        self.precision.offer([(value, self.tr(str(text))) for value, text in _PRECISIONS.items()])
        self.precision.explain(self.tr(str(_MEANINGS[self._precision])))
        self.threads.name(self.tr("&Threads"), self.tr("Processors that decode at the same time."))
        self.threads.spin.setSpecialValueText(self.tr("Automatic"))

    def _browse(self) -> None:
        dialog = QFileDialog(self, self.tr("Folder with the weights"), self.checkpoint.folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.checkpoint.use)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
