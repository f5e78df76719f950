// The flame graph: the root on top, each function's bar below its caller's, as wide as its weight.
//
// Only bars that can be seen are looked at: a subtree narrower than half a pixel is skipped as a
// whole, and the canvas is as large as the window onto the graph, not as the graph.

const ROW = 19;
const MIN_WIDTH = 0.5;
const MIN_TEXT_WIDTH = 24;

// Distinguishable with each kind of colour blindness (after Okabe and Ito), by CodeKind. Code has
// a shade a module.
const KIND_HUES = [
  { light: [205, 70, 76], dark: [207, 45, 38] },
  { light: [164, 55, 62], dark: [164, 70, 26] },
  { light: [320, 50, 79], dark: [320, 32, 40] },
  { light: [41, 90, 66], dark: [41, 80, 30] },
  { light: [20, 85, 70], dark: [20, 70, 36] },
  { light: [240, 10, 82], dark: [240, 10, 36] },
  { light: [0, 0, 86], dark: [0, 0, 28] },
];
const CODE = 0;
const SHADES = 5;

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function kindColor(kind, module = 0) {
  const [hue, saturation, lightness] = KIND_HUES[kind][isDark() ? "dark" : "light"];
  const shade = kind === CODE ? (module * 7 % SHADES - 2) * 4 : 0;
  return `hsl(${hue} ${saturation}% ${lightness + shade}%)`;
}

class FlameGraph {
  // `tell` has hovered(node or -1, event), selected(node), zoomed(node).
  constructor(profile, elements, tell) {
    this.profile = profile;
    this.elements = elements;
    this.tell = tell;
    this.zoom = 0;
    this.selected = -1;
    this.matches = null;
    this.leadsToMatch = null;
    this.isFirstLayout = true;
    this.colors = new Map();
    this.context = elements.canvas.getContext("2d", { alpha: false });
    this.listen();
    this.layOut();
  }

