"""The style sheet, made of the tokens and of nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from string import Template

from app.gui.style import tokens
from app.gui.style.tokens import Colours

_SHEET = Template("""
QToolTip {
    background: $raised; color: $text; border: 1px solid $border; padding: ${xs}px ${s}px;
}

/* -- text ------------------------------------------------------------------------------------------- */
QLabel { background: transparent; }
QLabel[role="title"] { font-size: ${title_pt}pt; font-weight: 600; }
QLabel[role="section"] { font-weight: 600; }
QLabel[role="caption"] { font-size: ${caption_pt}pt; color: $text_muted; }
QLabel[role="display"] { font-size: ${display_pt}pt; font-weight: 300; }
QLabel[role="number"] { font-weight: 600; }
QLabel[role="alarm"] { font-weight: 600; color: $danger; }
QLabel:disabled { color: $text_disabled; }

/* -- frames ----------------------------------------------------------------------------------------- */
QFrame[role="card"] { background: $surface; border: 1px solid $border; border-radius: ${radius}px; }
QFrame[severity] { border: none; border-radius: ${radius}px; background: $info_soft; }
QFrame[severity="warning"] { background: $warning_soft; }
QFrame[severity="error"] { background: $danger_soft; }
QGroupBox {
    font-weight: 600; border: none; margin-top: ${l}px; padding-top: ${s}px;
}
QGroupBox::title { subcontrol-origin: margin; left: 0; top: 0; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $border; }
QStatusBar { color: $text_muted; }
QStatusBar::item { border: none; }

QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }

/* -- buttons ---------------------------------------------------------------------------------------- */
QPushButton, QToolButton, QCheckBox, QRadioButton { icon-size: ${icon}px; }
QPushButton, QToolButton {
    background: $surface; color: $text; border: 1px solid $border_strong; border-radius: ${inner}px;
    padding: ${control_y}px ${control_x}px;
}
QToolButton { padding: ${control_y}px; }
QPushButton:hover, QToolButton:hover { background: $hover; }
QPushButton:pressed, QToolButton:pressed, QPushButton:checked, QToolButton:checked { background: $pressed; }
QPushButton:focus, QToolButton:focus {
    border: ${ring}px solid $accent; padding: ${control_y_ring}px ${control_x_ring}px;
}
QToolButton:focus { padding: ${control_y_ring}px; }
QPushButton:disabled, QToolButton:disabled {
    background: transparent; color: $text_disabled; border-color: $border;
}
QPushButton[role="primary"], QToolButton[role="primary"] {
    background: $accent; color: $accent_text; border-color: $accent; font-weight: 600;
}
QPushButton[role="primary"]:hover, QToolButton[role="primary"]:hover {
    background: $accent_hover; border-color: $accent_hover;
}
QPushButton[role="primary"]:pressed, QToolButton[role="primary"]:pressed {
    background: $accent_pressed; border-color: $accent_pressed;
}
QPushButton[role="primary"]:focus, QToolButton[role="primary"]:focus { border-color: $text; }
QPushButton[role="primary"]:disabled, QToolButton[role="primary"]:disabled {
    background: $track; color: $text_disabled; border-color: $track;
}
QPushButton[role="danger"], QToolButton[role="danger"] { color: $danger; border-color: $danger; }
QPushButton[role="danger"]:hover, QToolButton[role="danger"]:hover { background: $danger_soft; }
QPushButton[role="danger"]:disabled, QToolButton[role="danger"]:disabled {
    color: $text_disabled; border-color: $border;
}
QPushButton[role="quiet"], QToolButton[role="quiet"], QToolBar QToolButton {
    background: transparent; border-color: transparent;
}
QPushButton[role="quiet"]:hover, QToolButton[role="quiet"]:hover, QToolBar QToolButton:hover {
    background: $hover;
}
QPushButton[role="quiet"]:pressed, QToolButton[role="quiet"]:pressed, QToolBar QToolButton:pressed,
QPushButton[role="quiet"]:checked, QToolButton[role="quiet"]:checked, QToolBar QToolButton:checked {
    background: $pressed;
}
QPushButton[role="quiet"]:focus, QToolButton[role="quiet"]:focus, QToolBar QToolButton:focus {
    border-color: $accent;
}
QPushButton[role="link"], QToolButton[role="link"] {
    background: transparent; color: $accent; border-color: transparent;
}
QPushButton[role="link"]:hover, QToolButton[role="link"]:hover {
    color: $accent_hover; text-decoration: underline;
}
QPushButton[role="link"]:focus, QToolButton[role="link"]:focus { border-color: $accent; }
QToolButton[role="chip"] {
    background: transparent; border: 1px solid $border; border-radius: ${chip}px;
    padding: ${xs}px ${chip_arrow}px ${xs}px ${s}px;
}
QToolButton[role="chip"]:hover { background: $hover; }
QToolButton[role="chip"]:focus {
    border: ${ring}px solid $accent;
    padding: ${chip_y_ring}px ${chip_arrow_ring}px ${chip_y_ring}px ${chip_x_ring}px;
}
QToolButton::menu-indicator { image: none; }
QToolButton[role="chip"]::menu-indicator {
    image: url("$down"); width: ${small_mark}px; height: ${small_mark}px;
    subcontrol-origin: padding; subcontrol-position: center right; right: ${s}px;
}
QToolButton[popupMode="1"] { padding-right: ${l}px; }
QToolButton::menu-button { border: none; width: ${l}px; }
QToolButton::menu-arrow { image: url("$down"); width: ${mark}px; height: ${mark}px; }

