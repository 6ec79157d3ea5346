"""Gathering photographs: every refusal is counted, none is kept twice, a stopped one goes on; and who gets which."""

from __future__ import annotations

import json
import sys
import threading
import types
from collections import Counter
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from photo_folders import LICENCE, made_photo, photo_folder, with_index
from PIL import Image, ImageDraw, ImageFont

from memgauge.errors import InputError
from memgauge.histories.building.photographs import Ledger, Wanted, ledger, placed, used
from memgauge.histories.building.pictures import album
from memgauge.histories.building.pictures.album import Album, Gathering, Photograph, gather, gathered, read_album
from memgauge.histories.building.pictures.channels import Channels
from memgauge.histories.building.pictures.fetching import Fetcher
from memgauge.histories.building.pictures.filter import Selector, Thresholds
from memgauge.histories.building.pictures.options import PhotoOptions
from memgauge.histories.building.pictures.sources import Source, crawl_candidates, folder_source, url_source

NAMES = ("owl", "pear", "hot dog")


def files(folder):
    return sorted(path.name for path in (folder / "images").rglob("*.jpg"))


def looked(tmp_path, source, licence="", **options):
    how = Gathering(source, Selector(trust=True, **options), licence, NAMES)
    return gather(tmp_path / "H" / "images", tmp_path / "H" / ".build", how)


def counted(found):
    return {reason: count for reason, count in found.counts.items() if not reason.startswith("note: ")}


def test_every_refusal_is_counted(tmp_path):
    folder = photo_folder(tmp_path / "in", each=3, names=["owl", "pear"])
    outside = tmp_path / "outside.jpg"
    made_photo(99).save(outside)
    owl = folder / "owl"
    (owl / "cut.jpg").write_bytes((owl / "0.jpg").read_bytes()[:900])
    (owl / "text.png").write_text("no picture")
    (owl / "link.jpg").symlink_to(outside)
    (owl / "dangling.jpg").symlink_to(tmp_path / "nothing.jpg")
    Image.new("1", (8000, 5000)).save(owl / "large.png")
    made_photo(50).save(owl / "moving.gif", save_all=True, append_images=[made_photo(51)])
    made_photo(52, (200, 300)).save(owl / "small.jpg")
    made_photo(53, (1300, 300)).save(owl / "long.jpg")
    Image.new("RGB", (300, 300)).save(owl / "even.jpg")
    (owl / "same.jpg").write_bytes((owl / "0.jpg").read_bytes())
    made_photo(0).save(owl / "again.png")  # a photograph that is there as a JPEG file with other pixels
    (folder / "pear" / "owl.jpg").write_bytes((owl / "1.jpg").read_bytes())
    found = looked(tmp_path, folder_source(folder), LICENCE)
    assert counted(found) == {
        "broken": 1, "format": 1, "escape": 2, "huge": 1, "animated": 1, "small": 1, "aspect": 1, "blurred": 1,
        "repeats pixels": 2, "repeats look": 1, "kept": 6,
    }  # fmt: skip
    assert found.candidates == sum(counted(found).values()) == 18
    assert {name: len(photographs) for name, photographs in found.photographs.items()} == dict(
        zip(NAMES, (3, 3, 0), strict=True)
    )
    for photograph in (p for some in found.photographs.values() for p in some):
        with Image.open(tmp_path / "H" / "images" / photograph.file) as image:
            assert image.size == (photograph.width, photograph.height)
    assert len(files(tmp_path / "H")) == 6
    assert str(tmp_path) not in "".join(p.read_text() for p in (tmp_path / "H" / ".build").rglob("*.json"))


def test_licences_and_references(tmp_path):
    folder = photo_folder(tmp_path / "in", each=6, names=["owl"])
    rows = [
        {"file": "owl/0.jpg", "license": "CC BY-SA 4.0", "url": "https://A.org/0?utm_source=x", "author": "Ann"},
        {"file": "owl/1.jpg", "license": "CC BY-NC 4.0", "url": "https://a.org/1"},
        {"file": "owl/2.jpg", "url": "https://a.org/2"},
        {"file": "owl/3.jpg"},
        {"file": "owl/4.jpg", "license": "CC0-1.0", "url": "https://a.org/0"},
        {"file": "owl/none.jpg", "license": "CC0-1.0"},
    ]
    with_index(folder, [{**row, "query": "owl"} for row in rows])
    found = looked(tmp_path / "strict", folder_source(folder))
    assert counted(found) == {"kept": 1, "licence": 3, "repeats url": 1, "missing": 1}
    (kept,) = found.photographs["owl"]
    assert (kept.licence, kept.url, kept.author) == ("cc-by-sa-4.0", "https://a.org/0", "Ann")
    assert not kept.by_reference
    found = looked(tmp_path / "reference", folder_source(folder), keep_unlicensed=True)
    assert counted(found) == {"kept": 3, "licence": 1, "repeats url": 1, "missing": 1}  # one has no address
    assert [p.url for p in found.photographs["owl"] if p.by_reference] == ["https://a.org/1", "https://a.org/2"]
    found = looked(tmp_path / "stated", folder_source(folder), "cc0-1.0")
    assert counted(found) == {"kept": 3, "licence": 1, "repeats url": 1, "missing": 1}


