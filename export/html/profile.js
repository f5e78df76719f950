// The data block of the page, and the callgraph that is in it.
//
// The block is base64 of gzip, so that no name can be taken for markup. Inside: a header in JSON,
// the texts, and columns of varints; export/html/html.cpp is its writer, in the same order. Nodes come
// in preorder, heaviest child first: the subtree of node i is [i, end[i]).
// Names come from foreign files: they get into the page as text only, and characters that would
// not show, or would turn the text around, are spelled out.

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

function visible(text) {
  return text.replace(UNSEEN, (character) =>
    `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

const MEMORY = 3; // CodeKind::memory
const INLINED = ["", "inlined", "inlined at some of the places that call it"];

class ByteReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.decoder = new TextDecoder();
  }

  varint() {
    let result = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      result += (byte & 127) * scale;
      if (byte < 128) {
        return result;
      }
      if (byte === undefined) {
        throw new Error("the data of this page is cut off");
      }
    }
  }

  text() {
    const length = this.varint();
    this.at += length;
    return this.decoder.decode(this.bytes.subarray(this.at - length, this.at));
  }

  texts(count) {
    return Array.from({ length: count }, () => this.text());
  }

  column(array) {
    for (let i = 0; i < array.length; ++i) {
      array[i] = this.varint();
    }
    return array;
  }
}

function bytesOfBase64(text) {
  const lines = text.trim().split("\n");
  const bytes = new Uint8Array(lines.reduce((sum, line) => sum + Math.ceil(line.length * 3 / 4), 0));
  let at = 0;
  for (const line of lines) {
    const decoded = atob(line);
    for (let i = 0; i < decoded.length; ++i) {
      bytes[at++] = decoded.charCodeAt(i);
    }
  }
  return bytes.subarray(0, at);
}

async function unzipped(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old for the page: it lacks DecompressionStream (since 2023 in all)");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Profile {
  static async read(text) {
    return new Profile(new ByteReader(await unzipped(bytesOfBase64(text))));
  }

  constructor(reader) {
    this.header = JSON.parse(reader.text());
    this.sources = reader.texts(this.header.sources).map(visible);
    this.readFunctions(reader, this.header.functions);
    this.readNodes(reader, this.header.nodes);
    this.categories = new Map(this.header.categories.map(([node, name]) => [node, visible(name)]));
  }

  readFunctions(reader, count) {
    const name = reader.texts(count).map(visible);
    this.functions = {
      count,
      name, // whole
      shortName: reader.texts(count).map((text, i) => text === "" ? name[i] : visible(text)),
      source: reader.column(new Uint32Array(count)), // 1-based; 0: not known
      line: reader.column(new Uint32Array(count)),
      module: reader.column(new Uint32Array(count)),
      kind: reader.column(new Uint8Array(count)),
      total: reader.column(new Float64Array(count)),
      self: reader.column(new Float64Array(count)),
      samples: reader.column(new Float64Array(count)),
      selfSamples: reader.column(new Float64Array(count)),
    };
  }

  readNodes(reader, count) {
    this.count = count;
    const up = reader.column(new Uint32Array(count));
    this.functionOf = reader.column(new Uint32Array(count)); // 1-based; 0: the root, a category
    this.self = reader.column(new Float64Array(count));
    this.selfSamples = reader.column(new Float64Array(count));
    this.line = reader.column(new Uint32Array(count));
    this.callLine = reader.column(new Uint32Array(count));
    this.inlining = reader.column(new Uint8Array(count));
    this.addStructure(up);
    this.addSums();
  }

  addStructure(up) {
    this.parent = new Int32Array(this.count);
    this.depth = new Uint32Array(this.count);
    this.kind = new Uint8Array(this.count);
    const path = [0];
    this.parent[0] = -1;
    for (let i = 1; i < this.count; ++i) {
      const depth = this.depth[i] = this.depth[i - 1] + 1 - up[i];
      const parent = this.parent[i] = path[depth - 1];
      path[depth] = i;
      const own = this.functionOf[i] === 0 ? 0 : this.functions.kind[this.functionOf[i] - 1];
      this.kind[i] = this.kind[parent] === MEMORY ? MEMORY : own;
    }
  }

  addSums() {
    this.total = Float64Array.from(this.self);
    this.samples = Float64Array.from(this.selfSamples);
    this.end = new Int32Array(this.count);
    for (let i = this.count - 1; i >= 0; --i) {
      this.end[i] = Math.max(this.end[i], i + 1);
      const parent = this.parent[i];
      if (parent >= 0) {
        this.total[parent] += this.total[i];
        this.samples[parent] += this.samples[i];
        this.end[parent] = Math.max(this.end[parent], this.end[i]);
      }
    }
    this.start = new Float64Array(this.count);
    const next = new Float64Array(this.count);
    for (let i = 1; i < this.count; ++i) {
      const parent = this.parent[i];
      next[i] = this.start[i] = next[parent];
      next[parent] += this.total[i];
    }
  }

  // With the function's short name, unless `names` are others.
  label(node, names = this.functions.shortName) {
    const id = this.functionOf[node];
    if (id === 0) {
      return node === 0 ? "all" : this.categories.get(node) ?? "category";
    }
    const line = this.line[node];
    return line === 0 ? names[id - 1] : `${names[id - 1]}:${line}`;
  }

  module(node) {
    const id = this.functionOf[node];
    return id === 0 ? 0 : this.functions.module[id - 1];
  }

  // "run.cpp:12", or only what is known of it.
  place(functionIndex, line) {
    const source = this.functions.source[functionIndex];
    const at = line || this.functions.line[functionIndex];
    return source === 0 ? "" : this.sources[source - 1] + (at ? `:${at}` : "");
  }

  // The functions and categories with `text` in their names, whole or short, whatever its case.
  search(text) {
    const wanted = text.toLowerCase();
    const has = (name) => name.toLowerCase().includes(wanted);
    return {
      functions: Uint8Array.from(this.functions.name,
        (name, i) => has(name) || has(this.functions.shortName[i]) ? 1 : 0),
      categories: new Set([...this.categories].filter(([, name]) => has(name)).map(([node]) => node)),
    };
  }

  onlyFunction(index) {
    const functions = new Uint8Array(this.functions.count);
    functions[index] = 1;
    return { functions, categories: new Set() };
  }

  isMatch(node, matches) {
    const id = this.functionOf[node];
    return id === 0 ? matches.categories.has(node) : matches.functions[id - 1] === 1;
  }

  // The weight and samples of stacks with a match: each stack counted once.
  matchedWeight(matches) {
    let weight = 0;
    let samples = 0;
    for (let i = 1; i < this.count;) {
      if (this.isMatch(i, matches)) {
        weight += this.total[i];
        samples += this.samples[i];
        i = this.end[i];
      } else {
        ++i;
      }
    }
    return { weight, samples };
  }

  // "1,234.567 ms", floored to its last digit; or a count.
  weight(value) {
    if (!this.header.isTime) {
      return `${value.toLocaleString("en")} ${visible(this.header.unit)}`;
    }
    const us = Math.floor(value / 1000);
    const fraction = String(us % 1000).padStart(3, "0");
    return `${Math.floor(us / 1000).toLocaleString("en")}.${fraction} ms`;
  }

  // Floored to its last digit, exactly: a product of doubles would be rounded beyond 15 minutes.
  percent(value) {
    const all = this.total[0];
    return all === 0 ? "–" : `${(Number(BigInt(value) * 10000n / BigInt(all)) / 100).toFixed(2)} %`;
  }
}
