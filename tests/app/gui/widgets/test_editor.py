from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QContextMenuEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.desktop.player_state import Phase, PlayerState, Sentence
from app.engine.events import Severity
from app.gui.style.theme import theme
from app.gui.widgets.editor import LINE_PERCENT, WRITES_S, Editor
from app.gui.widgets.following import LEFT_ALONE_S
from app.text import MAX_TEXT_CHARS

TEXT = "One is here. Two 🎉 is there. Three is last."
SENTENCES = (Sentence(0, 12, 0.0), Sentence(13, 28, 1.0), Sentence(29, 43, 2.0))
LONG = "\n".join(f"Line {n} says something of its own." for n in range(200))


class HandClock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def editor(qtbot: QtBot, qapp: QApplication, clock: HandClock) -> Iterator[Editor]:
    theme().apply(qapp, "light", reduced_motion=True)
    editor = Editor(clock=clock)
    qtbot.addWidget(editor)
    editor.resize(600, 300)
    with qtbot.waitExposed(editor):
        editor.show()
    return editor


class Told:
    """What an editor said."""

    def __init__(self, editor: Editor) -> None:
        self.notices: list[tuple[Severity, str]] = []
        self.chosen: list[int] = []
        self.opened: list[str] = []
        editor.notice.connect(lambda severity, text: self.notices.append((severity, text)))
        editor.sentence_chosen.connect(self.chosen.append)
        editor.document_opened.connect(self.opened.append)


def state(
    text: str = TEXT,
    sentences: tuple[Sentence, ...] = SENTENCES,
    sentence: int | None = 0,
    phase: Phase = Phase.PLAYING,
    reading: int | None = 1,
) -> PlayerState:
    return PlayerState(phase=phase, reading=reading, text=text, sentences=sentences, sentence=sentence)


def marked(editor: Editor) -> str | None:
    selections = editor.extraSelections()
    if not selections:
        return None
    (selection,) = selections
    return selection.cursor.selectedText()


def paste(editor: Editor, text: str) -> None:
    data = QMimeData()
    data.setText(text)
    editor.insertFromMimeData(data)


