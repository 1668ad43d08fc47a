"""Archives of every kind become the tree that a container engine would show."""

import errno
import json
import os
import random
import shutil
import tarfile
import threading
from functools import partial
from pathlib import Path

import pytest

from code_env import ImageError, ImageNotPrepared
from code_env.caches import folders
from code_env.images import ImageCache, prepare_images
from images.archives_made import (
    HERE,
    PACKED,
    config,
    docker_archive,
    layer,
    oci_layout,
    packed_tar,
    special,
    with_headers,
)
from support import PATIENCE_S

BASE = layer(
    ("usr", None),
    ("usr/bin", None),
    ("usr/bin/tool", b"old"),
    ("usr/share", None),
    ("usr/share/a", b"a"),
    ("usr/share/b", b"b"),
    ("etc/name", b"base"),
    ("bin", "usr/bin"),
    ("opt/full/inner/file", b"gone"),
    ("opt/link", "/etc/name"),
    ("opt/file", b"a file"),
    special("usr/bin/same", tarfile.LNKTYPE, "usr/bin/tool"),
    special("dev/null", tarfile.CHRTYPE),
    special("usr/bin/root", tarfile.REGTYPE, mode=0o4755),
)
ABOVE = layer(
    ("usr/bin/tool", b"new"),
    ("usr/share/.wh.a", b""),
    ("opt/full/.wh..wh..opq", b""),
    ("opt/full/fresh", b"fresh"),
    ("opt/link", b"a file now"),
    ("opt/file/inside", b"a directory now"),
)
EXPECTED = {
    "usr/bin/tool": b"new",
    "usr/bin/same": b"old",
    "usr/bin/root": b"",
    "usr/share/b": b"b",
    "etc/name": b"base",
    "opt/full/fresh": b"fresh",
    "opt/link": b"a file now",
    "opt/file/inside": b"a directory now",
}

KINDS = {
    "an OCI layout": lambda path, packed: oci_layout(path / "layout", [BASE, ABOVE], ["A=1=2"], packed),
    "a tar of an OCI layout": lambda path, packed: packed_tar(
        path / "layout.tar", oci_layout(path / "layout", [BASE, ABOVE], ["A=1=2"], packed)
    ),
    "docker save": lambda path, packed: docker_archive(path / "saved.tar", [BASE, ABOVE], ["A=1=2"], packed),
}


def files_of(root):
    paths = [Path(place, name) for place, _, names in os.walk(root) for name in names]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@pytest.fixture
def cache(tmp_path):
    return ImageCache(tmp_path / "cache")


@pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("kind", KINDS)
def test_layers_are_laid_over_each_other(kind, packed, tmp_path, cache):
    path = KINDS[kind](tmp_path, packed)
    with pytest.raises(ImageNotPrepared, match=r"run `code-env prepare SUITE`"):
        cache.find(str(path))
    (image,), unpacked = prepare_images([str(path), str(path)], cache=cache)
    assert (unpacked, image.variables) == (1, {"A": "1=2"})
    root = image.root
    assert files_of(root) == EXPECTED
    assert os.readlink(f"{root}/bin") == "usr/bin"
    assert image.size_bytes == sum(map(len, EXPECTED.values()))
    for place, directories, names in os.walk(root):  # Programs can read each file.
        for name in [*directories, *names]:
            mode = os.lstat(os.path.join(place, name)).st_mode
            assert mode & 0o7044 == 0o044, name
    assert prepare_images([str(path)], cache=cache) == ([image], 0)
    assert image.shown == ["/bin", "/etc", "/opt", "/usr"]


@pytest.mark.parametrize("packed", PACKED)
def test_a_tar_of_a_root_file_system_is_unpacked(packed, tmp_path, cache):
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/name").write_text("here")
    path = packed_tar(tmp_path / "root.tar", tmp_path / "root", packed)
    (image,), _ = prepare_images([str(path)], cache=cache)
    assert files_of(image.root) == {"etc/name": b"here"}


def test_a_directory_is_used_as_it_is(tmp_path, cache):
    (tmp_path / "root/etc").mkdir(parents=True)
    image = cache.find(str(tmp_path / "root"))
    assert (image.root, image.key) == (str(tmp_path / "root"), "")
    assert prepare_images([str(tmp_path / "root")], cache=cache) == ([image], 0)
    assert not cache.directory.exists()


