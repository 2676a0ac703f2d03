"""Checks that the script can make the moving picture of README.md, and that the picture shows the description in
README.md.
"""
import picture
from PIL import Image


def test_the_picture_shows_the_description_of_the_readme():
    with Image.open(picture.PICTURE) as image:
        assert picture.source_of(picture.description()) == image.info["xmp"].decode(), "run Tests/Browser/picture.py"
        assert image.is_animated and image.info["loop"] == 0
    assert picture.PICTURE.stat().st_size < 1_500_000


def test_drag(browser, tmp_path):
    """A drag on one page of the picture moves the row on the other."""
    frames, orders = picture.film(browser, steps=0.15)
    done = ["Buy paint", "Invite Ada", "Mend the gate", "Paint the fence"]
    before = ["Buy paint", "Paint the fence", "Invite Ada", "Mend the gate"]
    assert orders == [(done, done), (before, before)]
    assert len(frames) > 20
    picture.save(frames[:3], tmp_path / "picture.webp")
    with Image.open(tmp_path / "picture.webp") as image:
        assert image.n_frames == 3 and image.size == frames[0][0].size
