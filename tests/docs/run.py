#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/docs/run.py [PAGE...]: runs the commands of README and docs, page by page, in a folder with rendered pictures.

A command is a line of an indented block whose first word is a program; the lines of a page run one after the other, and
what one writes the next may read. Code between ```sh marks counts too; ```js runs in node where the web package is built,
```python of pages other than README and python.md (which the Python tests run) in this Python. The block after
<!-- not run: REASON --> is left out, and so is a program of NOT_RUN. KEYBITS_SOURCE, KEYBITS_BUILD and KEYBITS name the
sources, the build and the program. Exit code 77: OpenCV for Python, which renders the pictures, is not there."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

try:
    import cv2
    import numpy as np
except ImportError as missing:
    print(f"skipped: no Python module {missing.name}")
    sys.exit(77)

SOURCE = os.path.abspath(os.environ.get("KEYBITS_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.path.abspath(os.environ.get("KEYBITS_BUILD", os.path.join(SOURCE, "build")))
KEYBITS = os.path.abspath(os.environ.get("KEYBITS", os.path.join(BUILD, "keybits")))
PAGES = ["README.md", "models/README.md", *sorted(set(glob.glob("docs/*.md", root_dir=SOURCE)) - {"docs/python-reference.md"})]

# First words of commands that other tests run, or that change more than the scratch folder.
NOT_RUN = {"make": "builds and installs", "cmake": "builds", "ctest": "runs tests", "pip": "installs; python_sources does",
           "npm": "installs; web_package does", "colmap": "COLMAP takes minutes; cli_collection and cli_eval_sfm run it",
           "ffmpeg": "needs a video", "g++": "install_opencv does", "build/bench/": "takes minutes; make results does",
           "build/tests/": "is a test itself", "build/examples/slam": "cli_slam does", "scripts/": "needs photographs", "python3 -m": "changes the system",
           "KEYBITS_LIBRARY=": "unit python_package does"}
PROGRAMS = re.compile(r"^(keybits|mkdir|build/\S+|make|cmake|ctest|pip|npm|colmap|ffmpeg|g\+\+|scripts/\S+|python3|KEYBITS_\w+=\S+)( |$)")
# Words in capitals stand for what a reader has; these are the rendered ones.
STAND_INS = {"OXFORD": "oxford", "SCENES": "oxford", "KEYPOINTS": "csv", "IMAGES": "photos", "MODELS": "bag256", "SETS": "sets"}
# What makes a command short, unless it says otherwise itself.
SHORTER = [("keybits bench", "--seconds 1"), ("keybits eval pose$", "--scenes 4 --no-peers"), ("keybits patches synth", "--views 2"),
           ("keybits train bag", "--bits 32 --triplets 256 --candidates 40"), ("keybits vocab train", "--words 64"),
           ("keybits train bad", "--bits 16 --triplets 256 --candidates 40"), ("keybits train hashsift", "--steps 20 --bits 16"),
           ("keybits train ablation", "--bits 16 --triplets 256 --candidates 20 --steps 5")]


# -------------------------------------------------------------------------------------------------- the rendered pictures

def texture(width, height, seed):
    """Leaves: random ellipses and rectangles in colour, from large to small, softened."""
    draw = np.random.default_rng(seed)
    image = np.full((height, width, 3), 110, np.uint8)
    for i in range(420):
        size = max(2, int(60 / (1 + i / 25)))
        x, y = int(draw.integers(width)), int(draw.integers(height))
        colour = tuple(int(c) for c in draw.integers(20, 240, 3))
        if i % 2:
            cv2.ellipse(image, (x, y), (size, max(2, size // 2)), float(draw.integers(180)), 0, 360, colour, -1, cv2.LINE_AA)
        else:
            cv2.rectangle(image, (x, y), (x + size, y + size // 2), colour, -1)
    return cv2.GaussianBlur(image, (0, 0), 0.7)


def view(image, k):
    """Another view of a flat picture, and its homography."""
    height, width = image.shape[:2]
    h = np.array([[0.97, -0.03 * k, 6 * k], [0.025 * k, 0.96, -3 * k], [4e-5 * k, -2e-5 * k, 1]])
    return cv2.warpPerspective(image, h, (width, height), borderValue=(90, 90, 90)), h


def write(path, image):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    if not cv2.imwrite(path, image):
        sys.exit(f"{path} cannot be written")


def render_pictures():
    a = texture(320, 240, 1)
    b = view(a, 1)[0]
    for name in ("a.jpg", "one.png", "photo.jpg", "poster.jpg", "new.jpg", "frame.png", "template.png", "detail.jpg", "laptop1.jpg"):
        write(name, a)
    for name in ("b.jpg", "two.png", "board.jpg", "laptop2.jpg"):
        write(name, b)
    write("without-car.png", np.where(np.arange(320) < 200, 255, 0).astype(np.uint8)[None, :].repeat(240, 0))
    for i in range(4):
        for name in (f"photos/{i}.jpg", f"images/{i}.jpg", f"photographs/{i}.jpg", f"frames/{i}.png"):
            write(name, view(a, i)[0])
        write(f"frames/{i}.pgm", cv2.cvtColor(view(a, i)[0], cv2.COLOR_BGR2GRAY))
        for name in (f"other-photos/{i}.jpg", f"more/more{i}.jpg", f"walk/{i}.jpg"):
            write(name, texture(240, 200, 10 + i))
    write("photos/blurred.jpg", cv2.GaussianBlur(a, (0, 0), 2))
    with open("list.txt", "w", encoding="utf-8") as file:
        file.write("photos/0.jpg\nphotos/1.jpg\n")


def render_sets():
    """Folders as the benchmarks take them, and tables."""
    for folder in ("oxford/graf", "hpatches-sequences/v_leaves", "sequences/v_leaves"):
        image = texture(320, 240, 2)
        write(f"{folder}/img1.png", image)
        for k in (2, 3):
            seen, h = view(image, k)
            write(f"{folder}/img{k}.png", seen)
            np.savetxt(f"{folder}/H1to{k}p", h)
    draw = np.random.default_rng(3)
    for name in ("bad256.txt", "table.txt"):
        radius = draw.integers(1, 7, 256)
        boxes = np.stack([radius + (draw.random(256) * (32 - 2 * radius)).astype(int) for _ in range(4)], 1)
        np.savetxt(name, np.column_stack([boxes, radius, draw.integers(-200, 200, 256) / 10 + 0.05]), fmt="%g")
    for folder in ("liberty", "sets/notredame"):  # Brown's: 16x16 patches of 64x64, two of each point
        patches = [cv2.cvtColor(texture(64, 64, 100 + i), cv2.COLOR_BGR2GRAY) for i in range(128)]
        sheet = np.zeros((1024, 1024), np.uint8)
        for i in range(256):
            sheet[64 * (i // 16):64 * (i // 16 + 1), 64 * (i % 16):64 * (i % 16 + 1)] = np.roll(patches[i // 2], i % 2, 1)
        write(f"{folder}/patches0000.bmp", sheet)
        with open(f"{folder}/info.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{i // 2} 0\n" for i in range(256))
        with open(f"{folder}/m50_100000_100000_0.txt", "w", encoding="utf-8") as file:
            for i in range(0, 250, 2):
                file.write(f"{i} {i // 2} 0 {i + 1} {i // 2} 0 0\n{i} {i // 2} 0 {i + 3} {i // 2 + 1} 0 0\n")
    shutil.copy("liberty/patches0000.bmp", "patches0000.bmp")


def render_keypoints():
    """Keypoints of sift for pages that begin with keypoints in files."""
    def keybits(*words):
        subprocess.run([KEYBITS, *words, "--quiet"], check=True)
    for letter in "ab":
        keybits("detect", f"{letter}.jpg", "--detector", "sift", "-o", f"{letter}.csv")
        keybits("describe", f"{letter}.jpg", "--keypoints", f"{letter}.csv", "--preset", "sift", "-o", f"{letter}.npy")
    os.makedirs("csv/graf")
    for k in (1, 2, 3):
        keybits("detect", f"oxford/graf/img{k}.png", "--detector", "sift", "-n", "300", "-o", f"csv/graf/img{k}.sift.csv")
    keybits("eval", "oxford", "oxford", "--keypoints-dir", "csv", "--keypoints", "sift", "--export-patches", "all.npy")
    patches = np.load("all.npy")
    np.save("rows.npy", patches.reshape(len(patches), -1)[:, ::4].astype(np.float32))


# --------------------------------------------------------------------------------------------------------------- the pages

def blocks(page):
    """(line number, language, lines, reason not to run) of every block; indented ones have the language ''."""
    with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
        lines = file.read().split("\n")
    i, reason, results = 0, None, False
    while i < len(lines):
        line = lines[i]
        results = results or line.startswith("<!-- results: ") and not line.endswith("end -->")
        if line == "<!-- results: end -->":
            results = False
        mark, fence = re.match(r"<!-- not run: (.*) -->$", line), re.match(r"( *)```(\w*)$", line)
        if mark:
            reason = mark.group(1)
        elif fence and not results:
            end = next(k for k in range(i + 1, len(lines)) if lines[k] == fence.group(1) + "```")
            yield i + 1, fence.group(2) or "text", lines[i + 1:end], reason
            i, reason = end, None
        elif line.startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = next(k for k in range(i, len(lines) + 1) if k == len(lines) or not lines[k].startswith("    "))
            yield i + 1, "", [one[4:] for one in lines[i:end]], reason
            i, reason = end - 1, None
        i += 1