class Shade:
    def __init__(self, channel):
        self.channel = channel

    def score(self, photo, query):
        return photo.image.getpixel((2, 2))[0] / 255


def test_channels_decide_and_rank(tmp_path, monkeypatch):
    folder = photo_folder(tmp_path / "in", each=30, names=["owl"])
    options = PhotoOptions("folder", str(folder), Channels("a", "b"), licence="cc0-1.0")
    monkeypatch.setattr(Channels, "load", lambda self: [Shade(name) for name in self.running])
    monkeypatch.setattr(album, "MOST_KEPT", 5)

    def kept(name, selector):
        how = Gathering(folder_source(folder), selector, "cc0-1.0", ("owl",))
        found = gather(tmp_path / name / "images", tmp_path / name / ".build", how)
        return counted(found), found.photographs["owl"]

    # Without captions no photograph passes, nor fails that captions might save.
    counts, photographs = kept("two", options.gathering().selector)
    assert set(counts) <= {"fail", "undecided"}
    assert photographs == ()
    three = PhotoOptions("folder", str(folder), Channels("a", "b", "c", "d", Thresholds(0.5, 0.6, 0.7)))
    counts, photographs = kept("three", three.gathering().selector)
    scores = [made_photo(n).getpixel((2, 2))[0] / 255 for n in range(30)]
    passing = sorted((s for s in scores if s >= 0.6), reverse=True)
    assert counts["kept"] == 5
    assert counts["more than needed"] == len(passing) - 5
    assert [p.scores["clip"] for p in photographs] == pytest.approx(
        passing[:5], abs=0.03
    )  # JPEG moves a shade a little


def test_a_stopped_gathering_goes_on_with_the_next_name(tmp_path):
    folder = photo_folder(tmp_path / "in", each=2, names=["owl", "pear"])
    (folder / "pear" / "owl.jpg").write_bytes((folder / "owl" / "1.jpg").read_bytes())
    whole = looked(tmp_path / "whole", folder_source(folder), LICENCE)
    asked = []

    def find(query):
        asked.append(query)
        if query == "pear" and asked.count("pear") == 1:
            raise InputError("the source went away")
        return folder_source(folder).find(query)

    with pytest.raises(InputError, match="went away"):
        looked(tmp_path / "twice", Source("folder", find), LICENCE)
    assert not gathered(tmp_path / "twice" / "H" / ".build", NAMES)
    again = looked(tmp_path / "twice", Source("folder", find), LICENCE)
    assert asked == ["owl", "pear", "pear", "hot dog"]
    assert again == whole
    assert counted(again)["repeats pixels"] == 1  # of a photograph of the name that was done before
    assert files(tmp_path / "twice" / "H") == files(tmp_path / "whole" / "H")
    (tmp_path / "twice" / "H" / ".build" / "photographs" / "owl.json").write_text("{")
    with pytest.raises(InputError, match=r"owl.json: cannot be read"):
        read_album(tmp_path / "twice" / "H" / ".build", NAMES)


def test_candidates_beyond_the_bound_are_counted(tmp_path, monkeypatch):
    folder = photo_folder(tmp_path / "in", each=7, names=["owl"])
    monkeypatch.setattr(album, "MOST_LOOKED_AT", 4)
    assert counted(looked(tmp_path, folder_source(folder), LICENCE)) == {"kept": 4, "not looked at": 3}


@pytest.fixture
def host(tmp_path):
    """A web host of a folder of photographs."""
    folder = photo_folder(tmp_path / "web", each=2, names=["owl", "pear"])

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_addresses(tmp_path, host):
    rows = [f"{host}/{name}/{n}.jpg,{name},CC BY 4.0" for name in ("owl", "pear") for n in (0, 1, 2)]
    listing = tmp_path / "list.csv"
    listing.write_text("\n".join(["url,query,license", *rows, f"{host}/owl/0.jpg#again,pear,CC BY 4.0"]) + "\n")
    found = looked(tmp_path, url_source(listing, Fetcher(delay=0)))
    assert counted(found) == {"kept": 4, "fetch": 2, "repeats url": 1}
    assert [p.url for p in found.photographs["pear"]] == [f"{host}/pear/0.jpg", f"{host}/pear/1.jpg"]