/* -- what is written into --------------------------------------------------------------------------- */
QLineEdit, QPlainTextEdit, QTextEdit, QComboBox, QAbstractSpinBox {
    background: $surface; color: $text; border: 1px solid $border_strong; border-radius: ${inner}px;
    selection-background-color: $selection; selection-color: $selection_text;
    placeholder-text-color: $text_muted;
}
QLineEdit { padding: ${control_y}px ${s}px; }
QPlainTextEdit, QTextEdit { padding: ${s}px; border-color: $border; border-radius: ${radius}px; }
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus { border-color: $accent; }
QPlainTextEdit:focus, QTextEdit:focus { border-color: $accent; }
QLineEdit:disabled, QPlainTextEdit:disabled, QTextEdit:disabled, QComboBox:disabled,
QAbstractSpinBox:disabled {
    background: transparent; color: $text_disabled; border-color: $border;
}
QTextBrowser { border: none; background: transparent; }

QComboBox { padding: ${control_y}px ${arrow_box}px ${control_y}px ${s}px; }
QComboBox:hover, QAbstractSpinBox:hover { border-color: $text_muted; }
QComboBox:focus:hover, QAbstractSpinBox:focus:hover { border-color: $accent; }
QComboBox::drop-down { border: none; width: ${arrow_box}px; subcontrol-position: center right; }
QComboBox::down-arrow { image: url("$down"); width: ${mark}px; height: ${mark}px; }
QComboBox::down-arrow:disabled { image: url("$down_disabled"); }
QComboBox QAbstractItemView {
    background: $raised; color: $text; border: 1px solid $border; border-radius: 0; padding: ${xs}px;
    selection-background-color: $accent_soft; selection-color: $text; outline: none;
}
QComboBox QAbstractItemView::item { min-height: ${row}px; padding: 0 ${s}px; }

/* Qt 6.12 begins the text at the very edge whatever the padding: it stands at the other end. */
QAbstractSpinBox {
    padding: ${control_y}px ${s}px; qproperty-alignment: "AlignRight | AlignVCenter";
}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; width: ${arrow_box}px; }
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-arrow { image: url("$up"); width: ${small_mark}px; height: ${small_mark}px; }
QAbstractSpinBox::down-arrow { image: url("$down"); width: ${small_mark}px; height: ${small_mark}px; }
QAbstractSpinBox::up-arrow:disabled, QAbstractSpinBox::up-arrow:off { image: url("$up_disabled"); }
QAbstractSpinBox::down-arrow:disabled, QAbstractSpinBox::down-arrow:off { image: url("$down_disabled"); }

/* -- what is chosen --------------------------------------------------------------------------------- */
QCheckBox, QRadioButton { spacing: ${s}px; padding: ${xs}px; border: ${ring}px solid transparent;
    border-radius: ${inner}px; }