def files(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    data.setText("\n".join(str(path) for path in paths))
    return data


def point_of(editor: Editor, position: int) -> QPoint:
    cursor = QTextCursor(editor.document())
    cursor.setPosition(position)
    return editor.cursorRect(cursor).center() + QPoint(2, 0)


def click(
    qtbot: QtBot,
    editor: Editor,
    position: int,
    modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    qtbot.mouseClick(editor.viewport(), Qt.MouseButton.LeftButton, modifier, point_of(editor, position))


def loaded(editor: Editor, clock: HandClock, text: str = TEXT) -> Told:
    """Put a text into the editor, some time ago."""
    editor.set_text(text)
    clock.now_s += 60
    return Told(editor)


# -- text ---------------------------------------------------------------------------------------------------


def test_text_is_given_back_as_it_is(editor: Editor) -> None:
    text = "One\u00a0two\nthree\n\n🎉 four "
    editor.set_text(text)
    assert editor.text() == text
    editor.selectAll()
    assert editor.selected_text() == text


def test_putting_a_text_in_or_clearing_can_be_undone(editor: Editor) -> None:
    editor.set_text("first")
    editor.set_text("second")
    editor.clear()
    assert editor.text() == ""
    editor.undo()
    assert editor.text() == "second"
    editor.undo()
    assert editor.text() == "first"


def test_g3_pasted_text_is_cleaned_in_one_step(editor: Editor, qtbot: QtBot) -> None:
    with qtbot.waitSignal(editor.text_changed):
        paste(editor, "One\u2029two\u2028three\r\nfour\x00\ufeff and so\u00adft")
    assert editor.text() == "One\ntwo\nthree\nfour and soft"
    editor.undo()
    assert editor.text() == ""


def test_paste_goes_where_the_caret_is_and_keeps_its_spaces(editor: Editor) -> None:
    editor.set_text("ab")
    cursor = editor.textCursor()
    cursor.setPosition(1)
    editor.setTextCursor(cursor)
    paste(editor, " x ")
    assert editor.text() == "a x b"


def test_g5_a_long_paste_is_cut_and_that_is_said(editor: Editor) -> None:
    told = Told(editor)
    editor.set_text("before ")
    editor.moveCursor(QTextCursor.MoveOperation.End)
    paste(editor, "some words. " * 20_000)
    assert MAX_TEXT_CHARS - 3000 < len(editor.text()) <= MAX_TEXT_CHARS
    assert editor.text().endswith("words.")
    assert [(severity, "100" in text) for severity, text in told.notices] == [(Severity.WARNING, True)]
    paste(editor, "more")
    assert len(editor.text()) <= MAX_TEXT_CHARS


def test_g5_the_longest_text_is_no_burden(editor: Editor, clock: HandClock, qtbot: QtBot) -> None:
    text = ("A line of words that are read aloud. " * 6 + "\n") * 450
    paste(editor, text[:MAX_TEXT_CHARS])
    text = editor.text()
    starts = list(range(0, len(text) - 40, 37))
    sentences = tuple(Sentence(i, i + 36, i / 15) for i in starts)
    clock.now_s += 60
    editor.show_state(state(text, sentences[:1]))
    slowest_s = 0.0
    for index in range(1, len(sentences), 40):
        started_s = time.perf_counter()
        editor.show_state(state(text, sentences[: index + 1], index))
        editor.viewport().repaint()
        slowest_s = max(slowest_s, time.perf_counter() - started_s)
    started_s = time.perf_counter()
    for key in "hello":
        qtbot.keyClick(editor, key)
    typed_s = (time.perf_counter() - started_s) / 5
    assert slowest_s < 0.5  # 0.02 s on a quiet machine
    assert typed_s < 0.25  # 0.01 s


def test_lines_keep_their_room_whatever_is_done(editor: Editor, qtbot: QtBot) -> None:
    def heights() -> set[float]:
        block, found = editor.document().begin(), set()
        while block.isValid():
            found.add(block.blockFormat().lineHeight())
            block = block.next()
        return found

    assert heights() == {LINE_PERCENT}
    paste(editor, "one\ntwo")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert heights() == {LINE_PERCENT}
    editor.clear()
    editor.set_text("a\nb\nc")
    assert heights() == {LINE_PERCENT}
    for _ in range(9):
        editor.undo()
    assert heights() == {LINE_PERCENT}
    editor.selectAll()
    qtbot.keyClick(editor, Qt.Key.Key_Delete)
    qtbot.keyClicks(editor, "new")
    assert heights() == {LINE_PERCENT}


def test_pasted_looks_are_left_behind(editor: Editor) -> None:
    data = QMimeData()
    data.setHtml("<h1>Big</h1><p><b>bold</b></p>")
    data.setText("Big\nbold")
    editor.insertFromMimeData(data)
    assert editor.text() == "Big\nbold"
    assert "font-weight" not in editor.toHtml().partition("<body")[2].partition(">")[2]


def test_the_text_grows_with_the_text_size(editor: Editor, qapp: QApplication) -> None:
    before = editor.document().defaultFont().pointSizeF()
    theme().apply(qapp, "light", 2.0, reduced_motion=True)
    assert editor.document().defaultFont().pointSizeF() == pytest.approx(2 * before)
    theme().apply(qapp, "light", reduced_motion=True)


# -- documents ----------------------------------------------------------------------------------------------


def test_a_dropped_file_is_opened(editor: Editor, tmp_path: Path) -> None:
    told = Told(editor)
    (tmp_path / "a.md").write_text("# Title\n\nWords.\n\n```\ncode\n```\n")
    assert editor.canInsertFromMimeData(files(tmp_path / "a.md"))
    editor.insertFromMimeData(files(tmp_path / "a.md"))
    assert editor.text() == "Title.\n\nWords."
    assert told.opened == ["a.md"]
    assert [severity for severity, _ in told.notices] == [Severity.INFO]
    assert "code" in told.notices[0][1]


def test_opening_a_file_can_be_undone(editor: Editor, tmp_path: Path) -> None:
    editor.set_text("mine")
    (tmp_path / "a.txt").write_text("theirs")
    assert editor.open_document(tmp_path / "a.txt")
    assert editor.text() == "theirs"
    editor.undo()
    assert editor.text() == "mine"


@pytest.mark.parametrize(
    ("name", "data", "severity", "words"),
    [
        ("a.txt", b"\x00\x01", Severity.ERROR, "a.txt is no text file"),
        ("a.txt", None, Severity.ERROR, "a.txt cannot be opened"),
        ("a.txt", "Grüße aus München".encode("cp1252"), Severity.WARNING, "cp125"),
        ("a.txt", b"word. " * 30_000, Severity.WARNING, "longer than 100"),
        ("a.txt", b"word. " * 400_000, Severity.ERROR, "too long"),
    ],
)
def test_what_is_to_be_known_of_a_file_is_told(
    editor: Editor, tmp_path: Path, name: str, data: bytes | None, severity: Severity, words: str
) -> None:
    told = Told(editor)
    editor.set_text("mine")
    if data is not None:
        (tmp_path / name).write_bytes(data)
    is_open = editor.open_document(tmp_path / name)
    assert is_open is (severity is not Severity.ERROR)
    assert (editor.text() == "mine") is (severity is Severity.ERROR)
    assert [told_severity for told_severity, _ in told.notices] == [severity]
    assert words in told.notices[0][1]


def test_of_several_files_the_first_is_opened(editor: Editor, tmp_path: Path) -> None:
    told = Told(editor)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    editor.insertFromMimeData(files(tmp_path / "a.txt", tmp_path / "b.txt"))
    assert editor.text() == "a.txt"
    assert [severity for severity, _ in told.notices] == [Severity.INFO]


def test_a_link_from_a_browser_is_text(editor: Editor) -> None:
    data = QMimeData()
    data.setUrls([QUrl("https://example.com/a.txt")])
    data.setText("https://example.com/a.txt")
    editor.insertFromMimeData(data)
    assert editor.text() == "https://example.com/a.txt"


# -- the sentence that is heard -----------------------------------------------------------------------------


def test_the_heard_sentence_is_marked(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state(sentences=SENTENCES[:1]))
    assert marked(editor) == "One is here."
    editor.show_state(state(sentence=1))
    assert marked(editor) == "Two 🎉 is there."
    editor.show_state(state(sentence=2))
    assert marked(editor) == "Three is last."
    editor.show_state(state(sentence=None))
    assert marked(editor) is None


def test_the_mark_goes_when_the_reading_is_over(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state())
    editor.show_state(state(phase=Phase.IDLE, sentence=2))
    assert marked(editor) is None


def test_marks_follow_edits_even_before_a_sentence_is_known(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state(sentences=(), sentence=None, reading=None, phase=Phase.PREPARING))
    cursor = editor.textCursor()
    cursor.setPosition(0)
    cursor.insertText("Zero. ")
    editor.show_state(state(sentences=SENTENCES[:2], sentence=1))
    assert marked(editor) == "Two 🎉 is there."
    cursor.setPosition(editor.text().index("is there") + 1)  # the emoji counts twice here
    cursor.insertText("🎉 ")
    assert marked(editor) == "Two 🎉 🎉 is there."
    editor.show_state(state(sentence=2))
    assert marked(editor) == "Three is last."
    editor.undo()
    assert marked(editor) == "Three is last."


def test_what_is_typed_right_after_the_heard_sentence_is_not_marked(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state(sentence=2))
    editor.moveCursor(QTextCursor.MoveOperation.End)
    editor.textCursor().insertText(" Four.")
    assert marked(editor) == "Three is last."


def test_a_replaced_text_has_no_marks(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state(sentence=0))
    editor.set_text("Something else altogether, and longer than before.")
    assert marked(editor) is None
    for index in (1, 2):
        editor.show_state(state(sentence=index))
        assert marked(editor) is None


def test_a_text_that_is_not_in_the_editor_marks_nothing(editor: Editor, clock: HandClock) -> None:
    told = loaded(editor, clock, "My own text is here.")
    editor.show_state(state())
    assert marked(editor) is None
    assert editor.sentence_at(point_of(editor, 3)) is None
    assert told.chosen == []


def test_a_spoken_selection_is_marked_where_it_was_selected(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock, "🎉 Again. Again. Again.")
    cursor = editor.textCursor()
    start = len("🎉 Again. ".encode("utf-16-le")) // 2
    cursor.setPosition(start)
    cursor.setPosition(start + 6, QTextCursor.MoveMode.KeepAnchor)
    editor.setTextCursor(cursor)
    assert editor.selected_text() == "Again."
    editor.show_state(state("Again.", (Sentence(0, 6, 0.0),)))
    assert marked(editor) == "Again."
    assert editor.extraSelections()[0].cursor.selectionStart() == start


def test_the_same_text_again_is_another_reading(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    editor.show_state(state(sentence=2))
    editor.show_state(state(sentences=(), sentence=None, reading=2))
    assert marked(editor) is None
    editor.show_state(state(sentences=SENTENCES[:1], sentence=0, reading=2))
    assert marked(editor) == "One is here."


def test_sentences_can_be_given_and_marked_without_a_player(editor: Editor) -> None:
    editor.set_text(TEXT)
    editor.set_sentences([(0, 12), (13, 28)])
    editor.highlight(1)
    assert marked(editor) == "Two 🎉 is there."
    editor.highlight(7)
    assert marked(editor) is None


def test_the_mark_has_the_colours_of_the_theme(editor: Editor, clock: HandClock, qapp: QApplication) -> None:
    loaded(editor, clock)
    editor.show_state(state())
    seen = []
    for choice in ("light", "dark"):
        theme().apply(qapp, choice, reduced_motion=True)
        selections = editor.extraSelections()  # kept: what is in it goes with it
        seen.append(QColor(selections[0].format.background().color()))
        assert seen[-1] == QColor(theme().colours.accent_soft)
    assert seen[0] != seen[1]
    theme().apply(qapp, "light", reduced_motion=True)


# -- kept in view -------------------------------------------------------------------------------------------


def line(number: int) -> tuple[Sentence, ...]:
    """Return sentences, of which the last is a line of LONG."""
    found, at = [], 0
    for n, each in enumerate(LONG.split("\n")[: number + 1]):
        found.append(Sentence(at, at + len(each), float(n)))
        at += len(each) + 1
    return tuple(found)


def is_in_view(editor: Editor, sentence: Sentence) -> bool:
    cursor = QTextCursor(editor.document())
    cursor.setPosition(sentence.start)
    rect = editor.cursorRect(cursor)
    return rect.top() >= 0 and rect.bottom() <= editor.viewport().height()


def test_the_heard_sentence_is_kept_in_view(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock, LONG)
    for number in (0, 5, 30, 31, 120, 199, 3):
        sentences = line(number)
        editor.show_state(state(LONG, sentences, number))
        assert is_in_view(editor, sentences[-1]), number


def test_what_is_in_view_anyway_moves_nothing(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock, LONG)
    editor.show_state(state(LONG, line(0), 0))
    editor.show_state(state(LONG, line(4), 4))
    assert editor.verticalScrollBar().value() == 0


def test_who_scrolled_away_is_left_alone_for_a_while(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock, LONG)
    editor.show_state(state(LONG, line(0), 0))
    editor.verticalScrollBar().triggerAction(editor.verticalScrollBar().SliderAction.SliderToMaximum)
    there = editor.verticalScrollBar().value()
    assert there > 0
    editor.show_state(state(LONG, line(1), 1))
    clock.now_s += LEFT_ALONE_S - 1
    editor.show_state(state(LONG, line(2), 2))
    assert editor.verticalScrollBar().value() == there
    clock.now_s += 2
    editor.show_state(state(LONG, line(3), 3))
    assert is_in_view(editor, line(3)[-1])


def test_who_writes_elsewhere_is_left_alone(editor: Editor, clock: HandClock, qtbot: QtBot) -> None:
    loaded(editor, clock, LONG)
    editor.show_state(state(LONG, line(0), 0))
    qtbot.keyClick(editor, "x")
    editor.show_state(state(LONG, line(100), 100))
    assert editor.verticalScrollBar().value() == 0


def test_it_moves_smoothly_unless_motion_is_reduced(
    editor: Editor, clock: HandClock, qtbot: QtBot, qapp: QApplication
) -> None:
    loaded(editor, clock, LONG)
    theme().apply(qapp, "light", reduced_motion=False)
    editor.show_state(state(LONG, line(0), 0))
    editor.show_state(state(LONG, line(100), 100))
    assert editor.verticalScrollBar().value() < 50
    qtbot.waitUntil(lambda: is_in_view(editor, line(100)[-1]))
    theme().apply(qapp, "light", reduced_motion=True)


# -- choosing a sentence ------------------------------------------------------------------------------------


def test_a_click_while_it_is_read_has_the_sentence_heard_and_places_the_caret(
    editor: Editor, clock: HandClock, qtbot: QtBot
) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    click(qtbot, editor, 17)
    assert told.chosen == [1]
    assert editor.textCursor().position() > 0


def test_a_click_while_nothing_is_read_only_places_the_caret(
    editor: Editor, clock: HandClock, qtbot: QtBot
) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    editor.show_state(state(phase=Phase.IDLE))
    click(qtbot, editor, 17)
    assert told.chosen == []
    assert editor.textCursor().position() > 0
    click(qtbot, editor, 17, Qt.KeyboardModifier.ControlModifier)
    assert told.chosen == [1]


def test_who_writes_clicks_to_write(editor: Editor, clock: HandClock, qtbot: QtBot) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    editor.moveCursor(QTextCursor.MoveOperation.End)
    qtbot.keyClick(editor, "x")
    click(qtbot, editor, 17)
    assert told.chosen == []
    click(qtbot, editor, 17, Qt.KeyboardModifier.ControlModifier)
    clock.now_s += WRITES_S
    click(qtbot, editor, 2)
    assert told.chosen == [1, 0]


def test_a_sentence_that_was_scrolled_to_can_be_clicked_at_once(
    editor: Editor, clock: HandClock, qtbot: QtBot
) -> None:
    told = loaded(editor, clock, LONG)
    editor.show_state(state(LONG, line(150), 0))
    editor.verticalScrollBar().triggerAction(editor.verticalScrollBar().SliderAction.SliderPageStepAdd)
    number = editor.cursorForPosition(QPoint(5, 5)).blockNumber() + 3
    assert number > 10
    click(qtbot, editor, line(number)[-1].start + 3)
    assert told.chosen == [number]


def test_selecting_is_no_click(editor: Editor, clock: HandClock, qtbot: QtBot) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    viewport = editor.viewport()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=point_of(editor, 1))
    qtbot.mouseMove(viewport, point_of(editor, 20))
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=point_of(editor, 20))
    assert editor.textCursor().hasSelection()
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=point_of(editor, 17))
    assert editor.textCursor().hasSelection()
    assert told.chosen == []