def shortened(command):
    for prefix, options in SHORTER:
        if re.match(prefix, command.split(" #")[0].strip()):
            words = options.split()
            pairs = [words[k:k + 2] if k + 1 < len(words) and not words[k + 1].startswith("--") else words[k:k + 1]
                     for k, word in enumerate(words) if word.startswith("--")]
            added = " ".join(" ".join(pair) for pair in pairs if pair[0] not in command)
            parts = re.split(r"(\s+#|\s+>|\s*\|)", command, maxsplit=1)
            command = f"{parts[0]} {added}{''.join(parts[1:])}"
    return command


def commands(lines):
    """Whole commands: a line that ends with \\ goes on in the next."""
    whole = ""
    for line in lines:
        whole += line.rstrip("\\")
        if not line.endswith("\\"):
            yield whole.strip()
            whole = ""


def shell(command, environment):
    for word, stand_in in STAND_INS.items():
        command = re.sub(rf"(?<![\w/]){word}\b", stand_in, command)
    begin = time.monotonic()
    done = subprocess.run(["bash", "-e", "-c", shortened(command)], capture_output=True, text=True, check=False,
                          env=environment, stdin=subprocess.DEVNULL, timeout=600)
    if time.monotonic() - begin > 5:
        print(f"{time.monotonic() - begin:.0f} s: {command}")
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr.strip()[-400:]}"


