"""The public functions, one module a verb, and what their results have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec.structs import fields

if TYPE_CHECKING:
    import pandas

    from ..models.cluster.cluster import Cluster
    from ..reports.plots import Plots, PlotSource

DocumentT = TypeVar("DocumentT", bound=msgspec.Struct)


# Entries of a list that are written at once.
_ENTRIES_AT_ONCE = 1_000


def _indented(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


class Result(Generic[DocumentT]):
    """A document, as a dict, as JSON, as YAML, as a table, and as pictures.

    ``cluster`` is the input that it was made of, of which pictures are drawn.
    """

    def __init__(self, document: DocumentT, cluster: Cluster | None = None) -> None:
        self.document = document
        self.cluster = cluster

    def to_dict(self) -> dict[str, Any]:
        """The result document; see ``docs/reference/results.schema.json``."""
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.document))
        return document

    def to_json(self) -> str:
        """The document as indented JSON, equal byte for byte for equal input and seed."""
        return "".join(self.json_parts())

    def json_parts(self) -> Iterator[str]:
        """The text of ``to_json`` in parts: long lists some entries at a time, so that it is never whole in memory."""
        named = ((one.encode_name, one.name, getattr(self.document, one.name)) for one in fields(self.document))
        lists = [one for one in named if isinstance(one[2], tuple) and len(one[2]) > _ENTRIES_AT_ONCE]
        rest = _indented(msgspec.structs.replace(self.document, **{name: () for _, name, _ in lists}))
        # Entries of the document itself are indented by two, and nothing else is.
        empty = [(f'\n  "{written}": []', entries) for written, _, entries in lists]
        if not all(text in rest for text, _ in empty):
            empty, rest = [], _indented(self.document)
        for text, entries in empty:
            before, _, after = rest.partition(text)
            yield before + text[:-1]
            for first in range(0, len(entries), _ENTRIES_AT_ONCE):
                some = _indented(entries[first : first + _ENTRIES_AT_ONCE])[1:-2]
                yield ("," if first else "") + some.replace("\n", "\n  ")
            rest = f"\n  ]{after}"
        yield rest + "\n"

    def to_yaml(self) -> str:
        """The document as YAML."""
        from ..models.manifests.writer import to_yaml

        return to_yaml([self.to_dict()])

    def to_frame(self) -> pandas.DataFrame:
        """The main table of the result."""
        raise NotImplementedError

    def _frame(self, rows: Iterable[Sequence[object]], columns: Sequence[str]) -> pandas.DataFrame:
        """Make a frame; pandas is loaded when there is one to be made."""
        import pandas

        return pandas.DataFrame(rows, columns=list(columns))

    @property
    def plot(self) -> Plots:
        """The pictures: ``plot()`` draws the natural one, ``plot.mosaic()`` and others those of that name."""
        from ..reports.plots import Plots

        return Plots(self._plot_source())

    def report(self, path: str | Path) -> None:
        """Write the result as one HTML file that needs nothing else, which appears when it is complete.

        It holds the verdict, pictures and tables of the result, and its document.

        Raises
        ------
        ValueError
            One line, for a file that is no ``.html``, a folder that is not there, or without the extra ``report``.
        OSError
            If the file cannot be written.

        """
        from ..reports.report import write_report

        write_report(self._plot_source(), Path(path))

    def _plot_source(self) -> PlotSource:
        """What pictures are drawn from."""
        from ..reports.plots import PlotSource

        return PlotSource(self.document, self.cluster)

    def summary(self) -> str:
        """The result in one line."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def reasons(self) -> Iterable[str]:
        """Lines that say why something is not as asked; none if all is."""
        return ()

    def _shown_frames(self) -> Iterable[pandas.DataFrame]:
        """The tables that notebooks show."""
        return (self.to_frame(),)

    def _repr_html_(self) -> str:
        tables = (str(frame.to_html(index=False)) for frame in self._shown_frames())
        reasons = escape("\n".join(self.reasons()))
        below = [f"<pre>{reasons}</pre>"] if reasons else []
        return "\n".join((f"<p>{escape(self.summary())}</p>", *tables, *below))


class ResultWithManifests(Result[DocumentT]):
    """A result with claims that were allocated."""

    def __init__(
        self,
        document: DocumentT,
        manifests: Callable[[], Iterable[dict[str, Any]]] = list,
        cluster: Cluster | None = None,
    ) -> None:
        super().__init__(document, cluster)
        self._manifests = manifests

    def manifests(self) -> list[dict[str, Any]]:
        """The allocated claims as manifests, as read or as made from templates, plus ``status.allocation``."""
        return list(self.manifest_stream())

    def manifest_stream(self) -> Iterable[dict[str, Any]]:
        """What ``manifests`` returns, one after the other, each made when it is asked for."""
        return self._manifests()


ResultT = TypeVar("ResultT", bound=Result[Any])


class Interrupted(KeyboardInterrupt, Generic[ResultT]):
    """Ctrl-C during a verb; ``result`` is the best there was by then, and is verified."""

    def __init__(self, result: ResultT) -> None:
        super().__init__(f"interrupted; result holds the best by then: {result!r}")
        self.result = result
