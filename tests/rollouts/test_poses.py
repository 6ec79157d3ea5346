"""Camera tracks: every format gives back the poses that were written, and what is no track is refused by name."""

from __future__ import annotations

import importlib
import json
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from memgauge.errors import InputError
from memgauge.rollouts.pose_files import find_sidecar, read_poses, with_frames
from memgauge.rollouts.track import CameraTrack, Clock, InvalidPosesError, intrinsic_matrices, place

N = 12
CLOCK = Clock(frames=N, fps=10.0, width=640, height=480)
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])


@pytest.fixture
def c2w(rng: np.random.Generator) -> np.ndarray:
    poses = np.tile(np.eye(4), (N, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(rng.normal(0, 1, (N, 3))).as_matrix()
    poses[:, :3, 3] = rng.normal(0, 2, (N, 3))
    return poses


def quaternions(poses: np.ndarray) -> np.ndarray:
    """x, y, z, w."""
    return Rotation.from_matrix(poses[:, :3, :3]).as_quat()


def check(track: CameraTrack, c2w: np.ndarray, frames: Any = None, tolerance: float = 1e-9) -> None:
    assert track.rotation == pytest.approx(c2w[:, :3, :3], abs=tolerance)
    assert track.centre == pytest.approx(c2w[:, :3, 3], abs=tolerance)
    assert track.frames.tolist() == list(range(len(c2w)) if frames is None else frames)


@pytest.mark.parametrize("rows", [3, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_npy(tmp_path: Path, c2w: np.ndarray, rows: int, dtype: Any) -> None:
    np.save(tmp_path / "v_poses.npy", c2w[:, :rows].astype(dtype))
    check(place(read_poses(tmp_path / "v_poses.npy"), CLOCK), c2w, tolerance=1e-6 if dtype == np.float32 else 1e-9)


def test_npy_companions(tmp_path: Path, c2w: np.ndarray) -> None:
    np.save(tmp_path / "v_poses.npy", c2w)
    np.save(tmp_path / "v_frame_indices.npy", np.arange(N) * 3)
    np.save(tmp_path / "v_intrinsics.npy", np.array([500.0, 510, 320, 240]))
    track = place(read_poses(tmp_path / "v_poses.npy"), CLOCK)
    check(track, c2w, np.arange(N) * 3)
    assert track.intrinsics is not None
    assert track.intrinsics[5].tolist() == [[500, 0, 320], [0, 510, 240], [0, 0, 1]]


@pytest.mark.parametrize("key", ["poses_c2w", "poses", "data", "poses_w2c"])
def test_npz_keys(tmp_path: Path, c2w: np.ndarray, key: str) -> None:
    np.savez(tmp_path / "p.npz", other=np.zeros(3), **{key: np.linalg.inv(c2w) if key == "poses_w2c" else c2w})
    check(place(read_poses(tmp_path / "p.npz"), CLOCK), c2w)


def test_vipe_archive_keeps_its_frame_numbers(tmp_path: Path, c2w: np.ndarray) -> None:
    (tmp_path / "pose").mkdir()
    (tmp_path / "intrinsics").mkdir()
    order = np.random.default_rng(0).permutation(N)
    frames = np.arange(N) * 2 + 1
    np.savez(tmp_path / "pose" / "clip.npz", inds=frames[order], data=c2w[order])
    data = np.tile([700.0, 705, 320, 240, 0], (2, 1))
    data[1, 0] = 900
    np.savez(tmp_path / "intrinsics" / "clip.npz", inds=np.array([0, 13]), data=data)
    for path in (tmp_path, tmp_path / "pose" / "clip.npz"):
        track = place(read_poses(path), CLOCK)
        check(track, c2w, frames)
        assert track.intrinsics is not None
        assert track.intrinsics[:, 0, 0].tolist() == [700.0 if frame < 13 else 900.0 for frame in frames]
    assert find_sidecar(tmp_path / "clip.mp4") == tmp_path / "pose" / "clip.npz"


def test_export_folder(tmp_path: Path, c2w: np.ndarray) -> None:
    folder = tmp_path / "annotations_vipe" / "clip_vipe_ann"
    folder.mkdir(parents=True)
    np.save(folder / "poses_c2w.npy", c2w)
    np.save(folder / "poses_w2c.npy", np.linalg.inv(c2w))
    np.save(folder / "frame_indices.npy", np.arange(N) + 5)
    np.save(folder / "timestamps.npy", (np.arange(N) + 5) / 10)
    np.save(folder / "intrinsics.npy", np.tile(np.diag([400.0, 400, 1]), (N, 1, 1)))
    np.save(tmp_path / "clip_poses.npy", np.zeros((N, 4, 4)))
    assert find_sidecar(tmp_path / "clip.mp4") == folder
    check(place(read_poses(folder), CLOCK), c2w, np.arange(N) + 5)
    np.save(folder / "frame_indices.npy", np.arange(N - 1))
    with pytest.raises(InputError, match="frame numbers of shape"):
        read_poses(folder)


def test_sidecar_order(tmp_path: Path) -> None:
    video = tmp_path / "v.mp4"
    assert find_sidecar(video) is None
    for name in ("v_poses.npy", "v_poses_c2w.npy", "v_vipe_ann"):
        (tmp_path / name).mkdir()
        assert find_sidecar(video) == tmp_path / name


def test_tum(tmp_path: Path, c2w: np.ndarray) -> None:
    rows = np.concatenate([np.arange(N)[:, None] / 10, c2w[:, :3, 3], quaternions(c2w)], axis=1)
    np.savetxt(tmp_path / "t.txt", rows, fmt="%.12f", header="timestamp tx ty tz qx qy qz qw")
    check(place(read_poses(tmp_path / "t.txt"), CLOCK), c2w)
    # Unix times are counted from the first pose, whole numbers beyond the video are frames.
    rows[:, 0] += 1.7e9
    np.savetxt(tmp_path / "t.txt", rows, fmt="%.12f")
    check(place(read_poses(tmp_path / "t.txt"), CLOCK), c2w)
    rows[:, 0] = np.arange(N)
    np.savetxt(tmp_path / "t.txt", rows, fmt="%.12f")
    check(place(read_poses(tmp_path / "t.txt"), CLOCK), c2w)


def test_of_two_poses_on_one_frame_the_nearest_counts(tmp_path: Path, c2w: np.ndarray) -> None:
    rows = np.concatenate([np.arange(N)[:, None] / 20 + 0.02, c2w[:, :3, 3], quaternions(c2w)], axis=1)
    np.savetxt(tmp_path / "t.txt", rows, fmt="%.12f")
    track = place(read_poses(tmp_path / "t.txt"), CLOCK)
    assert track.frames.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert track.rows.tolist() == [0, 2, 4, 6, 8, 10, 11]
    assert (np.diff(track.rows) > 0).all()


def test_kitti(tmp_path: Path, c2w: np.ndarray) -> None:
    np.savetxt(tmp_path / "00.txt", c2w[:, :3].reshape(N, 12), fmt="%.12e")
    check(place(read_poses(tmp_path / "00.txt"), CLOCK), c2w)


def test_printed_rotations_are_mended(tmp_path: Path, c2w: np.ndarray) -> None:
    np.savetxt(tmp_path / "00.txt", c2w[:, :3].reshape(N, 12), fmt="%.3f")
    track = place(read_poses(tmp_path / "00.txt"), CLOCK)
    check(track, c2w, tolerance=2e-3)
    assert track.rotation @ track.rotation.transpose(0, 2, 1) == pytest.approx(np.tile(np.eye(3), (N, 1, 1)), abs=1e-12)


def test_realestate10k(tmp_path: Path, c2w: np.ndarray) -> None:
    w2c = np.linalg.inv(c2w)
    lines = ["https://www.youtube.com/watch?v=abc"]
    for i in range(N):
        numbers = [0.8, 1.1, 0.5, 0.5, 0, 0, *w2c[i, :3].ravel()]
        lines.append(f"{90_000_000 + i * 100_000} " + " ".join(f"{number:.12f}" for number in numbers))
    (tmp_path / "clip.txt").write_text("\n".join(lines) + "\n")
    track = place(read_poses(tmp_path / "clip.txt"), CLOCK)
    check(track, c2w)
    assert track.convention == "w2c"
    assert track.intrinsics is not None
    assert track.intrinsics[0] == pytest.approx(np.array([[512, 0, 320], [0, 528, 240], [0, 0, 1.0]]))


def colmap_names(start: int = 1) -> list[str]:
    return [f"images/frame_{i + start:05d}.png" for i in range(N)]


def test_colmap_text(tmp_path: Path, c2w: np.ndarray) -> None:
    w2c = np.linalg.inv(c2w)
    q = quaternions(w2c)
    order = np.random.default_rng(1).permutation(N)
    lines = ["# Image list with two lines of data per image:"]
    for i in order:
        x, y, z, w = q[i]
        t = w2c[i, :3, 3]
        lines += [
            f"{i + 1} {w} {x} {y} {z} {t[0]} {t[1]} {t[2]} 1 {colmap_names()[i]}",
            "10.5 20.5 -1" if i % 2 else "",
        ]
    (tmp_path / "images.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "cameras.txt").write_text("# cameras\n1 SIMPLE_RADIAL 640 480 500 320 240 0.01\n")
    for path in (tmp_path, tmp_path / "images.txt"):
        track = place(read_poses(path), CLOCK)
        check(track, c2w)
        assert track.intrinsics is not None
        assert track.intrinsics[3].tolist() == [[500, 0, 320], [0, 500, 240], [0, 0, 1]]
        assert any("count from 1" in warning for warning in track.warnings)


def test_colmap_binary(tmp_path: Path, c2w: np.ndarray) -> None:
    w2c = np.linalg.inv(c2w)
    q = quaternions(w2c)
    data = struct.pack("<Q", N)
    for i in range(N):
        x, y, z, w = q[i]
        data += struct.pack("<I7dI", i + 1, w, x, y, z, *w2c[i, :3, 3], 7) + colmap_names(0)[i].encode() + b"\0"
        data += struct.pack("<Q", 2) + struct.pack("<ddqddq", 1, 2, -1, 3, 4, 5)
    folder = tmp_path / "sparse" / "0"
    folder.mkdir(parents=True)
    (folder / "images.bin").write_bytes(data)
    (folder / "cameras.bin").write_bytes(struct.pack("<QIiQQ4d", 1, 7, 1, 640, 480, 500, 505, 320, 240))
    track = place(read_poses(tmp_path), CLOCK)
    check(track, c2w)
    assert track.intrinsics is not None
    assert track.intrinsics[0, 1, 1] == 505
    for cut in (4, 40, len(data) - 20):
        (folder / "images.bin").write_bytes(data[:cut])
        with pytest.raises(InputError, match="cut short"):
            read_poses(tmp_path)


def test_nerfstudio_transforms(tmp_path: Path, c2w: np.ndarray) -> None:
    order = np.random.default_rng(2).permutation(N)
    frames = [
        {"file_path": f"./images/{2 * i:04d}.png", "transform_matrix": (c2w[i] @ FLIP).tolist()} for i in order.tolist()
    ]
    document = {"camera_angle_x": 1.0, "w": 640, "h": 480, "frames": frames}
    (tmp_path / "transforms.json").write_text(json.dumps(document))
    track = place(read_poses(tmp_path), CLOCK)
    check(track, c2w, np.arange(N) * 2)
    assert track.intrinsics is not None
    assert track.intrinsics[0, 0, 0] == pytest.approx(320 / np.tan(0.5))


def test_json_list(tmp_path: Path, c2w: np.ndarray) -> None:
    (tmp_path / "p.json").write_text(json.dumps(c2w.tolist()))
    check(place(read_poses(tmp_path / "p.json"), CLOCK), c2w)
    (tmp_path / "p.json").write_text(json.dumps({"poses_w2c": np.linalg.inv(c2w).tolist()}))
    check(place(read_poses(tmp_path / "p.json"), CLOCK), c2w)


def test_convention_is_inverted_on_demand(tmp_path: Path, c2w: np.ndarray) -> None:
    np.save(tmp_path / "p.npy", np.linalg.inv(c2w))
    track = place(read_poses(tmp_path / "p.npy"), CLOCK, "w2c")
    check(track, c2w)
    assert track.inverted().inverted().centre == pytest.approx(track.centre)
    np.save(tmp_path / "p.npy", c2w)
    check(place(read_poses(tmp_path / "p.npy"), CLOCK), c2w)
    assert track.inverted().centre == pytest.approx(np.linalg.inv(c2w)[:, :3, 3])


def test_frames_by_step_or_file(tmp_path: Path, c2w: np.ndarray) -> None:
    np.save(tmp_path / "p.npy", c2w)
    poses = read_poses(tmp_path / "p.npy")
    check(place(with_frames(poses, step=4), CLOCK), c2w, np.arange(N) * 4)
    (tmp_path / "f.txt").write_text("\n".join(str(5 * i) for i in range(N)))
    check(place(with_frames(poses, frames=tmp_path / "f.txt"), CLOCK), c2w, np.arange(N) * 5)
    (tmp_path / "f.txt").write_text("1 2 3")
    with pytest.raises(InputError, match="one a pose"):
        with_frames(poses, frames=tmp_path / "f.txt")


def test_your_own_reader(tmp_path: Path, c2w: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_reader.py").write_text(
        "import numpy as np\n"
        "from memgauge.rollouts.track import PoseFile\n"
        "def read(path):\n"
        "    return PoseFile(np.load(path)['mine'][:, :3], 'mine', str(path))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    np.savez(tmp_path / "p.npz", mine=c2w)
    check(place(read_poses(tmp_path / "p.npz", "import:my_reader:read"), CLOCK), c2w)
    with pytest.raises(InputError, match=r"import:package\.module:name"):
        read_poses(tmp_path / "p.npz", "import:my_reader:absent")
    (tmp_path / "my_reader.py").write_text(
        "import numpy as np\n"
        "from memgauge.rollouts.track import PoseFile\n"
        "def bare(path):\n"
        "    return np.load(path)['mine']\n"
        "def whole(path):\n"
        "    return PoseFile(bare(path), 'mine', str(path))\n"
        "def odd(path):\n"
        "    return PoseFile(bare(path)[:, :2], 'mine', str(path))\n"
    )
    # Found where the command is run, too.
    monkeypatch.setattr("sys.path", [place for place in sys.path if place != str(tmp_path)])
    monkeypatch.delitem(sys.modules, "my_reader")
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    check(place(read_poses(tmp_path / "p.npz", "import:my_reader:whole"), CLOCK), c2w)
    for name, match in (("bare", "not a memgauge"), ("odd", "shape")):
        with pytest.raises(InputError, match=match):
            read_poses(tmp_path / "p.npz", f"import:my_reader:{name}")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3, 3), True),
        ((N, 3, 3), True),
        ((4,), True),
        ((N, 4), True),
        ((N, 6), True),
        ((5, 3, 3), False),
        ((N, 2), False),
    ],
)
def test_forms_of_intrinsics(shape: tuple[int, ...], expected: bool) -> None:
    values = np.ones(shape)
    if expected:
        assert intrinsic_matrices(values, N, "k").shape == (N, 3, 3)
    else:
        with pytest.raises(InputError):
            intrinsic_matrices(values, N, "k")


def test_values_that_are_no_track(tmp_path: Path, c2w: np.ndarray) -> None:
    path = tmp_path / "p.npy"

    def refused(poses: np.ndarray, match: str, clock: Clock = CLOCK) -> None:
        np.save(path, poses)
        with pytest.raises(InvalidPosesError, match=match):
            place(read_poses(path), clock)

    broken = c2w.copy()
    broken[4, 0, 3] = np.nan
    refused(broken, "pose 4 is not finite")
    broken = c2w.copy()
    broken[:, :3, :3] *= 2
    refused(broken, "no rotation")
    broken = c2w.copy()
    broken[3, :3, 0] *= -1
    refused(broken, "pose 3 is no rotation")
    broken = c2w.copy()
    broken[2, :3, :3] = 1e200
    refused(broken, "pose 2 is no rotation")
    refused(c2w[:1], "at least two")
    refused(c2w, "12 poses for 100 frames", Clock(100, 10.0, 640, 480))
    far = c2w.copy()
    far[3, 0, 3] = 1e300
    refused(far, "pose 3 is out of reach")


def test_few_missing_poses_are_a_warning(c2w: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", c2w)
    short = place(read_poses(tmp_path / "p.npy"), Clock(N + 1, 10.0, 640, 480))
    assert "1 of 13 frames have no pose" in short.warnings[0]
    long = place(read_poses(tmp_path / "p.npy"), Clock(N - 4, 10.0, 640, 480))
    assert "4 poses lie beyond" in long.warnings[0]


def test_numbered_images_of_a_longer_video_are_a_warning(c2w: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", data=c2w, inds=np.arange(N))
    read = read_poses(tmp_path / "p.npz")
    found = place(read, Clock(10 * N, 10.0, 640, 480)).warnings
    assert "--pose-step" in found[0]
    assert place(read, Clock(N, 10.0, 640, 480)).warnings == ()
    apart = with_frames(read, step=10)
    assert place(apart, Clock(10 * N, 10.0, 640, 480)).warnings == ()


def test_damaged_archives_are_named(tmp_path: Path, c2w: np.ndarray) -> None:
    np.savez_compressed(tmp_path / "p.npz", poses=c2w)
    whole = (tmp_path / "p.npz").read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x5A
        (tmp_path / "p.npz").write_bytes(damaged)
        # A byte that nothing reads (a time, say) does no harm; whatever else happens is an error that names the file.
        try:
            read_poses(tmp_path / "p.npz")
        except InputError as error:
            assert "p.npz" in str(error)  # noqa: PT017 - most bytes raise, some do not
    (tmp_path / "pose").mkdir()
    (tmp_path / "intrinsics").mkdir()
    np.savez(tmp_path / "pose" / "v.npz", data=c2w, inds=np.arange(N))
    np.savez(tmp_path / "intrinsics" / "v.npz", wrong=np.ones((N, 4)))
    with pytest.raises(InputError, match="no array 'data'"):
        read_poses(tmp_path / "pose" / "v.npz")


class Touch:
    """Leaves a mark when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["evil.npy", "evil.npz", "raw.npy"])
def test_pickles_are_refused_unread(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    evil = np.array([Touch(mark)], dtype=object)
    if name == "raw.npy":
        (tmp_path / name).write_bytes(pickle.dumps(Touch(mark)))
    elif name.endswith("npy"):
        np.save(tmp_path / name, evil, allow_pickle=True)
    else:
        np.savez(tmp_path / name, poses=evil)
    with pytest.raises(InputError, match="pickled"):
        read_poses(tmp_path / name)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("p.npy", b"", "not a numpy array"),
        ("p.npz", b"PK\x03\x04broken", "not a .npz archive"),
        ("p.txt", b"1 2 3\n", "3 numbers in a row"),
        ("p.txt", b"1 2 3 4 5 6 7 8\n1 2 3\n", "line 2"),
        ("p.txt", b"# nothing\n", "no poses"),
        ("p.txt", b"a b c d e f g h\n", "line 1"),
        ("p.txt", b"\xff\xfe\x00", "UTF-8"),
        ("p.json", b"{", "not JSON"),
        ("p.json", b"[" * 100_000, "not JSON"),
        ("p.json", b'{"frames": [{}]}', "transform_matrix"),
        ("p.json", b"[[1,2],[3]]", "matrices"),
        ("images.txt", b"1 2 3\n\n", "line 1"),
        ("p.xyz", b"", "no pose format"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, match: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=match) as error:
        read_poses(tmp_path / name)
    assert name in str(error.value)


def test_shapes_and_places_that_cannot_be_read(tmp_path: Path, c2w: np.ndarray) -> None:
    np.save(tmp_path / "p.npy", np.zeros((4, 5)))
    with pytest.raises(InputError, match=r"shape \(4, 5\)"):
        read_poses(tmp_path / "p.npy")
    np.save(tmp_path / "p.npy", c2w.transpose(0, 2, 1))
    with pytest.raises(InputError, match="transposed"):
        read_poses(tmp_path / "p.npy")
    with pytest.raises(InputError, match="no such"):
        read_poses(tmp_path / "absent.npy")
    with pytest.raises(InputError, match="no poses in this folder"):
        read_poses(tmp_path)
    with pytest.raises(InputError, match="unknown pose format"):
        read_poses(tmp_path / "p.npy", "tumm")
