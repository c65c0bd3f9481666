"""As much of the Kubernetes API as ``kubectl`` needs, over a cluster in memory."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from tests.render.api_cluster import Cluster, Object, RefusedError
from tests.render.api_openapi import TYPE, openapi
from tests.render.kubectls import MINOR

Fault = Literal["drop", "drop-after", "429", "409"] | None
Meddler = Callable[[Cluster, str, str], Fault]
"""Is called before each request that changes something, with its method and path."""

_VERBS = ["get", "list", "patch", "create"]
_OTHERS = {
    "policy": "PodDisruptionBudget/pdb",
    "scheduling.k8s.io": "PriorityClass",
    "storage.k8s.io": "StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment",
    "apps": "Deployment ReplicaSet StatefulSet DaemonSet",
    "batch": "Job",
}
"""Groups of which there is nothing, with their kinds and short names."""


def _list_of(version: str, kinds: str) -> Object:
    resources = []
    for kind in kinds.split():
        kind, _, short = kind.partition("/")
        name = kind.lower().removesuffix("y") + "ie" * kind.endswith("y")
        name += "es" if name.endswith("s") else "s"
        resource: Object = {"name": name, "singularName": "", "kind": kind, "verbs": _VERBS}
        resource["namespaced"] = kind == "Pod"
        if short:
            resource["shortNames"] = [short]
        resources.append(resource)
    return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}


_CLAIMS = "/api/v1/persistentvolumeclaims"
_CORE = "Pod Node Namespace PersistentVolumeClaim/pvc PersistentVolume/pv"
_DISCOVERY: dict[str, Object] = {
    "/version": dict(zip(("major", "minor"), MINOR.split("."), strict=True))
    | {"gitVersion": f"v{MINOR}.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {"name": group, "versions": [version], "preferredVersion": version}
            for group in _OTHERS
            for version in [{"groupVersion": f"{group}/v1", "version": "v1"}]
        ],
    },
    "/api/v1": _list_of("v1", _CORE),
    **{f"/apis/{group}/v1": _list_of(f"{group}/v1", kinds) for group, kinds in _OTHERS.items()},
}


def no_meddling(cluster: Cluster, method: str, path: str) -> Fault:
    """Let everything be."""
    return None


def made_up_config(server: str) -> str:
    """Write a kubeconfig for a server."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "made-up",
            "clusters": [{"name": "made-up", "cluster": {"server": server}}],
            "contexts": [{"name": "made-up", "context": {"cluster": "made-up", "user": "nobody"}}],
            "users": [{"name": "nobody", "user": {}}],
        }
    )


@contextlib.contextmanager
def serving(cluster: Cluster, folder: Path, meddler: Meddler = no_meddling) -> Iterator[Path]:
    """Serve a cluster; yields a kubeconfig for it."""
    lock = threading.Lock()

    class Handler(_Handler):
        the_cluster, the_meddler, the_lock = cluster, staticmethod(meddler), lock

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    path = folder / "kubeconfig"
    path.write_text(made_up_config(address))
    try:
        yield path
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    the_cluster: Cluster
    the_meddler: Meddler
    the_lock: threading.Lock
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path in _DISCOVERY:
            return self._answer(200, _DISCOVERY[path])
        if path == "/openapi/v2":
            return self._send(200, openapi("Pod", "Node"), TYPE)
        with self.the_lock:
            return self._try(lambda: self._read(path))

    def do_POST(self) -> None:
        self._change()

    def do_PATCH(self) -> None:
        self._change()

    def _change(self) -> None:
        body = json.loads(self._body())
        url = urlsplit(self.path)
        dry = parse_qs(url.query).get("dryRun") == ["All"]
        with self.the_lock:
            fault = self.the_meddler(self.the_cluster, self.command, url.path)
            if fault == "drop":
                return self._hang_up()
            if fault in ("429", "409"):
                reason = "TooManyRequests" if fault == "429" else "Conflict"
                return self._try(lambda: _raise(RefusedError(int(fault), reason, "not now")))
            if fault == "drop-after":
                with contextlib.suppress(RefusedError):
                    self._write(url.path, body, dry)
                return self._hang_up()
            return self._try(lambda: self._write(url.path, body, dry))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _try(self, work: Callable[[], Object]) -> None:
        try:
            self._answer(200 if self.command != "POST" else 201, work())
        except RefusedError as no:
            status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
            status |= {"message": no.message, "reason": no.reason, "code": no.code}  # type: ignore[dict-item]
            self._answer(no.code, status)

    def _read(self, path: str) -> Object:
        cluster = self.the_cluster
        if path.startswith("/apis/") or path in ("/api/v1/persistentvolumes", _CLAIMS):
            return {"kind": "List", "apiVersion": "v1", "items": []}
        match path.split("/")[3:]:
            case ["nodes"]:
                return {"kind": "NodeList", "apiVersion": "v1", "items": [*cluster.nodes.values()]}
            case ["nodes", name] if name in cluster.nodes:
                return cluster.nodes[name]
            case ["namespaces", "kube-system"]:
                metadata = {"name": "kube-system", "uid": cluster.uid}
                return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata}
            case ["namespaces"]:
                system = self._read("/api/v1/namespaces/kube-system")
                return {"kind": "NamespaceList", "apiVersion": "v1", "items": [system]}
            case ["pods"]:
                return {"kind": "PodList", "apiVersion": "v1", "items": [*cluster.pods.values()]}
            case ["namespaces", namespace, "pods"]:
                cluster.look()
                pods = cluster.pods.values()
                items = [p for p in pods if p["metadata"]["namespace"] == namespace]
                return {"kind": "PodList", "apiVersion": "v1", "items": items}
            case ["namespaces", namespace, "pods", name]:
                return cluster.by_name(namespace, name)
        raise RefusedError(404, "NotFound", "the server could not find the requested resource")

    def _write(self, path: str, body: Any, dry: bool) -> Object:
        cluster = self.the_cluster
        match path.split("/")[3:]:
            case ["namespaces", namespace, "pods", name, "eviction"]:
                cluster.evict(namespace, name, body, dry=dry)
                return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
            case ["namespaces", namespace, "pods", name]:
                return cluster.patch_pod(namespace, name, body, dry=dry)
            case ["nodes", name]:
                return cluster.patch_node(name, body, dry=dry)
        raise RefusedError(404, "NotFound", "the server could not find the requested resource")

    def _answer(self, code: int, body: Object) -> None:
        self._send(code, json.dumps(body).encode(), "application/json")

    def _send(self, code: int, data: bytes, form: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _raise(error: Exception) -> Object:
    raise error
