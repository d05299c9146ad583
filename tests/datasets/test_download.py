import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sticktree.datasets import MissingDataError, load

from .small import DATA, TEXT, make_entry, register

pytest.importorskip("pooch")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404, "Not Found")
            return
        sent = len(body) // 2 if self.path == "/half/small.data" else len(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:sent])

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.files, found.asked = {"/small.data": TEXT.encode()}, []
        found.address = f"http://127.0.0.1:{found.server_port}"
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_what_is_nowhere_is_downloaded_once(server, cache, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/small.data"))
    found = load("small")
    np.testing.assert_array_equal(found.data, DATA)
    assert found.path == cache / "small.data"
    assert found.path.read_text() == TEXT
    np.testing.assert_array_equal(load("small", download=False).data, DATA)
    assert server.asked == ["/small.data"]


def test_nothing_is_asked_for_if_it_is_here(server, tmp_path, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/small.data"))
    (tmp_path / "small.data").write_text(TEXT)
    load("small", folder=tmp_path)
    assert not server.asked


def test_nothing_is_asked_for_unless_it_may_be(server, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/small.data"))
    with pytest.raises(MissingDataError, match="download is False"):
        load("small", download=False)
    assert not server.asked


def test_the_second_address_is_for_when_the_first_has_nothing(server, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/gone", f"{server.address}/small.data"))
    np.testing.assert_array_equal(load("small").data, DATA)
    assert server.asked == ["/gone", "/small.data"]


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("/small.data", TEXT + "4,5,6,c\n", "its checksum is not the one that is known"),
        ("/gone", TEXT, "the server answered 404 Not Found"),
        ("/half/small.data", TEXT, "the connection broke off|its checksum|no connection"),
    ],
)
def test_a_download_that_fails_leaves_nothing(server, cache, monkeypatch, path, text, reason):
    server.files["/half/small.data"] = TEXT.encode()
    register(monkeypatch, make_entry(server.address + path, text=text))
    with pytest.raises(MissingDataError, match=f"was not downloaded: 127.0.0.1: ({reason})"):
        load("small")
    assert not list(cache.iterdir())
    assert server.asked == [path]


def test_offline_the_reason_is_plain(server, cache, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/small.data"))
    server.server_close()
    with pytest.raises(MissingDataError, match=r"downloaded: 127\.0\.0\.1: no connection\n"):
        load("small")
    assert not list(cache.iterdir())


def test_a_file_with_the_known_checksum_but_other_numbers_is_refused(server, monkeypatch):
    other = TEXT.replace("-3", "-4")
    server.files["/small.data"] = other.encode()
    register(monkeypatch, make_entry(f"{server.address}/small.data", text=other))
    with pytest.raises(ValueError, match="must have the numbers of Small, got others"):
        load("small")


def test_a_cache_that_is_no_folder_is_told(server, cache, monkeypatch):
    register(monkeypatch, make_entry(f"{server.address}/small.data"))
    cache.write_text("")
    with pytest.raises(MissingDataError, match=r"downloaded: 127\.0\.0\.1: .*cache"):
        load("small")


def test_without_pooch_the_message_says_how_to_get_it(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingDataError, match=r"needs pooch: .*`pip install sticktree\[data\]`"):
        load("r15")
    assert not cache.exists()
