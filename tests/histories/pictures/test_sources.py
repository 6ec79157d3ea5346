"""Folder, list of addresses and web search; fetching keeps the rules."""

from __future__ import annotations

import io
import json
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image

from memgauge.errors import InputError
from memgauge.histories.building.pictures import fetching
from memgauge.histories.building.pictures.fetching import Fetcher
from memgauge.histories.building.pictures.photos import RefusedPicture
from memgauge.histories.building.pictures.sources import (
    crawl_candidates,
    folder_candidates,
    search,
    url_candidates,
)


def picture(colour):
    buffer = io.BytesIO()
    Image.new("RGB", (300, 280), colour).save(buffer, "png")
    return buffer.getvalue()


@pytest.fixture
def host():
    """A small web host; `robots` may be changed, `asked` lists the paths in order."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            if self.path == "/robots.txt":
                code, body = server.robots
            elif self.path.startswith("/owl"):
                code, body = 200, picture("red")
            elif self.path == "/text.png":
                code, body = 200, b"no picture"
            elif self.path == "/large.png":
                code, body = 200, b"x" * 5000
            elif self.path in server.moved:
                code, body = 302, b""
            else:
                code, body = 404, b"none"
            self.send_response(code)
            if code == 302:
                self.send_header("Location", server.moved[self.path])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.robots = [], (404, b"")
    server.moved = {"/moved": "ftp://127.0.0.1/x"}
    server.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_folder_by_name(tmp_path):
    for path in ("owl/b.png", "owl/a.png", "owl/notes.txt", "pear/c.png"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(picture("blue"))
    found = list(folder_candidates(tmp_path, "owl"))
    assert [candidate.name.rsplit("/", 1)[1] for candidate in found] == ["a.png", "b.png"]
    assert found[0].open().image.size == (300, 280)
    assert list(folder_candidates(tmp_path, "hot dog")) == []
    with pytest.raises(InputError, match="outside"):
        list(folder_candidates(tmp_path / "owl", "../pear"))
    with pytest.raises(InputError, match="no such folder"):
        list(folder_candidates(tmp_path / "none", "owl"))


def test_folder_with_index(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "x.png").write_bytes(picture("blue"))
    (tmp_path / "out.png").write_bytes(picture("blue"))
    rows = [
        {"file": "x.png", "query": "owl", "license": "CC0-1.0", "author": "A", "url": "http://a.org/x"},
        {"file": "../out.png", "query": "owl"},
        {"file": "x.png", "query": "pear"},
    ]
    (folder / "index.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    first, second = folder_candidates(folder, "owl")
    assert (first.url, first.licence, first.author) == ("http://a.org/x", "CC0-1.0", "A")
    assert first.open()
    with pytest.raises(RefusedPicture) as refusal:
        second.open()
    assert refusal.value.reason == "escape"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{]\n", "line 1 is not JSON"),
        ("[1]\n", "line 1 is not an object"),
        ('{"file": "a.png", "query": "owl"}\n{"file": "a.png"}\n', "row 2 lacks 'query'"),
        ('{"file": 3, "query": "owl"}\n', "row 1 'file' is not text"),
    ],
)
def test_broken_index(tmp_path, text, said):
    (tmp_path / "index.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        list(folder_candidates(tmp_path, "owl"))
    (tmp_path / "index.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as text"):
        list(folder_candidates(tmp_path, "owl"))


def test_addresses(tmp_path, host):
    fetcher = Fetcher(delay=0)
    listing = tmp_path / "list.csv"
    listing.write_text(
        f"url,query,license,author\n{host.base}/owl.png,owl,CC BY 4.0,B\n{host.base}/text.png,owl,,\n"
        f"{host.base}/none.png,owl,,\n{host.base}/owl2.png,pear,,\n"
    )
    good, text, missing = url_candidates(listing, "owl", fetcher)
    assert host.asked == []
    assert good.open().image.getpixel((5, 5)) == (255, 0, 0)
    assert (good.licence, good.author, good.url) == ("CC BY 4.0", "B", f"{host.base}/owl.png")
    for candidate, reason in ((text, "format"), (missing, "fetch")):
        with pytest.raises(RefusedPicture) as refusal:
            candidate.open()
        assert refusal.value.reason == reason
    with pytest.raises(InputError, match="no such list"):
        list(url_candidates(tmp_path / "none.csv", "owl", fetcher))


def test_fetcher_keeps_rules(host, monkeypatch):
    host.robots = (200, b"User-agent: *\nDisallow: /owl-private\n")
    fetcher = Fetcher(delay=0)
    assert fetcher.get(f"{host.base}/owl.png")
    with pytest.raises(InputError, match="robots"):
        fetcher.get(f"{host.base}/owl-private.png")
    assert host.asked.count("/robots.txt") == 1
    assert "/owl-private.png" not in host.asked
    assert Fetcher(delay=0, robots=False).get(f"{host.base}/owl-private.png")
    for url in ("file:///etc/hostname", "ftp://a.org/x", "owl.png", f"{host.base}/moved"):
        with pytest.raises(InputError, match="not a web address"):
            fetcher.get(url)
    monkeypatch.setattr(fetching, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="more than 1,000 bytes"):
        fetcher.get(f"{host.base}/large.png")


def test_rules_hold_after_a_redirect(host):
    host.robots = (200, b"User-agent: *\nDisallow: /owl-private\n")
    host.moved |= {"/a": "/owl.png", "/b": "/owl-private.png", "/loop": "/loop"}
    host.moved |= {"/file": "file:///etc/hostname", "/odd": "http://[::1/x"}
    fetcher = Fetcher(delay=0)
    assert fetcher.get(f"{host.base}/a") == picture("red")
    with pytest.raises(InputError, match=r"owl-private.png: the robots rules"):
        fetcher.get(f"{host.base}/b")
    assert "/owl-private.png" not in host.asked
    with pytest.raises(InputError, match="more than 5 redirects"):
        fetcher.get(f"{host.base}/loop")
    for path in ("/odd", "/file"):
        with pytest.raises(InputError, match=r"n(o|ot a) web address"):
            fetcher.get(host.base + path)
    # To another host (here the same under another name), whose own rules are read first.
    other = host.base.replace("127.0.0.1", "localhost")
    host.moved["/c"] = f"{other}/owl-private.png"
    with pytest.raises(InputError, match=r"localhost.*robots rules"):
        fetcher.get(f"{host.base}/c")
    assert host.asked.count("/robots.txt") == 2


def test_rules_may_ask_for_a_longer_delay(host):
    host.robots = (200, b"User-agent: *\nCrawl-delay: 7\n")
    slept = []
    fetcher = Fetcher(delay=2.0, sleep=slept.append, clock=lambda: 100.0)
    for number in range(2):
        fetcher.get(f"{host.base}/owl{number}.png")
    host.robots = (200, b"User-agent: *\nCrawl-delay: 7000\n")
    fetcher = Fetcher(delay=2.0, sleep=slept.append, clock=lambda: 100.0)
    fetcher.get(f"{host.base}/owl.png")
    assert slept == [7.0, 7.0, 60.0]


def test_odd_addresses_are_refused(tmp_path):
    listing = tmp_path / "list.jsonl"
    rows = [{"url": url, "query": "owl"} for url in ("http://[::1/x.png", "http://a.org:99999/x.png", "", "owl.png")]
    listing.write_text("".join(json.dumps(row) + "\n" for row in rows if row["url"]))
    for found in url_candidates(listing, "owl", Fetcher(delay=0)):
        with pytest.raises(RefusedPicture, match="not a web address"):
            found.open()


def test_a_linked_subfolder_is_not_read(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.png").write_bytes(picture("blue"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "owl").symlink_to(tmp_path / "out")
    (found,) = folder_candidates(tmp_path / "in", "owl")
    with pytest.raises(RefusedPicture) as refusal:
        found.open()
    assert refusal.value.reason == "escape"


def test_a_host_that_fails_is_left_alone(host):
    host.robots = (503, b"")
    with pytest.raises(InputError, match="robots"):
        Fetcher(delay=0).get(f"{host.base}/owl.png")
    with pytest.raises(InputError, match="robots"):
        Fetcher(delay=0, timeout=2).get("http://127.0.0.1:9/x.png")


def test_delay_for_each_host(host):
    now, slept = [100.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    fetcher = Fetcher(delay=2.0, sleep=sleep, clock=lambda: now[0])
    fetcher.get(f"{host.base}/owl.png")  # robots, then the picture
    now[0] += 0.5
    fetcher.get(f"{host.base}/owl2.png")
    now[0] += 5
    fetcher.get(f"{host.base}/owl3.png")
    assert slept == [2.0, 1.5]


def test_crawl(host, monkeypatch):
    (found,) = crawl_candidates("owl", Fetcher(delay=0), find=lambda query, limit: [f"{host.base}/owl.png"][:limit])
    assert found.licence == ""
    assert found.open()
    monkeypatch.setitem(sys.modules, "icrawler", None)
    with pytest.raises((InputError, ValueError), match="icrawler"):
        search("owl", 3)


def test_search_collects_addresses_only(monkeypatch):
    """Against a stand-in with the interface of icrawler 0.6: a crawler that hands tasks to its downloader."""

    class Downloader:
        def __init__(self):
            self.lock, self.fetched_num = threading.Lock(), 0
            self.signal = types.SimpleNamespace(set=lambda reach_max_num: None)

    class Crawler:
        def __init__(self, downloader_cls, storage, log_level):
            self.downloader = downloader_cls()

        def crawl(self, keyword, max_num):
            for index in range(max_num + 3):
                self.downloader.download({"file_url": f"http://a.org/{keyword}/{index}"}, "jpg", timeout=5)

    package, builtin = types.ModuleType("icrawler"), types.ModuleType("icrawler.builtin")
    package.ImageDownloader, builtin.BingImageCrawler = Downloader, Crawler
    package.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "icrawler", package)
    monkeypatch.setitem(sys.modules, "icrawler.builtin", builtin)
    assert search("owl", 2) == ["http://a.org/owl/0", "http://a.org/owl/1"]