QCheckBox:focus, QRadioButton:focus { border-color: $accent; }
QCheckBox::indicator, QRadioButton::indicator {
    width: ${mark}px; height: ${mark}px; background: $surface; border: 1px solid $border_strong;
}
QCheckBox::indicator { border-radius: ${small}px; }
QRadioButton::indicator { border-radius: ${mark_radius}px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:checked { background: $accent; border-color: $accent; image: url("$tick"); }
QRadioButton::indicator:checked {
    border-color: $accent;
    background: qradialgradient(cx: 0.5, cy: 0.5, radius: 0.5, fx: 0.5, fy: 0.5,
        stop: 0 $accent, stop: 0.5 $accent, stop: 0.58 $surface, stop: 1 $surface);
}
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled {
    background: transparent; border-color: $border;
}
QCheckBox::indicator:checked:disabled { background: $track; image: url("$tick_disabled"); }
QCheckBox:disabled, QRadioButton:disabled { color: $text_disabled; }

/* Only of this very class: the waveform is a slider, too. */
.QSlider:horizontal { min-height: ${handle_high}px; }
QSlider::groove:horizontal { height: ${xs}px; background: $track; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal {
    width: ${mark}px; height: ${mark}px; margin: -${handle_over}px 0; border-radius: ${handle_radius}px;
    background: $accent;
}
QSlider::handle:horizontal:hover { background: $accent_hover; }
QSlider::handle:horizontal:focus { border: ${ring}px solid $text; width: ${handle_ring}px; }
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled { background: $text_disabled; }

QProgressBar {
    background: $track; border: none; border-radius: ${small}px; min-height: ${s}px; max-height: ${s}px;
    text-align: center; color: transparent;
}
QProgressBar::chunk { background: $accent; border-radius: ${small}px; }

/* -- menus, tabs, lists ----------------------------------------------------------------------------- */
QMenuBar { background: $window; color: $text; }
QMenuBar::item { padding: ${xs}px ${s}px; background: transparent; border-radius: ${small}px; }
QMenuBar::item:selected { background: $hover; }
QMenuBar::item:pressed { background: $pressed; }
QMenu { background: $raised; color: $text; border: 1px solid $border; padding: ${xs}px; }
QMenu::item { padding: ${control_y}px ${l}px; border-radius: ${small}px; }
QMenu::item:selected { background: $accent_soft; color: $text; }
QMenu::item:disabled { color: $text_disabled; }
QMenu::icon { padding-left: ${s}px; }
QMenu::separator { height: 1px; background: $border; margin: ${xs}px ${s}px; }
QMenu::indicator { width: ${mark}px; height: ${mark}px; padding-left: ${xs}px; }
QMenu::indicator:checked { image: url("$menu_tick"); }
QMenu::right-arrow { image: url("$right"); width: ${mark}px; height: ${mark}px; }
QToolBar { background: $window; border: none; spacing: ${xs}px; padding: ${xs}px; }
QToolBar::separator { background: $border; width: 1px; margin: ${xs}px ${s}px; }

QTabWidget::pane { border: none; border-top: 1px solid $border; }
QTabBar::tab {
    background: transparent; color: $text_muted; padding: ${s}px ${m}px; border: none;
    border-bottom: ${ring}px solid transparent;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; }
QTabBar::tab:focus { background: $hover; }

QAbstractItemView {
    background: $surface; color: $text; border: 1px solid $border; border-radius: ${radius}px;
    selection-background-color: $accent_soft; selection-color: $text; outline: none;
}
QListView::item, QTreeView::item, QTableView::item { padding: ${xs}px ${s}px; }
QListView::item:hover, QTreeView::item:hover, QTableView::item:hover { background: $hover; }
QListView::item:selected, QTreeView::item:selected, QTableView::item:selected {
    background: $accent_soft; color: $text;
}
QAbstractItemView:focus { border-color: $accent; }
QListView[role="pages"] { background: transparent; border: none; }
QListView[role="pages"]::item {
    padding: ${s}px; border: ${ring}px solid transparent; border-radius: ${inner}px;
}
QListView[role="pages"]::item:selected:focus { border-color: $accent; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: $surface; color: $text_muted; border: none; border-bottom: 1px solid $border;
    padding: ${xs}px ${s}px;
}
QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget { background: transparent; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 2px; }
QScrollBar::handle { background: $border_strong; border-radius: ${small}px; }
QScrollBar::handle:hover { background: $text_muted; }
QScrollBar::handle:vertical { min-height: ${xl}px; }
QScrollBar::handle:horizontal { min-width: ${xl}px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
""")


def style_sheet(
    colours: Colours,
    points: Callable[[float], float],
    scaled: Callable[[float], int],
    marks: Mapping[str, str],
) -> str:
    """Return the sheet in ``colours``.

    ``points`` gives the size of a step of the type scale, ``scaled`` a length that grows with the text, and
    ``marks`` the files of arrows and ticks.

    Raises:
        KeyError: the sheet names a token or a mark that does not exist.

    """
    control_y, control_x = 6, 12
    mark = scaled(tokens.M)
    return _SHEET.substitute(
        asdict(colours),
        xs=tokens.XS,
        s=tokens.S,
        m=tokens.M,
        l=tokens.L,
        xl=tokens.XL,
        radius=tokens.RADIUS,
        inner=tokens.RADIUS - 2,
        small=tokens.RADIUS_SMALL,
        chip=tokens.RADIUS + tokens.XS,
        ring=tokens.RING,
        row=scaled(tokens.CONTROL - tokens.XS),
        icon=scaled(tokens.ICON),
        mark=mark,
        small_mark=scaled(12),
        mark_radius=mark // 2 + 1,
        arrow_box=mark + tokens.S,
        handle_over=(mark - tokens.XS) // 2,
        handle_radius=mark // 2,
        handle_high=mark + tokens.S,
        handle_ring=mark - 2 * tokens.RING,
        control_y=control_y,
        control_x=control_x,
        chip_arrow=scaled(12),
        chip_arrow_ring=scaled(12) - tokens.RING + 1,
        chip_x_ring=tokens.S - tokens.RING + 1,
        # The ring takes the place of padding: what gets the focus does not grow.
        control_y_ring=control_y - tokens.RING + 1,
        control_x_ring=control_x - tokens.RING + 1,
        chip_y_ring=tokens.XS - tokens.RING + 1,
        caption_pt=f"{points(tokens.CAPTION):.2f}",
        title_pt=f"{points(tokens.TITLE):.2f}",
        display_pt=f"{points(tokens.DISPLAY):.2f}",
        **{name.replace("-", "_"): path for name, path in marks.items()},
    )
