// Puts the page together: reads the data, and joins graph, table, search and header.
//
// window.sampleProfile says when that is done, and what is in it, for whoever drives the page from
// outside.

function element(id) {
  return document.getElementById(id);
}

function textElement(tag, text, className = "") {
  const created = document.createElement(tag);
  created.textContent = text;
  created.className = className;
  return created;
}

function showHeader(profile) {
  const { header } = profile;
  const command = visible(header.command) || "profile";
  element("command").textContent = command;
  document.title = `${command.slice(0, 80)} – sample`;
  const parts = [`${profile.weight(profile.total[0])}${header.what ? ` of ${header.what}` : ""}`,
    ...(profile.samples[0] ? [`${profile.samples[0].toLocaleString("en")} samples`] : []), ...header.summary];
  element("summary").textContent = parts.map(visible).join(" · ");
  for (const { text, isWarning, isNote } of header.truth) {
    const classes = [isWarning ? "warning" : "", isNote ? "note" : ""].join(" ").trim();
    element("truth").append(textElement("li", visible(text), classes));
  }
  element("explanation").textContent = visible(header.explanation);
  for (const [label, value] of header.facts) {
    element("facts").append(textElement("dt", visible(label)), textElement("dd", visible(value)));
  }
}

// Only the kinds that the profile has.
function showLegend(profile) {
  const used = new Set(profile.kind.subarray(1).filter((_, i) => profile.functionOf[i + 1] !== 0));
  const items = [...used].sort().map((kind) => {
    const item = textElement("li", profile.header.kinds[kind] + (kind === CODE ? " (a shade a module)" : ""));
    const swatch = document.createElement("i");
    swatch.style.background = kindColor(kind);
    item.prepend(swatch);
    return item;
  });
  if (profile.inlining.some((inlining) => inlining !== 0)) {
    const item = textElement("li", "");
    item.append(textElement("em", "italic"), ": inlined into its caller");
    items.push(item);
  }
  element("legend").replaceChildren(...items);
}

// What is known of a node, as elements.
function describe(profile, node) {
  const lines = [textElement("b", profile.label(node, profile.functions.name))];
  const share = (weight, samples) => `${profile.weight(weight)} (${profile.percent(weight)})` +
    (profile.samples[0] ? `, ${samples.toLocaleString("en")} samples` : "");
  lines.push(textElement("span", `total ${share(profile.total[node], profile.samples[node])}`));
  lines.push(textElement("span", `self ${share(profile.self[node], profile.selfSamples[node])}`));
  const id = profile.functionOf[node];
  if (id === 0) {
    return lines;
  }
  const [module, path, buildId] = profile.header.modules[profile.module(node)].map(visible);
  const place = profile.place(id - 1, profile.line[node]);
  const calledAt = profile.callLine[node] ? ` at line ${profile.callLine[node]} of its caller` : "";
  const inlined = INLINED[profile.inlining[node]];
  const call = inlined ? inlined + calledAt : calledAt && `called${calledAt}`;
  const code = [module && (path || module), buildId && `build-id ${buildId}`, profile.header.kinds[profile.kind[node]]];
  for (const line of [place, call, code.filter(Boolean).join(" · ")]) {
    if (line) {
      lines.push(textElement("span", line));
    }
  }
  return lines;
}

function showTooltip(profile, node, event) {
  const tooltip = element("tooltip");
  tooltip.hidden = node < 0;
  if (node < 0) {
    return;
  }
  tooltip.replaceChildren(...describe(profile, node));
  const margin = 14;
  const { width, height } = tooltip.getBoundingClientRect();
  const left = Math.min(event.clientX + margin, innerWidth - width - margin);
  const isBelow = event.clientY + margin + height < innerHeight;
  tooltip.style.left = `${Math.max(0, left)}px`;
  tooltip.style.top = `${isBelow ? event.clientY + margin : Math.max(0, event.clientY - margin - height)}px`;
}

function join(profile) {
  const elements = { canvas: element("graph"), scroller: element("scroller"), spacer: element("spacer") };
  const reset = element("reset");
  const graph = new FlameGraph(profile, elements, {
    hovered: (node, event) => showTooltip(profile, node, event),
    selected: (node) => element("details").replaceChildren(...describe(profile, node)),
    zoomed: (node) => {
      if (node === 0 && document.activeElement === reset) {
        elements.canvas.focus(); // as a disabled button would lose the focus
      }
      reset.disabled = node === 0;
    },
  });
  element("details").replaceChildren(...describe(profile, 0));
  elements.canvas.setAttribute("aria-label", `Flame graph of ${profile.count.toLocaleString("en")} stacks`);

  const show = (matches) => {
    graph.mark(matches);
    const found = matches && profile.matchedWeight(matches);
    element("matched").textContent = found === null ? "" : found.samples === 0 && found.weight === 0
      ? "no stack has it"
      : `matched ${profile.percent(found.weight)}: ${profile.weight(found.weight)}` +
        (found.samples ? `, ${found.samples.toLocaleString("en")} samples` : "");
  };
  const search = element("search");
  const table = new FunctionTable(profile,
    { table: element("functions"), more: element("more"), shown: element("shown") },
    (index) => {
      search.value = "";
      table.setMarked(index);
      show(index < 0 ? null : profile.onlyFunction(index));
    });
  search.addEventListener("input", () => {
    const matches = search.value === "" ? null : profile.search(search.value);
    table.marked = -1;
    table.filter(matches);
    show(matches);
  });
  reset.addEventListener("click", () => graph.zoomTo(0));
  addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target !== search) {
      graph.zoomTo(0);
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    showLegend(profile);
    table.show();
  });
  return { graph, table };
}

async function start() {
  const data = element("data");
  const profile = await Profile.read(data.textContent);
  data.remove();
  showHeader(profile);
  showLegend(profile);
  element("content").hidden = false;
  window.sampleProfile = { profile, ...join(profile) };
}

start().catch((error) => {
  element("problem").textContent = `This page cannot show its data: ${error.message}`;
  element("problem").hidden = false;
  console.error(error);
});