def test_between_sentences_nothing_is_chosen(editor: Editor, clock: HandClock, qtbot: QtBot) -> None:
    told = loaded(editor, clock, "One.\n\n\nTwo.")
    editor.show_state(state("One.\n\n\nTwo.", (Sentence(0, 4, 0.0), Sentence(7, 11, 1.0)), 0))
    click(qtbot, editor, 5)
    assert told.chosen == []


def open_menu(editor: Editor, reason: QContextMenuEvent.Reason, point: QPoint) -> QMenu:
    by_keyboard = reason is QContextMenuEvent.Reason.Keyboard
    target = editor if by_keyboard else editor.viewport()
    QApplication.sendEvent(target, QContextMenuEvent(reason, point, target.mapToGlobal(point)))
    (menu,) = [w for w in editor.findChildren(QMenu) if w.isVisible()]
    return menu


def test_the_context_menu_offers_to_hear_from_there(editor: Editor, clock: HandClock) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    menu = open_menu(editor, QContextMenuEvent.Reason.Mouse, point_of(editor, 17))
    hear = menu.actions()[0]
    assert hear.text() == "Hear from here"
    assert hear.isEnabled()
    hear.trigger()
    assert told.chosen == [1]
    menu.close()


def test_by_keyboard_the_menu_is_about_the_caret(editor: Editor, clock: HandClock) -> None:
    told = loaded(editor, clock)
    editor.show_state(state())
    editor.moveCursor(QTextCursor.MoveOperation.End)
    menu = open_menu(editor, QContextMenuEvent.Reason.Keyboard, QPoint(0, 0))
    menu.actions()[0].trigger()
    assert told.chosen == [2]
    menu.close()


def test_where_nothing_can_be_heard_the_menu_says_so(editor: Editor, clock: HandClock) -> None:
    loaded(editor, clock)
    menu = open_menu(editor, QContextMenuEvent.Reason.Keyboard, QPoint(0, 0))
    assert not menu.actions()[0].isEnabled()
    menu.close()


# -- manners ------------------------------------------------------------------------------------------------


def test_it_has_a_name_and_says_what_to_do(editor: Editor) -> None:
    assert editor.accessibleName()
    assert "Ctrl+Enter" in editor.placeholderText()


def test_tab_leaves_it(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    editor, button = Editor(), QPushButton()
    column.addWidget(editor)
    column.addWidget(button)
    with qtbot.waitActive(window):
        window.show()
    editor.setFocus()
    qtbot.keyClick(editor, Qt.Key.Key_Tab)
    assert button.hasFocus()
    assert editor.text() == ""


def test_another_language_renames_it(editor: Editor) -> None:
    editor.setAccessibleName("")
    QApplication.sendEvent(editor, QEvent(QEvent.Type.LanguageChange))
    assert editor.accessibleName()