  listen() {
    const { canvas, scroller } = this.elements;
    scroller.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.layOut()).observe(scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colors.clear();
      this.redraw();
    });
    canvas.addEventListener("mousemove", (event) => {
      this.tell.hovered(this.nodeAt(event.offsetX, event.offsetY), event);
    });
    canvas.addEventListener("mouseleave", (event) => this.tell.hovered(-1, event));
    canvas.addEventListener("click", (event) => {
      const node = this.nodeAt(event.offsetX, event.offsetY);
      if (node >= 0) {
        this.zoomTo(node);
      }
    });
    canvas.addEventListener("keydown", (event) => this.pressed(event));
  }

  pressed(event) {
    const node = this.selected < 0 ? this.zoom : this.selected;
    const moves = {
      ArrowUp: () => this.profile.parent[node],
      ArrowDown: () => this.child(node),
      ArrowLeft: () => this.sibling(node, -1),
      ArrowRight: () => this.sibling(node, 1),
      Home: () => 0,
    };
    if (moves[event.key] && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const target = this.selected < 0 ? node : moves[event.key]();
      if (target >= 0) {
        this.select(target);
      }
    } else if (event.key === "Enter") {
      this.zoomTo(node);
    }
  }

  child(node) {
    return node + 1 < this.profile.end[node] ? node + 1 : -1;
  }

  sibling(node, step) {
    const { parent, end } = this.profile;
    if (node === 0) {
      return -1;
    }
    if (step > 0) {
      return end[node] < end[parent[node]] ? end[node] : -1;
    }
    let before = -1;
    for (let i = parent[node] + 1; i < node; i = end[i]) {
      before = i;
    }
    return before;
  }

  select(node) {
    this.selected = node;
    if (!this.isInside(node, this.zoom) && !this.isInside(this.zoom, node)) {
      this.zoom = this.profile.parent[node];
      this.layOut();
      this.tell.zoomed(this.zoom);
    }
    this.scrollTo(node);
    this.tell.selected(node);
    this.redraw();
  }

  zoomTo(node) {
    this.zoom = node;
    this.selected = node;
    this.layOut();
    this.elements.scroller.scrollTop = Math.max(0, this.profile.depth[node] - 2) * ROW;
    this.tell.zoomed(node);
    this.tell.selected(node);
  }

  // `matches`: as Profile.search() gives them; null: nothing is marked, nothing dimmed.
  mark(matches) {
    this.matches = matches;
    this.leadsToMatch = null;
    if (matches !== null) {
      const { count, parent } = this.profile;
      this.leadsToMatch = new Uint8Array(count);
      for (let i = count - 1; i > 0; --i) {
        if (this.leadsToMatch[i] || this.isMatch(i)) {
          this.leadsToMatch[i] = this.leadsToMatch[parent[i]] = 1;
        }
      }
    }
    this.redraw();
  }

  isInside(node, other) {
    return node >= other && node < this.profile.end[other];
  }

  scrollTo(node) {
    const { scroller } = this.elements;
    const top = this.profile.depth[node] * ROW;
    if (top < scroller.scrollTop || top + 2 * ROW > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = Math.max(0, top - 3 * ROW);
    }
  }

  // Calls use(node, left, width) for each bar that is wide enough, callers first. `use` returns
  // false where nothing below the bar matters.
  forEachBar(use) {
    const { profile, zoom } = this;
    const scale = this.width / Math.max(profile.total[zoom], Number.MIN_VALUE);
    const from = profile.start[zoom];
    for (let i = zoom; i < profile.end[zoom];) {
      const width = profile.total[i] * scale;
      const goesOn = use(i, (profile.start[i] - from) * scale, width);
      i = goesOn && width >= MIN_WIDTH ? i + 1 : profile.end[i];
    }
  }

  layOut() {
    const { canvas, scroller, spacer } = this.elements;
    this.width = scroller.clientWidth;
    this.height = scroller.clientHeight;
    let deepest = 0;
    this.forEachBar((node, left, width) => {
      deepest = width >= MIN_WIDTH ? Math.max(deepest, this.profile.depth[node]) : deepest;
      return true;
    });
    if (this.isFirstLayout) {
      this.isFirstLayout = false;
      const most = Math.max(innerHeight * 0.65, 12 * ROW);
      scroller.style.height = `${Math.min(most, (deepest + 2) * ROW)}px`;
      this.height = scroller.clientHeight;
    }
    // The bar zoomed to can be scrolled to the top, below two of its callers.
    const least = Math.max(0, this.profile.depth[this.zoom] - 2) * ROW + this.height;
    spacer.style.height = `${Math.max((deepest + 1) * ROW, least)}px`;
    this.width = scroller.clientWidth; // a scroll bar may have come
    const ratio = window.devicePixelRatio || 1;
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    canvas.width = Math.round(this.width * ratio);
    canvas.height = Math.round(this.height * ratio);
    this.draw();
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { context, elements, profile } = this;
    const ratio = window.devicePixelRatio || 1;
    const style = getComputedStyle(document.documentElement);
    this.theme = {
      background: style.getPropertyValue("--background"),
      text: style.getPropertyValue("--text"),
      muted: style.getPropertyValue("--muted"),
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    context.direction = "ltr";
    this.setFont(false);
    this.characterWidth = context.measureText("m").width;
    this.top = elements.scroller.scrollTop;
    this.dust = [];
    for (let i = profile.parent[this.zoom]; i >= 0; i = profile.parent[i]) {
      this.drawBar(i, 0, this.width, true);
    }
    const lastRow = Math.ceil((this.top + this.height) / ROW);
    this.forEachBar((node, left, width) => {
      const row = profile.depth[node];
      if (row > lastRow) {
        return false;
      }
      if (width >= MIN_WIDTH) {
        this.drawBar(node, left, width, false);
      } else {
        this.drawDust(node, row, left, width);
      }
      return true;
    });
  }

  setFont(isItalic) {
    const family = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
    this.context.font = `${isItalic ? "italic " : ""}12px ${family}`;
  }

  isVisible(row) {
    return (row + 1) * ROW > this.top && row * ROW < this.top + this.height;
  }

  drawBar(node, left, width, isAncestor) {
    const { context, profile } = this;
    const row = profile.depth[node];
    if (!this.isVisible(row)) {
      return;
    }
    const y = row * ROW - this.top;
    const gap = width > 3 ? 1 : 0;
    const isMatch = this.isMatch(node);
    context.globalAlpha = isAncestor ? 0.55 : this.opacity(node, isMatch);
    context.fillStyle = this.color(node);
    context.fillRect(left, y, Math.max(width - gap, MIN_WIDTH), ROW - 1);
    context.globalAlpha = 1;
    if (isMatch || node === this.selected) {
      context.strokeStyle = this.theme.text;
      context.lineWidth = node === this.selected ? 2 : 1;
      if (width > 4) {
        context.strokeRect(left + 0.5, y + 0.5, width - gap - 1, ROW - 2);
      } else {
        context.fillStyle = this.theme.text;
        context.fillRect(left, y + ROW - 4, Math.max(width, 1), 3);
      }
    }
    if (width > MIN_TEXT_WIDTH) {
      this.drawLabel(node, left, width, y);
    }
  }

  opacity(node, isMatch) {
    if (this.matches === null || isMatch) {
      return 1;
    }
    return this.leadsToMatch[node] ? 0.5 : 0.22;
  }

  drawLabel(node, left, width, y) {
    const { context } = this;
    const room = Math.floor((width - 8) / this.characterWidth);
    const label = this.profile.label(node);
    this.setFont(this.profile.inlining[node] !== 0);
    context.fillStyle = this.theme.text;
    const text = label.length <= room ? label : room < 3 ? "" : `${label.slice(0, room - 1)}…`;
    context.fillText(text, left + 4, y + ROW / 2);
  }

  // Bars too narrow to be drawn one by one share what they cover.
  drawDust(node, row, left, width) {
    if (!this.isVisible(row)) {
      return;
    }
    const pixel = Math.floor(left);
    const hasMatch = this.leadsToMatch !== null && this.leadsToMatch[node] === 1;
    if (this.dust[row] !== pixel || hasMatch) {
      this.dust[row] = pixel;
      this.context.globalAlpha = hasMatch ? 1 : 0.35;
      this.context.fillStyle = hasMatch ? this.theme.text : this.theme.muted;
      this.context.fillRect(pixel, row * ROW - this.top, Math.max(width, 1), ROW - 1);
      this.context.globalAlpha = 1;
    }
  }

  isMatch(node) {
    return this.matches !== null && this.profile.isMatch(node, this.matches);
  }

  color(node) {
    const kind = this.profile.kind[node];
    const key = kind === CODE ? this.profile.module(node) * KIND_HUES.length : kind;
    let color = this.colors.get(key);
    if (color === undefined) {
      color = kindColor(kind, this.profile.module(node));
      this.colors.set(key, color);
    }
    return color;
  }

  nodeAt(x, y) {
    const { profile, zoom } = this;
    const row = Math.floor((y + this.elements.scroller.scrollTop) / ROW);
    if (row <= profile.depth[zoom]) {
      let node = zoom;
      while (profile.depth[node] > row) {
        node = profile.parent[node];
      }
      return node;
    }
    const weight = profile.start[zoom] + x / this.width * profile.total[zoom];
    let node = zoom;
    while (profile.depth[node] < row) {
      let child = node + 1;
      while (child < profile.end[node] && weight >= profile.start[child] + profile.total[child]) {
        child = profile.end[child];
      }
      if (child >= profile.end[node]) {
        return -1;
      }
      node = child;
    }
    return node;
  }
}
