"""Elements as a parser of HTML reads them: what is text stays text."""

import pytest

from opendp_topk.markup import elements
from opendp_topk.markup.elements import Markup, el

from ..audit.pages import Element, read


def only(page: str, name: str) -> Element:
    (found,) = read(page).all(name)
    return found


def test_an_element_has_its_children_and_attributes() -> None:
    made = only(el("p", "1 < 2 & ", el("b", "so"), class_="a\"b'", data_key=3, hidden=True, lang=None, dir=False), "p")
    assert made.text == "1 < 2 & so"
    assert made.attributes == {"class": "a\"b'", "data-key": "3", "hidden": ""}
    assert [one.name for one in made] == ["p", "b"]
    assert str(el("br")) == "<br>"
    assert str(el("i")) == "<i></i>"


def test_parts_are_joined_and_only_texts_are_escaped() -> None:
    assert elements.join_markup(["a<b", Markup("<i></i>"), 3], Markup("<br>")) == "a&lt;b<br><i></i><br>3"
    assert elements.bind_percent_signs("5 %, 6 m") == "5\u00a0%, 6 m"


def test_a_notebook_shows_names_and_what_they_are() -> None:
    page = elements.facts_table("Of <it>", [("a", "1 < 2"), ("b", 3)])
    assert only(page, "caption").text == "Of <it>"
    rows = only(page, "tbody").all("tr")
    cells = [[(one.name, one.text) for one in row.all("th", "td")] for row in rows]
    assert cells == [[("th", "a"), ("td", "1 < 2")], [("th", "b"), ("td", "3")]]
    assert [one.attributes["scope"] for one in read(page).all("th")] == ["row", "row"]


def test_a_notebook_shows_the_first_hundred_lines_and_how_many_there_are() -> None:
    for many, more in ((2, ""), (100, ""), (101, " (the first 100 of 101)")):
        page = elements.columns_table("Numbers", {"n": range(many), "square": [n * n for n in range(many)]})
        assert only(page, "caption").text == f"Numbers{more}"
        heads = [(one.text, one.attributes["scope"]) for one in only(page, "thead").all("th")]
        assert heads == [("n", "col"), ("square", "col")]
        shown = [[one.text for one in row.all("td")] for row in only(page, "tbody").all("tr")]
        assert shown == [[str(n), str(n * n)] for n in range(min(many, 100))]


def test_tables_are_aligned_whatever_a_notebook_does_by_default() -> None:
    left, names = "text-align: left", "text-align: left; vertical-align: top; white-space: nowrap"
    caption = {"style": "text-align: left; font-weight: bold; caption-side: top"}
    for page, first in (
        (elements.facts_table("T", [("a", 1)]), names),
        (elements.columns_table("T", {"a": [1]}), left),
    ):
        assert only(page, "caption").attributes == caption
        assert [only(page, name).attributes["style"] for name in ("th", "td")] == [first, left]
    with pytest.raises(ValueError, match="argument 2"):
        elements.columns_table("T", {"a": [1, 2], "b": [1]})