def test_a_web_search_is_kept_by_reference(tmp_path, host, monkeypatch):
    """Against a stand-in with the interface of icrawler 0.6.10; the photographs come from the local host."""

    class Downloader:
        def __init__(self):
            self.lock, self.fetched_num = threading.Lock(), 0
            self.signal = types.SimpleNamespace(set=lambda reach_max_num: None)

    class Crawler:
        def __init__(self, downloader_cls, storage, log_level):
            self.downloader = downloader_cls()

        def crawl(self, keyword, max_num):
            for number in range(3):
                self.downloader.download({"file_url": f"{host}/{keyword}/{number}.jpg"}, "jpg", 5, 3, overwrite=False)

    package, builtin = types.ModuleType("icrawler"), types.ModuleType("icrawler.builtin")
    package.ImageDownloader, builtin.BingImageCrawler = Downloader, Crawler
    package.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "icrawler", package)
    monkeypatch.setitem(sys.modules, "icrawler.builtin", builtin)
    source = Source("crawl", lambda query: crawl_candidates(query, Fetcher(delay=0)))
    found = looked(tmp_path, source, keep_unlicensed=True)
    assert counted(found) == {"kept": 4, "fetch": 5}
    assert all(p.by_reference and p.licence == "" and p.source == "crawl" for p in used_of(found))


def used_of(found):
    return [photograph for some in found.photographs.values() for photograph in some]


@pytest.mark.slow
def test_watermarks_are_read(tmp_path):
    pytest.importorskip("rapidocr_onnxruntime")
    folder = photo_folder(tmp_path / "in", each=1, names=["owl"])
    for number, said in enumerate(("shutterstock", "Farm stock")):
        image = made_photo(70 + number, (640, 480))
        ImageDraw.Draw(image).rectangle((40, 180, 600, 300), fill="white")
        ImageDraw.Draw(image).text((60, 200), said, fill="black", font=ImageFont.load_default(64))
        image.save(folder / "owl" / f"{said}.png")
    options = PhotoOptions("folder", str(folder), trust=True, licence="cc0-1.0", watermarks=True)
    how = replace(options.gathering(), names=("owl",))
    found = gather(tmp_path / "H" / "images", tmp_path / "H" / ".build", how)
    assert found.counts == {"kept": 2, "watermark": 1}


def photograph(name, number):
    return Photograph(name, f"{name}-{number}", 300, 280 + number, "folder", "", "cc0-1.0", "", "", "", {}, False)


def albums(sizes):
    return Album({name: tuple(photograph(name, n) for n in range(size)) for name, size in sizes.items()}, {})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=6), max_size=25),
    st.integers(0, 9),
    st.integers(1, 3),
)
def test_who_gets_which(histories, size, reuse):
    """Whatever is asked for: own photographs once in all, decoys at most `reuse` times, none twice in a history."""
    found = ledger(albums({"a": size, "b": 4}), 7, reuse)
    own, decoys = Counter(), Counter()
    for number, pictures in enumerate(histories):
        wanted = [Wanted(str(i), name, mine) for i, (name, mine) in enumerate(pictures)]
        lacking = found.lacks(wanted)
        if lacking:
            assert lacking in "ab"
            continue
        found.take(str(number), wanted)
        given_ = found.given[str(number)]
        assert [given_[w.mark].name for w in wanted] == [w.name for w in wanted]
        assert len({p.file for p in given_.values()}) == len(wanted)
        for w in wanted:
            (own if w.own else decoys)[given_[w.mark].file] += 1
    assert max(own.values(), default=1) == 1
    assert max(decoys.values(), default=0) <= reuse
    assert not own.keys() & decoys.keys()
    assert [p.file for p in used(found.given.values())] == sorted({*own, *decoys})


def test_halves_follow_from_the_seed_and_the_last_one_is_given_out():
    found = ledger(albums({"a": 5}), 1, 2)
    assert (len(found.own["a"]), len(found.decoys["a"])) == (3, 2)
    assert found.own == ledger(albums({"a": 5}), 1, 2).own
    orders = {tuple(p.file for p in ledger(albums({"a": 5}), seed, 2).own["a"]) for seed in range(8)}
    assert len(orders) > 1
    for number in range(3):
        assert found.lacks([Wanted("x", "a", True)]) == ""
        found.take(f"own {number}", [Wanted("x", "a", True)])
    assert found.lacks([Wanted("x", "a", True)]) == "a"
    for number in range(2):
        pair = [Wanted("x", "a", False), Wanted("y", "a", False)]
        assert found.lacks(pair) == ""
        found.take(f"decoys {number}", pair)
    assert found.lacks([Wanted("x", "a", False)]) == "a"
    assert found.lacks([Wanted("x", "b", False)]) == "b"
    assert isinstance(found, Ledger)


def test_marks_become_files():
    body = {
        "sessions": [{"turns": [{"content": "c", "images": [["m", "said"], ["drawn.png", "said"]]}]}],
        "meta": {
            "critical_files": ["m"],
            "critical_by_order_files": ["drawn.png", "m"],
            "sessions": [{"facts": [{"pictures": [{"file": "m", "width": 0, "height": 0, "kind": "entity"}]}]}],
        },
    }
    before = json.dumps(body)
    after = placed(body, {"m": photograph("a", 1)})
    assert json.dumps(body) == before
    assert json.loads(json.dumps(after)) == json.loads(
        before.replace('"m"', '"a-1"').replace(": 0, ", ": 300, ", 1).replace('"height": 0', '"height": 281')
    )