def run_command(command, environment):
    """Whether it ran: "" or what went wrong; None when it is left out."""
    return None if any(command.startswith(word) for word in NOT_RUN) else shell(command, environment)


def run_js(lines, environment):
    package = os.path.join(BUILD, "web", "package", "keybits.js")
    if not shutil.which("node") or not os.path.exists(package):
        return None
    head = ("const size = 200, make = (shift) => ({width: size, height: size, data: Uint8Array.from({length: size * size}, (_, i) => "
            "128 + 60 * Math.sin((i % size + shift) * 0.31) * Math.cos(Math.floor(i / size) * 0.23) + ((i * 7919) >> 3) % 40)});\n"
            "const imageA = make(0), imageB = make(3);\n")
    lines = [line.replace('from "keybits"', f'from "file://{package}"') + "\n" for line in lines]
    with open("block.mjs", "w", encoding="utf-8") as file:
        file.write("".join(line for line in lines if line.startswith("import")) + head
                   + "".join(line for line in lines if not line.startswith("import")))
    return shell("node --no-warnings block.mjs", environment)


def run_python(lines, environment):
    with open("block.py", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    if "torch" in "\n".join(lines):
        return None
    return shell(f"{sys.executable} block.py a.jpg b.jpg out.txt", environment)


def run_page(page, world):
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "page")
        shutil.copytree(world, folder)
        os.symlink(BUILD, os.path.join(folder, "build"))
        os.makedirs(os.path.join(folder, "bin"))
        os.symlink(KEYBITS, os.path.join(folder, "bin", "keybits"))
        environment = dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}")
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--inside", page], cwd=folder, env=environment,
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def inside(page):
    """Runs one page in the working folder."""
    ran, left, wrong = 0, 0, 0
    for at, language, lines, reason in blocks(page):
        if reason:
            print(f"{page}:{at}: not run: {reason}")
            left += 1
            continue
        outcomes = []
        if language in ("", "sh"):
            outcomes = [(command, run_command(command, os.environ)) for command in commands(lines)
                        if PROGRAMS.match(command) and not re.search(r"\[[A-Z-]", command)]
        elif language == "js":
            outcomes = [("js", run_js(lines, os.environ))]
        elif language == "python" and page not in ("README.md", "docs/python.md"):
            outcomes = [("python", run_python(lines, os.environ))]
        for command, outcome in outcomes:
            ran, left = ran + (outcome is not None), left + (outcome is None)
            if outcome:
                print(f"{page}:{at}: {command}\n    {outcome}")
                wrong += 1
    print(f"{page}: {ran} ran, {left} left out")
    return 1 if wrong else 0


def main():
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside(sys.argv[2]))
    pages = sys.argv[1:] or PAGES
    with tempfile.TemporaryDirectory() as world:
        os.chdir(world)
        render_pictures()
        render_sets()
        render_keypoints()
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda page: run_page(page, world), pages))
        os.chdir(SOURCE)
    for _, report in results:
        print(report, end="")
    sys.exit(1 if any(code for code, _ in results) else 0)


if __name__ == "__main__":
    main()
