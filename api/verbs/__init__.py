"""The public functions, one module a verb, and what their results have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec.structs import fields

from ..models.workload.expansion import encoded_units

if TYPE_CHECKING:
    import pandas

    from ..models.cluster.cluster import Cluster
    from ..reports.plots import Plots, PlotSource

DocumentT = TypeVar("DocumentT", bound=msgspec.Struct)


# Entries of a list that are written at once.
_ENTRIES_AT_ONCE = 1_000


_encoded = msgspec.json.Encoder(enc_hook=lambda units: list(encoded_units(units))).encode


def _indented(value: object) -> str:
    return msgspec.json.format(_encoded(value), indent=2).decode()


class Result(Generic[DocumentT]):
    """A document, as a dict, as JSON, as YAML, as a table, and as pictures.

    ``cluster`` is the input that it was made of, of which pictures are drawn.
    """

    def __init__(self, document: DocumentT, cluster: Cluster | None = None) -> None:
        # What is written: entries of its lists may be made whenever they are looked at.
        self.written = document
        self.cluster = cluster

    @property
    def document(self) -> DocumentT:
        """The document as data, whose lists are tuples."""
        lazy = {name: tuple(entries) for _, name, entries in self._lists() if not isinstance(entries, tuple)}
        self.written = msgspec.structs.replace(self.written, **lazy) if lazy else self.written
        return self.written

    def _lists(self) -> Iterator[tuple[str, str, Sequence[Any]]]:
        """Yield the lists of the document, with the names of their fields in JSON and in Python."""
        named = ((one.encode_name, one.name, getattr(self.written, one.name)) for one in fields(self.written))
        return (one for one in named if isinstance(one[2], Sequence) and not isinstance(one[2], str))

    def to_dict(self) -> dict[str, Any]:
        """The result document; see ``docs/reference/results.schema.json``."""
        document: dict[str, Any] = msgspec.json.decode(_encoded(self.written))
        return document

    def to_json(self) -> str:
        """The document as indented JSON, equal byte for byte for equal input and seed."""
        return "".join(self.json_parts())

    def json_parts(self) -> Iterator[str]:
        """The text of ``to_json`` in parts: long lists some entries at a time, so that it is never whole in memory."""
        lists = [one for one in self._lists() if len(one[2]) > _ENTRIES_AT_ONCE]
        rest = _indented(msgspec.structs.replace(self.written, **{name: () for _, name, _ in lists}))
        for written, _, entries in lists:
            # Entries of the document itself, and of the mapping below, are indented by two, and nothing else is.
            before, _, after = rest.partition(f'\n  "{written}": []')
            yield f'{before}\n  "{written}": ['
            encoded = encoded_units(entries)
            for first in range(0, len(entries), _ENTRIES_AT_ONCE):
                some = _indented({"": list(islice(encoded, _ENTRIES_AT_ONCE))})
                yield ("," if first else "") + some[len('{\n  "": [') : -len("\n  ]\n}")]
            rest = f"\n  ]{after}"
        yield rest + "\n"

    def to_yaml(self) -> str:
        """The document as YAML."""
        return "".join(self.yaml_parts())

    def yaml_parts(self) -> Iterator[str]:
        """The text of ``to_yaml`` in parts, as ``json_parts``."""
        from ..models.manifests.writer import yaml_parts

        decode = msgspec.json.decode
        document = decode(msgspec.json.encode(self.written, enc_hook=lambda _: ()))
        lazy = [(name, entries) for name, _, entries in self._lists() if entries and not isinstance(entries, tuple)]
        document |= {name: map(decode, map(_encoded, encoded_units(entries))) for name, entries in lazy}
        return yaml_parts([document])

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


class TimedResult(Result[DocumentT]):
    """A result with the ``seconds`` that each side took, and with what was found beside the document."""

    def __init__(
        self, document: DocumentT, seconds: Mapping[str, float], cluster: Cluster | None = None, found: Any = None
    ) -> None:
        super().__init__(document, cluster)
        self.seconds = dict(seconds)
        self._found = found


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
