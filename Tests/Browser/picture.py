"""Makes docs/images/one-list.webp, the moving picture of README.md, from the pages that the server serves.

    .build/python/bin/python Tests/Browser/picture.py [FILE]

The picture shows the table description of README.md and two real pages of one session. Both pages are the inspector:
one in a window as wide as a phone, and one in a window as wide as a desktop. Real pointer events drag a row on one
page, and the server sends the update to the other page. Between two frames, all animations of the pages are paused.
Each frame advances all animations by the same time, so that a slow machine makes the same picture.

The fonts are Inter and JetBrains Mono (Debian: fonts-inter, fonts-jetbrains-mono). Without them the picture has other
fonts.
"""
import hashlib
import html
import io
import json
import re
import shutil
import sys
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "Docs")]
from documents import ROOT, Document  # noqa: E402
from server import Server  # noqa: E402

PICTURE = ROOT / "docs/images/one-list.webp"
STEP = 40  # the time from one frame to the next, in milliseconds
SIZE = {"width": 1280, "height": 704}
SCALE = 1.5
# The longest time, in milliseconds, that the script waits until a page shows a change. The waiting time does not appear
# in the picture.
PATIENCE = 60_000

STAGE = """<!doctype html><meta charset="utf-8"><style>
  * { box-sizing: border-box; margin: 0 }
  body { width: 1280px; height: 704px; overflow: hidden; position: relative; color-scheme: light;
    background: radial-gradient(circle at 22% 12%, #eef0ff, transparent 55%), linear-gradient(135deg, #e4e6fb, #d9e2f7) }
  .window { position: absolute; overflow: hidden; background: #fff; box-shadow: 0 1px 2px #1e1b4b26, 0 18px 50px #1e1b4b38 }
  .bar { height: 30px; background: #f1f1f6; border-bottom: 1px solid #dcdce4; padding: 10px 12px; display: flex; gap: 7px }
  .bar i { width: 10px; height: 10px; border-radius: 50%; background: #d0d0da }
  #desktop { left: 318px; top: 40px; width: 928px; height: 586px; border-radius: 12px }
  #desktop iframe { width: 1031px; height: 618px; transform: scale(.9) }
  #phone { left: 968px; top: 112px; width: 288px; height: 560px; border-radius: 38px; border: 8px solid #15151c; background: #15151c }
  #phone iframe { width: 362px; height: 724px; transform: scale(.7514); border-radius: 38px }
  iframe { border: 0; transform-origin: 0 0; display: block }
  #source { left: 24px; top: 80px; width: 392px; border-radius: 12px; background: #1b1a2e; color: #d8d9f2;
    font: 500 11.6px/1.6 "JetBrains Mono", "DejaVu Sans Mono", monospace }
  #source h1 { font: inherit; color: #9c9dc4; padding: 9px 18px; border-bottom: 1px solid #34335a }
  #source pre { font: inherit; padding: 13px 0 15px }
  #source span { display: block; padding: 0 18px; border-left: 0 solid }
  #source b { font-weight: 500; color: #a5a8ff } #source u { text-decoration: none; color: #8fdcb0 }
  #source span.now { background: #4f46e580; box-shadow: inset 3px 0 #a5a8ff }
  #pointer { position: absolute; z-index: 9; pointer-events: none; width: 34px; height: 34px; margin: -17px; border-radius: 50%;
    background: #4f46e540; border: 2px solid #4f46e5b0; opacity: 0 }
  #pointer.down { background: #4f46e573; scale: .82 }
</style>
<div class="window" id="desktop"><div class="bar"><i></i><i></i><i></i></div><iframe name="desktop"></iframe></div>
<div class="window" id="source"><h1>tasks.table.json</h1><pre>SOURCE</pre></div>
<div class="window" id="phone"><iframe name="phone"></iframe></div>
<div id="pointer"></div>"""

# Pauses every animation that a page starts. `step` advances the paused animations.
PAUSED = """
  const waiting = new Set(), { animate } = Element.prototype;
  Element.prototype.animate = function (...values) {
    const animation = animate.apply(this, values);
    animation.pause();
    waiting.add(animation);
    return animation;
  };
  window.step = (time) => {
    for (const animation of document.getAnimations()) if (!waiting.has(animation)) { animation.pause(); waiting.add(animation); }
    for (const animation of waiting) {
      const { endTime } = animation.effect.getComputedTiming();
      if (animation.playState === "idle") waiting.delete(animation);
      else if (animation.currentTime + time < endTime) animation.currentTime += time;
      else { waiting.delete(animation); animation.finish(); }
    }
    return waiting.size;
  };
"""
# The style changes the font, and nothing else, of the page that the server serves.
FONT = "<style>body { font-family: Inter, 'DejaVu Sans', sans-serif !important }</style></head>"


def description():
    """Returns the table description that README.md shows."""
    [block] = [block for block in Document(ROOT / "README.md").of("json") if block.marks.get("file") == "tasks.table.json"]
    return block.text


def shown(text):
    """Returns the description as HTML, with a span for each line."""
    def colored(line):
        return re.sub(r"&quot;(.*?)&quot;(:?)", lambda text: f"<{'b' if text[2] else 'u'}>{text[0].rstrip(':')}</{'b' if text[2] else 'u'}>{text[2]}", html.escape(line))
    return "".join(f"<span>{colored(line) or ' '}</span>" for line in text.rstrip().split("\n"))


def eased(part):
    return part * part * (3 - 2 * part)


