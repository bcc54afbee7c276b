"""A small API server over HTTP: discovery, and lists with pages; it can refuse kinds and let tokens expire."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

RESOURCE_VERSION = "4711"


def plural(kind):
    lower = kind.lower()
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"


class ListApi:
    """Serves objects; a context that gives its kubeconfig.

    ``versions`` are those of each group, newest first; ``forbidden`` are plurals; ``expiring`` says how often the
    second page of a plural is refused with 410. ``requests`` are the paths that were asked for.
    """

    def __init__(self, objects, folder, *, forbidden=(), expiring=None, versions=None, hidden=()):
        self.objects = [dict(one) for one in objects]
        self.folder = folder
        self.forbidden = set(forbidden)
        self.expiring = dict(expiring or {})
        self.versions = versions or {}
        self.hidden = set(hidden)
        self.requests = []
        self.namespaced = set()

    def __enter__(self):
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                code, body = api.answer(self.path)
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, contexts=("test",)):
        """A file with these contexts, the first of which is in force."""
        address = f"http://127.0.0.1:{self._server.server_address[1]}"
        path = self.folder / "kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": contexts[0],
                    "clusters": [{"name": "c", "cluster": {"server": address}}],
                    "users": [{"name": "u", "user": {}}],
                    "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts],
                }
            )
        )
        return path

    def answer(self, target):
        self.requests.append(target)
        path, query = urlsplit(target).path, parse_qs(urlsplit(target).query)
        if path == "/apis":
            groups = {group: versions for group, versions in self._groups().items() if group}
            listed = [{"name": name, "versions": [{"version": one} for one in groups[name]]} for name in sorted(groups)]
            return 200, {"kind": "APIGroupList", "groups": listed}
        parts = path.strip("/").split("/")
        if parts[0] not in ("api", "apis"):
            # Such as /version, which some builds of kubectl ask for.
            return self._status(404, "NotFound", "the server could not find the requested resource")
        group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
        if version not in self._groups().get(group, ()):
            return self._status(404, "NotFound", "the server could not find the requested resource")
        return self._list(group, version, rest, query) if rest else (200, self._resources(group, version))

    def _groups(self):
        found = {}
        for one in self.objects:
            group, _, version = one["apiVersion"].rpartition("/")
            found.setdefault(group, [version])
        return {**found, **self.versions}

    def _resources(self, group, version):
        kinds = {one["kind"] for one in self.objects if one["apiVersion"].rpartition("/")[0] == group} - self.hidden
        listed = [
            {"name": plural(kind), "kind": kind, "namespaced": self._is_namespaced(kind), "verbs": ["get", "list"]}
            for kind in sorted(kinds)
        ]
        listed += [{**one, "name": f"{one['name']}/status", "verbs": ["get"]} for one in listed]
        return {"kind": "APIResourceList", "groupVersion": f"{group}/{version}".strip("/"), "resources": listed}

    def _is_namespaced(self, kind):
        return any("namespace" in one["metadata"] for one in self.objects if one["kind"] == kind)

    def _list(self, group, version, rest, query):
        namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 2 else None
        name = rest[-1]
        if name in self.forbidden:
            message = f'{name}.{group} is forbidden: User "alice@corp.example" cannot list resource "{name}"'
            return self._status(403, "Forbidden", message)
        found = [one for one in self.objects if plural(one["kind"]) == name and self._in(one, group, namespace)]
        start = int(query.get("continue", ["0"])[0].partition(":")[0])
        if start and self.expiring.get(name, 0) > 0:
            self.expiring[name] -= 1
            return self._status(410, "Expired", "The provided continue parameter is too old")
        size = int(query.get("limit", [len(found) or 1])[0])
        page = [{key: value for key, value in one.items() if key not in ("kind", "apiVersion")} for one in found]
        metadata = {"resourceVersion": RESOURCE_VERSION}
        if start + size < len(found):
            metadata |= {"continue": f"{start + size}:=&", "remainingItemCount": len(found) - start - size}
        kind = f"{found[0]['kind']}List" if found else "List"
        head = {"kind": kind, "apiVersion": f"{group}/{version}".strip("/")}
        return 200, {**head, "metadata": metadata, "items": page[start : start + size]}

    def _in(self, one, group, namespace):
        same = one["apiVersion"].rpartition("/")[0] == group
        return same and (namespace is None or one["metadata"].get("namespace") == namespace)

    @staticmethod
    def _status(code, reason, message):
        head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        return code, {**head, "message": message, "reason": reason, "code": code}
