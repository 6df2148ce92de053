# SPDX-License-Identifier: Apache-2.0
# No dead links: in the pages of the project, of the installation, and of the Python and npm packages, which may only link
# to addresses. Anchors exist too.
source "$(dirname "$0")/common.inc"
cd "$KEYBITS_SOURCE"
cat >"$scratch/links.py" <<'PY'
import pathlib, re, sys
FORGE = re.compile(r"https://github\.com/keybits/keybits/(?:blob|tree)/(?:main|v[\d.]+)/([^)#]+)")
source = pathlib.Path(sys.argv[1])

def anchors(page):
    """As the forge makes them of headings."""
    return {re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")}

# `src/fit/fit.c`: a file of the project that a page names, but for those of other projects.
FILE = re.compile(r"`((?:src|io|learn|eval|cli|collection|pipeline|tests|scripts|cmake|packaging|examples|models)/[\w./-]+)`")
OTHERS = re.compile(r"src/(ORB|Frame|stella_)")

def problems(page, base):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for name in FILE.findall(text):
        if not (source / name).exists() and not OTHERS.match(name):
            yield name
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        on_forge = FORGE.match(link)
        if on_forge and not (source / on_forge[1]).exists():
            yield link
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if base is None or not target.exists() or not target.is_relative_to(base):
            yield link
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield link

count = found = 0
for word in sys.argv[2:]:
    alone, name = word.startswith("alone:"), pathlib.Path(word.removeprefix("alone:")).resolve()
    for page in [name] if name.is_file() else sorted(name.rglob("*.md")):
        if {"build", ".git", "node_modules"} & set(page.relative_to(name if name.is_dir() else name.parent).parts):
            continue
        count += 1
        for link in problems(page, None if alone else name if name.is_dir() else name.parent):
            print(f"{page}: {link} leads nowhere")
            found += 1
print(f"{count} pages")
sys.exit(1 if found or count < 50 else 0)
PY
python3 "$scratch/links.py" "$KEYBITS_SOURCE" "$KEYBITS_SOURCE" "$(dirname "$(find "$KEYBITS_PREFIX" -name NEWS.md -print -quit)")" \
    alone:bindings/python/README.md alone:bindings/web/README.md