class Film:
    """The page with both inspector pages, and the frames taken of it: pairs of an image and its duration in
    milliseconds.
    """

    def __init__(self, page, url, steps):
        self.page, self.steps, self.frames = page, steps, []
        page.add_init_script(PAUSED)
        page.route(url + "/", self._framed)
        page.set_default_timeout(PATIENCE)
        page.goto(url + "/healthz")
        page.set_content(STAGE.replace("SOURCE", shown(description())))
        page.evaluate("url => document.querySelectorAll('iframe').forEach(frame => frame.src = url)", url + "/#/sessions/weekend")
        self.desktop, self.phone = page.frame(name="desktop"), page.frame(name="phone")
        for view in (self.desktop, self.phone):
            view.get_by_role("button", name="Edit", exact=True).click()
            view.get_by_label("Move Paint the fence", exact=True).wait_for()
        page.evaluate("document.fonts.ready")
        self.at = (700, 660)
        self._finish()

    @staticmethod
    def _framed(route):
        """Answers a request for the inspector's page. The changed page may be shown in a frame, and has the fonts of
        the picture.
        """
        answer = route.fetch()
        headers = {name: value for name, value in answer.headers.items() if name not in ("content-security-policy", "content-length")}
        route.fulfill(status=answer.status, headers=headers, body=answer.text().replace("</head>", FONT))

    def hold(self, milliseconds):
        """Shows the last frame longer, by the given number of milliseconds."""
        image, duration = self.frames[-1]
        self.frames[-1] = (image, duration + milliseconds)

    def take(self):
        """Advances all animations by one step and takes a frame. Returns how many animations are still running."""
        running = sum(view.evaluate("time => window.step(time)", STEP) for view in (self.desktop, self.phone))
        x, y = self.at
        self.page.evaluate("([x, y]) => Object.assign(document.querySelector('#pointer').style, { left: `${x}px`, top: `${y}px` })", [x, y])
        image = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if self.frames and image.tobytes() == self.frames[-1][0].tobytes():
            self.hold(STEP)
        else:
            self.frames.append((image, STEP))
        return running

    def _finish(self):
        while self.take():
            pass

    def move(self, x, y, steps):
        """Moves the pointer to a point in several steps, and takes a frame after each step."""
        (left, top), steps = self.at, max(1, round(steps * self.steps))
        for step in range(1, steps + 1):
            part = eased(step / steps)
            self.at = (left + (x - left) * part, top + (y - top) * part)
            self.page.mouse.move(*self.at)
            self.take()

    def _pointer(self, name, value):
        self.page.evaluate("([name, value]) => document.querySelector('#pointer').classList.toggle(name, value)", [name, value])

    def _appear(self, steps, to):
        for step in range(1, steps + 1):
            opacity = step / steps if to else 1 - step / steps
            self.page.evaluate("opacity => document.querySelector('#pointer').style.opacity = opacity", opacity)
            self.take()

    def _middle(self, view, locator):
        box = view.locator(locator).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, view, other, name, before):
        """Drags a row on one page to the place of the row `before`, and waits until the other page shows it there."""
        handle = f'[aria-label="Move {name}"]'
        x, y = self._middle(view, handle)
        self.at = (x + 46, y + 60)
        self.page.mouse.move(*self.at)
        self._appear(4, True)
        self.move(x, y, 9)
        self._pointer("down", True)
        self._now(True)
        self.page.mouse.down()
        self.take()
        self.hold(120)
        _, top = self._middle(view, f'[aria-label="Move {before}"]')
        self.move(x, top, 24)
        self._finish()
        self.hold(160)
        order = self._order(other)
        self._pointer("down", False)
        self.page.mouse.up()
        other.wait_for_function("order => JSON.stringify([...document.querySelectorAll('.row .title')].map(title => title.textContent)) !== order", arg=json.dumps(order, separators=(",", ":")))
        view.wait_for_function("document.querySelectorAll('[data-carried]').length === 0")
        self._finish()
        self._now(False)
        self._appear(5, False)
        self.hold(900)

    def _now(self, value):
        """Marks (or unmarks) the line of the description that allows the drag."""
        self.page.evaluate("value => [...document.querySelectorAll('#source span')].find(line => line.textContent.includes('\"moving\"')).classList.toggle('now', value)", value)

    @staticmethod
    def _order(view):
        return view.locator(".row .title").all_text_contents()


def request(url, method, path, body):
    asked = urllib.request.Request(url + path, body.encode(), {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(asked, timeout=60).close()


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def film(browser, steps=1.0):
    """Films both drags. Returns the frames, and the rows that both pages show after each drag. `steps` scales the
    number of frames of a drag.
    """
    with Server() as server:
        request(server.url, "PUT", "/v1/tables/tasks", description())
        request(server.url, "POST", "/v1/sessions", '{"table": "tasks", "id": "weekend"}')
        page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE, color_scheme="light", bypass_csp=True)
        film, orders = Film(page, server.url, steps), []
        film.hold(900)
        for view, other, before in [(film.phone, film.desktop, "Mend the gate"), (film.desktop, film.phone, "Invite Ada")]:
            film.drag(view, other, "Paint the fence", before)
            orders.append((film._order(film.desktop), film._order(film.phone)))
        page.close()
    return film.frames, orders


def source_of(text):
    """Returns the text that the picture contains about its source: a hash of the table description."""
    return "description: " + hashlib.sha256(text.encode()).hexdigest()


def save(frames, path):
    first, *others = [image for image, _ in frames]
    # `allow_mixed` lets the encoder choose for each frame whether to compress it without loss.
    first.save(path, save_all=True, append_images=others, duration=[duration for _, duration in frames], loop=0, lossless=True, quality=60, method=4,
               allow_mixed=True, xmp=source_of(description()).encode())


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--font-render-hinting=none"])
        frames, _ = film(browser)
        browser.close()
    save(frames, path)
    print(f"{path}: {len(frames)} frames, {sum(duration for _, duration in frames) / 1000} s, {path.stat().st_size} bytes")
