"""What the speedscope page makes of a file: chosen in its file dialog, read from the page's own data.

The page has no interface for that. Its parts are preact components, which hang below the element that
they are drawn into; one of them has the state of the whole page among its properties.
"""

import pathlib

PAGE = "node_modules/speedscope/dist/release/index.html"

FIND_STATE = """
function findProfiles() {
    const seen = new Set([document.body]);
    const queue = [document.body];
    for (let i = 0; i < queue.length; ++i) {
        const object = queue[i];
        if (Array.isArray(object.profiles) && object.profiles[0]?.profile?.forEachFrame) return object;
        const next = Object.values(object).concat(object instanceof Element ? [...object.children] : []);
        for (const value of next) {
            if (value && typeof value === 'object' && !seen.has(value) && !ArrayBuffer.isView(value)) {
                seen.add(value);
                queue.push(value);
            }
        }
    }
    return null;
}
"""

READ_STATE = """(() => {
    const state = findProfiles();
    return {
        name: state.name,
        active: state.indexToView,
        profiles: state.profiles.map(({profile}) => {
            const frames = [];
            profile.forEachFrame(frame => frames.push({
                name: frame.name, file: frame.file, line: frame.line,
                total: frame.getTotalWeight(), self: frame.getSelfWeight()}));
            return {
                name: profile.getName(), unit: profile.getWeightUnit(), length: profile.getTotalWeight(),
                weight: profile.getTotalNonIdleWeight(), frames};
        }),
    };
})()"""


class Unreadable(Exception):
    """speedscope did not show the file."""


def read(browser, folder, path):
    """The profiles that speedscope has after `path` was chosen, and what the page complained about.

    `folder` is where npm put speedscope. Each profile has name, unit, length, weight (length without
    pauses) and frames: name, file, line, total and self, in its unit. Raises Unreadable.
    """
    page = browser.open((pathlib.Path(folder) / PAGE).resolve().as_uri())
    page.evaluate(FIND_STATE)
    page.choose_file("input[type=file]", path)
    page.wait_for("findProfiles() !== null || document.body.innerText.includes('Something went wrong')",
                  lambda: page.errors)
    if page.evaluate("findProfiles() === null"):
        raise Unreadable(f"{path}: {page.messages + page.errors}")
    state = page.evaluate(READ_STATE)
    page.wait_for("document.querySelector('canvas') !== null")
    page.settle()
    state["complaints"] = page.errors + page.warnings
    page.close()
    return state