def test_images_share_their_layers(tmp_path, cache):
    one = docker_archive(tmp_path / "one.tar", [BASE])
    two = docker_archive(tmp_path / "two.tar", [BASE, ABOVE])
    images, _ = prepare_images([str(one), str(two)], cache=cache)
    assert len({os.stat(f"{image.root}/etc/name").st_ino for image in images}) == 1
    assert len(cache.layers.entries()) == 2
    cache.layers.prune(0)
    assert files_of(images[1].root) == EXPECTED


def test_an_image_can_have_a_layer_twice(tmp_path, cache):
    """As each second WORKDIR of a build by Docker makes the same empty layer."""
    path = docker_archive(tmp_path / "one.tar", [BASE, layer(), ABOVE, layer()])
    made = []
    thread = threading.Thread(target=lambda: made.append(cache.prepare(str(path))[0]), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert [files_of(image.root) for image in made] == [EXPECTED]


def test_an_image_can_have_two_names(tmp_path, cache):
    image, _ = cache.prepare(str(with_entries(oci_layout(tmp_path / "layout", [BASE, ABOVE]), {})))
    assert files_of(image.root) == EXPECTED


def test_an_older_archive_has_links_to_layers(tmp_path, cache):
    layers = {"1/layer.tar": BASE, "2/layer.tar": "../1/layer.tar", "3/layer.tar": ABOVE}
    manifest = json.dumps([{"Config": "c", "Layers": [*layers]}]).encode()
    about = config([BASE, BASE, ABOVE], ())
    (tmp_path / "x.tar").write_bytes(layer(("manifest.json", manifest), ("c", about), *layers.items()))
    assert files_of(cache.prepare(str(tmp_path / "x.tar"))[0].root) == EXPECTED


def test_the_last_of_several_members_of_a_name_counts(tmp_path, cache):
    hard = special("file", tarfile.LNKTYPE, "file")
    one = layer(
        ("a", b"a file"), ("a", None), ("a/b", b"2"), ("c", "a"), ("c", None), ("c/d", b"4"), ("file", b"5"), hard
    )
    two = layer(("a", b"1"), ("c", None), ("c", b"3"))
    images = [
        cache.prepare(str(docker_archive(tmp_path / f"{n}.tar", [one, *more])))[0] for n, more in ((0, ()), (1, [two]))
    ]
    assert files_of(images[0].root) == {"a/b": b"2", "c/d": b"4", "file": b"5"}
    assert files_of(images[1].root) == {"a": b"1", "c": b"3", "file": b"5"}


def test_a_file_keeps_the_time_of_its_last_change(tmp_path, cache):
    path = docker_archive(
        tmp_path / "one.tar", [with_headers(mtime="1000000000.5"), with_headers(path="b", mtime="1e30")]
    )
    image, _ = cache.prepare(str(path))
    assert os.stat(f"{image.root}/a").st_mtime == 1000000000.5
    assert os.stat(f"{image.root}/b").st_size == 0


def test_a_file_of_a_layout_makes_no_layout(tmp_path, cache):
    (tmp_path / "root.tar").write_bytes(layer(("index.json", b"{}")))
    assert files_of(cache.prepare(str(tmp_path / "root.tar"))[0].root) == {"index.json": b"{}"}


def test_an_archive_that_has_changed_is_another_image(tmp_path, cache):
    path = docker_archive(tmp_path / "one.tar", [BASE])
    prepare_images([str(path)], cache=cache)
    docker_archive(path, [BASE, ABOVE])
    with pytest.raises(ImageNotPrepared):
        cache.find(str(path))
    ((image,), unpacked) = prepare_images([str(path)], cache=cache)
    assert (unpacked, files_of(image.root)) == (1, EXPECTED)


@pytest.mark.parametrize("gone", ["usr/share/b", "etc", "."])
def test_an_image_that_lost_a_part_is_made_again(gone, tmp_path, cache, monkeypatch):
    path = str(docker_archive(tmp_path / "one.tar", [BASE, ABOVE]))
    image, _ = cache.prepare(path)
    for tree in (Path(image.root), *(one.path for one in cache.layers.entries())):
        lost = tree / gone
        (lost.unlink if lost.is_file() else partial(shutil.rmtree, lost, ignore_errors=True))()
    monkeypatch.setattr(folders, "_known_whole", set())  # As in another process.
    with pytest.raises(ImageNotPrepared, match="or parts of it are gone; run `code-env prepare SUITE`"):
        cache.find(path)
    image, made = cache.prepare(path)
    assert (files_of(image.root), made) == (EXPECTED, True)


@pytest.mark.parametrize("packed", ["plain", "gzip"])
def test_a_full_disk_is_an_error_of_the_cache(packed, tmp_path, cache, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    path = docker_archive(tmp_path / "one.tar", [BASE])
    path.write_bytes(PACKED[packed](path.read_bytes()))
    with pytest.raises(ImageError, match=r"cannot be written: .*No space left.*\$CODE_ENV_CACHE names another"):
        cache.prepare(str(path))


def test_the_cache_is_bounded(tmp_path, cache):
    paths = [docker_archive(tmp_path / f"{n}.tar", [layer((f"{n}", bytes(1000)))]) for n in range(3)]
    images, _ = prepare_images(map(str, paths), cache=cache)
    for age, image in enumerate(images):
        os.utime(cache.directory / f"{image.key}.lock", (age, age))
    with cache.hold(images[0]):
        assert cache.prune(1000) == [images[1], images[2]]
    assert cache.prune(0) == [images[0]]
    assert list(cache.directory.iterdir()) == []


def damaged(path):
    file = docker_archive(path / "damaged.tar", [BASE])
    data = file.read_bytes()
    file.write_bytes(data.replace(b"base", b"bass", 1))
    return file


def two_images(path):
    image = {"Config": "config.json", "Layers": []}
    file = path / "two.tar"
    file.write_bytes(layer(("manifest.json", str([image | {"RepoTags": ["a:1"]}, image]).replace("'", '"').encode())))
    return file


def escaping(name, *members):
    return lambda path: docker_archive(path / f"{name}.tar", [layer(*members)])


def text(path):
    (path / "text").write_text("no archive at all")
    return path / "text"


def with_a_path_for_a_digest(path):
    inside = json.dumps({"rootfs": {"diff_ids": ["sha256:../../evil"]}}).encode()
    manifest = json.dumps([{"Config": "c", "Layers": ["l"]}]).encode()
    file = path / "digest.tar"
    file.write_bytes(layer(("manifest.json", manifest), ("c", inside), ("l", BASE)))
    return file


def changed_configuration(path):
    layout = oci_layout(path / "layout", [BASE], ["A=1"])
    for file in (layout / "blobs/sha256").iterdir():
        file.write_bytes(file.read_bytes().replace(b'"A=1"', b'"A=2"'))
    return layout


def with_entries(layout, *more):
    """Add entries to the index of a layout; what they lack is as in the first one."""
    index = json.loads((layout / "index.json").read_text())
    (first,) = index["manifests"]
    named = {"annotations": {"org.opencontainers.image.ref.name": "two"}}
    index["manifests"] += [first | named | one for one in more]
    (layout / "index.json").write_text(json.dumps(index))
    return layout


def with_a_path_for_a_blob(path):
    (path / "secret").write_text("{}")
    layout = oci_layout(path / "layout", [BASE])
    (layout / "index.json").write_text(json.dumps({"manifests": [{"digest": "sha256:../../secret"}]}))
    return layout


def without_a_layer(path):
    manifest = json.dumps([{"Config": "c", "Layers": ["layer.tar"]}]).encode()
    file = path / "x.tar"
    file.write_bytes(layer(("manifest.json", manifest), ("c", config([BASE], ()))))
    return file


def wrong_at(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def broken(path, packed):
    """An archive whose layer has a wrong byte after it was compressed."""
    content = random.Random(1).randbytes(1000)
    data = docker_archive(path / "x.tar", [layer(("a", content))], (), packed).read_bytes()
    (path / "x.tar").write_bytes(wrong_at(data, data.index(PACKED[packed](layer(("a", content)))) + 300))
    return path / "x.tar"


def root_of(change):
    """A tar of a root file system with two files, changed."""

    def write(path):
        (path / "root.tar").write_bytes(change(layer(("a", b"1"), ("b", b"2"))))
        return path / "root.tar"

    return write


REFUSED = {
    "a path for a digest": (with_a_path_for_a_digest, r"a layer's SHA-256 was expected; got 'sha256:\.\./\.\./evil'"),
    "damaged": (damaged, "a layer is damaged: its SHA-256 is not"),
    "two images": (two_images, r"holds 2 images \(a:1, without a name\); save one alone"),
    "no archive": (text, "cannot be read as an image"),
    "no manifest's layer": (
        lambda path: [file := path / "x.tar", file.write_bytes(layer(("manifest.json", b'[{"Config": "c"}]')))][0],
        "cannot be read as an image: KeyError: 'Layers'",
    ),
    "a file above": (escaping("above", ("../../evil", b"x")), "leads out of its directory: ../../evil"),
    "a file through a link": (
        escaping("through", ("out", "/tmp"), ("out/evil", b"x")),
        "leads out of its directory: out/evil",
    ),
    "a hard link through a link": (
        escaping("hard", ("out", "/etc"), special("stolen", tarfile.LNKTYPE, "out/passwd")),
        "leads out of its directory: out/passwd",
    ),
    "a hard link above": (
        escaping("up", special("stolen", tarfile.LNKTYPE, "../../../../etc/passwd")),
        "leads out of its directory",
    ),
    "another machine's layout": (
        lambda path: oci_layout(path / "layout", [BASE], machine="s390x"),
        "holds 0 images for this machine",
    ),
    "another machine's": (
        lambda path: docker_archive(path / "other.tar", [BASE], machine="s390x"),
        f"is for linux/s390x, and this machine is linux/{HERE}",
    ),
    "a layout of two images": (
        lambda path: with_entries(oci_layout(path / "layout", [BASE]), {"digest": "sha256:0"}),
        r"holds 2 images for this machine \(without a name, two\); save one alone",
    ),
    "another configuration": (changed_configuration, "blobs/sha256/.* has another SHA-256 than its name says"),
    "a path for a blob": (
        with_a_path_for_a_blob,
        "a SHA-256 was expected; got 'sha256:../../secret'",
    ),
    "no layer": (without_a_layer, "a layer cannot be unpacked: KeyError: 'layer.tar'"),
    "nested JSON": (
        lambda path: [file := path / "x.tar", file.write_bytes(layer(("manifest.json", b"[" * 100_000)))][0],
        "cannot be read as an image: RecursionError",
    ),
    **{
        f"a layer of {packed} with a wrong byte": (
            lambda path, packed=packed: broken(path, packed),
            "a layer (cannot be unpacked|is damaged)",
        )
        for packed in ("gzip", "zstd", "xz")
    },
    "a tar with a wrong header": (root_of(lambda data: wrong_at(data, 1030)), "the tar is damaged, .* at byte 1024"),
    "a tar that ends too early": (root_of(lambda data: data[:1024]), "the tar is damaged, .* at byte 1024: empty"),
    "a tar that ends in a header": (root_of(lambda data: data[:1224]), "the tar is damaged, .* at byte 1024"),
    "nothing but a link": (escaping("dot", (".", "/etc")), "in place of its own directory: \\."),
    "a name with a null": (
        lambda path: docker_archive(path / "x.tar", [with_headers(path="a\0b")]),
        "a layer cannot be unpacked: ValueError",
    ),
    "too deep": (escaping("deep", ("a/" * 1200 + "f", b"")), "more than 256 directories in each other"),
    **{
        f"what removes {name}": (escaping("removing", ("a/b", b""), (f"a/{name}", b"")), "has no name of its own")
        for name in (".wh.", ".wh..", ".wh...")
    },
    "nothing there": (lambda path: path / "nowhere", "does not exist; give the path of a directory"),
    "this machine": (lambda path: "/", "would show programs all of this machine"),
}


@pytest.mark.parametrize(("make", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_image_is_refused(make, told, tmp_path, cache):
    source = str(make(tmp_path))
    with pytest.raises(ImageError, match=told) as error:
        prepare_images([source], cache=cache)
    assert source in str(error.value)
    assert cache.entries() == []
    assert list(tmp_path.rglob("evil")) == []
    assert [path for path in cache.directory.parent.rglob("*") if path.suffix in (".partial", ".lock")] == []
